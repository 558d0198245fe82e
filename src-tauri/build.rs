//! Reads `tauri.conf.json` and the capabilities, and makes our two commands something a capability must allow.
//!
//! It does not build the user interface; `cargo xtask run` does, before the window.

fn main() {
    let commands = tauri_build::AppManifest::new().commands(&["call", "subscribe"]);
    if let Err(why) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands)) {
        println!("cargo::error={why:#}");
    }
}
