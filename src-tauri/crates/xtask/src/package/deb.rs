//! Packages of Debian and Ubuntu, with `dpkg-deb` from a folder of files.
//!
//! The libraries that a program needs are found by `dpkg-shlibdeps`, with the versions of the system that builds. Its
//! scripts start and end no process, so that an update leaves cores and keepers alone.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{self, Layout, PackageFile, entries, lay_out, unwritable};
use super::part::Part;
use super::{Packing, contents};
use crate::failure::Failure;
use crate::process;

const ARCHITECTURE: &str = "amd64";
const TOOLS: &str = "`dpkg-deb` and `dpkg-shlibdeps` are in the packages dpkg and dpkg-dev.";
/// Sizes are told in units of this many bytes (Debian policy 5.6.20).
const UNIT: u64 = 1024;

/// Makes the package; where it is.
pub(super) fn pack(packing: &Packing<'_>) -> Result<PathBuf, Failure> {
    let part = packing.part;
    let folder = packing.laid_out("deb", Layout::Debian)?;
    let digests = digests(&folder)?;
    // Expected by what looks for libraries: it then knows that this is a package.
    files::make_empty(&folder.join("DEBIAN"))?;
    let mut control = vec![
        PackageFile::data("DEBIAN/control", control(packing, &libraries(packing, &folder)?)?),
        PackageFile::data("DEBIAN/md5sums", digests),
    ];
    if part == Part::Headless {
        for script in ["postinst", "postrm"] {
            let text = contents::written_by_hand(packing.workspace, script)?;
            control.push(PackageFile::script(format!("DEBIAN/{script}"), text));
        }
    }
    lay_out(&control, &folder, Layout::Debian, packing.release.epoch)?;
    let name = format!("{}_{}_{ARCHITECTURE}.deb", part.name(), packing.release.version);
    let path = packing.order.folder.join(name);
    let mut build = Command::new("dpkg-deb");
    build
        .args(["--root-owner-group", "--threads-max=1", "-Zzstd"])
        .arg(format!("-z{}", packing.order.compression.level()))
        .arg("--build")
        .args([&folder, &path])
        .stdout(std::process::Stdio::null())
        .env("SOURCE_DATE_EPOCH", packing.release.epoch.to_string());
    process::run(&mut build, TOOLS)?;
    Ok(path)
}

fn control(packing: &Packing<'_>, libraries: &str) -> Result<String, Failure> {
    let part = packing.part;
    let version = &packing.release.version;
    let (depends, suggests) = match part {
        Part::Headless => (libraries.to_owned(), format!("Suggests: {}\n", Part::Desktop.name())),
        Part::Desktop => (format!("{} (= {version}), {libraries}", Part::Headless.name()), String::new()),
    };
    let mut text = format!(
        "Package: {}\nVersion: {version}\nSection: utils\nPriority: optional\nArchitecture: {ARCHITECTURE}\n\
         Maintainer: {}\nInstalled-Size: {}\nDepends: {depends}\nRecommends: {}\n{suggests}Description: {}\n",
        part.name(),
        packing.publisher.maintainer,
        installed_units(&packing.files)?,
        part.recommended(),
        part.summary(),
    );
    for line in part.description() {
        let _ = writeln!(text, " {line}");
    }
    Ok(text)
}

/// What `dpkg-gencontrol` would say: each file and folder fills whole units.
fn installed_units(files: &[PackageFile]) -> Result<u64, Failure> {
    let mut folders: Vec<&Path> = files.iter().flat_map(|file| Path::new(&file.path).ancestors().skip(1)).collect();
    folders.sort_unstable();
    folders.dedup();
    let units = files.iter().map(|file| Ok(file.bytes()?.div_ceil(UNIT))).sum::<Result<u64, Failure>>()?;
    Ok(units + u64::try_from(folders.len()).unwrap_or_default())
}

/// Packages of Debian with the libraries that the programs are linked with.
fn libraries(packing: &Packing<'_>, folder: &Path) -> Result<String, Failure> {
    let work = packing.work.join(format!("{}-shlibdeps", packing.part.name()));
    files::make_empty(&work.join("debian"))?;
    let control = work.join("debian/control");
    // It wants to be called while a source package is built.
    fs::write(&control, "Source: taskwarden\n\nPackage: taskwarden\nArchitecture: any\n")
        .map_err(|why| unwritable(&control, &why))?;
    let mut find = Command::new("dpkg-shlibdeps");
    find.arg("-O").current_dir(&work);
    find.args(packing.part.programs().iter().map(|program| folder.join("usr/bin").join(program)));
    let found = process::output(&mut find, TOOLS)?;
    let depends = found.trim().strip_prefix("shlibs:Depends=").filter(|depends| !depends.is_empty());
    depends
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("`dpkg-shlibdeps` found no libraries: {}", found.trim()), TOOLS))
}

/// The digest of each file, as `md5sum` writes it and `dpkg --verify` reads it.
fn digests(folder: &Path) -> Result<String, Failure> {
    let mut paths = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for path in entries(&next)? {
            if path.is_dir() {
                open.push(path);
            } else if let Ok(inside) = path.strip_prefix(folder) {
                paths.push(inside.to_path_buf());
            }
        }
    }
    paths.sort();
    process::output(Command::new("md5sum").args(paths).current_dir(folder), "`md5sum` is part of coreutils.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_and_every_folder_fills_whole_units() {
        let files = [
            PackageFile::data("usr/share/doc/a", vec![b'x'; 1025]),
            PackageFile::data("usr/share/doc/b", vec![b'x'; 1]),
            PackageFile::data("usr/bin/c", Vec::new()),
        ];
        // Two and one unit, and the folders `usr/share/doc`, `usr/share`, `usr/bin`, `usr` and the root.
        assert_eq!(installed_units(&files).unwrap(), 3 + 5);
    }
}
