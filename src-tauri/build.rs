//! Reads `tauri.conf.json` and the capabilities, and makes our two commands something a capability must allow.
//!
//! It does not build the user interface; `cargo xtask page` does. The window carries what lies in `ui/dist`.

use std::path::Path;

fn main() {
    const PAGE: &str = "../ui/dist";
    println!("cargo::rerun-if-changed={PAGE}");
    if !Path::new(PAGE).join("index.html").is_file() {
        println!("cargo::error=the page of the window is not built: run `cargo xtask page` first");
        return;
    }
    let commands = tauri_build::AppManifest::new().commands(&["call", "subscribe"]);
    if let Err(why) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands)) {
        println!("cargo::error={why:#}");
    }
}
