//! Archives without a package manager: the headless part for any prefix, and debug information for debuggers.
//!
//! Sorted, with fixed owners and times, compressed by one thread, so that equal files give equal bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Packing;
use super::files::{self, Layout, PackageFile, lay_out};
use crate::failure::Failure;
use crate::process;

const ARCHITECTURE: &str = "x86_64";
/// Debug information is large and rarely fetched: packing it hard takes minutes and saves little.
const LEVEL_OF_SYMBOLS: u8 = 3;
const TOOLS: &str = "GNU tar and zstd are needed for this.";

/// The part as `taskwarden-VERSION-x86_64/{bin,lib,share}`; where the archive is.
pub(super) fn pack(packing: &Packing<'_>) -> Result<PathBuf, Failure> {
    let folder = packing.laid_out("archive", Layout::Prefix)?;
    let name = format!("{}-{}-{ARCHITECTURE}", packing.part.name(), packing.release.version);
    write(packing, &folder, &name, packing.order.compression.level())
}

/// Debug information of programs as debuggers look for it below `/usr/lib/debug`, by build id.
pub(super) fn pack_symbols(packing: &Packing<'_>) -> Result<PathBuf, Failure> {
    let files: Vec<PackageFile> = packing
        .programs
        .iter()
        .map(|program| PackageFile::copy(place_of_symbols(&program.build_id), &program.symbols))
        .collect();
    let name = packing.part.name();
    let folder = packing.work.join(format!("{name}-symbols"));
    files::make_empty(&folder)?;
    lay_out(&files, &folder, Layout::Prefix, packing.release.epoch)?;
    let name = format!("{name}-{}-{ARCHITECTURE}-symbols", packing.release.version);
    write(packing, &folder, &name, LEVEL_OF_SYMBOLS)
}

/// The first two digits name a folder.
fn place_of_symbols(build_id: &str) -> String {
    let (folder, file) = build_id.split_at_checked(2).unwrap_or(("00", build_id));
    format!(".build-id/{folder}/{file}.debug")
}

/// Packs a folder under another name.
fn write(packing: &Packing<'_>, folder: &Path, name: &str, level: u8) -> Result<PathBuf, Failure> {
    let path = packing.order.folder.join(format!("{name}.tar.zst"));
    let named = packing.work.join(name);
    if named.exists() {
        fs::remove_dir_all(&named).map_err(|why| files::unwritable(&named, &why))?;
    }
    fs::rename(folder, &named).map_err(|why| files::unwritable(&named, &why))?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", packing.release.epoch))
        .arg(format!("--use-compress-program=zstd -{level} -T1 --quiet"))
        .arg("--file")
        .arg(&path)
        .arg("--directory")
        .arg(packing.work)
        .arg(name);
    process::run(&mut tar, TOOLS)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_lie_where_debuggers_look_for_a_build_id() {
        assert_eq!(place_of_symbols("65471cedc7"), ".build-id/65/471cedc7.debug");
    }
}
