//! Packages of Fedora and openSUSE, with `rpmbuild` from a folder of files.
//!
//! `rpmbuild` finds the libraries that programs need by itself. Nothing is compiled and nothing is changed on the way:
//! its own steps that strip programs and compress pages are off.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Packing;
use super::files::{self, Layout, unwritable};
use super::part::Part;
use crate::failure::Failure;
use crate::process;

const ARCHITECTURE: &str = "x86_64";
const TOOLS: &str = "`rpmbuild` is in the package rpm of Debian, and rpm-build elsewhere.";

/// Makes the package; where it is.
pub(super) fn pack(packing: &Packing<'_>) -> Result<PathBuf, Failure> {
    let part = packing.part;
    let top = packing.work.join(format!("{}-rpmbuild", part.name()));
    files::make_empty(&top)?;
    let folder = packing.laid_out("rpm", Layout::Rpm)?;
    let spec = top.join("package.spec");
    fs::write(&spec, spec_text(packing, &folder)).map_err(|why| unwritable(&spec, &why))?;
    let mut build = Command::new("rpmbuild");
    build
        .args(["-bb", "--quiet", "--target", ARCHITECTURE])
        .env("SOURCE_DATE_EPOCH", packing.release.epoch.to_string());
    let level = format!("w{}.zstdio", packing.order.compression.level());
    for (name, value) in [
        ("_topdir", top.to_string_lossy().as_ref()),
        ("_binary_payload", level.as_str()),
        // What would differ from machine to machine, and from run to run.
        ("_buildhost", "localhost"),
        ("use_source_date_epoch_as_buildtime", "1"),
        ("clamp_mtime_to_source_date_epoch", "1"),
        ("__os_install_post", "%{nil}"),
        ("debug_package", "%{nil}"),
        ("_build_id_links", "none"),
    ] {
        build.arg("--define").arg(format!("{name} {value}"));
    }
    process::run(build.arg(&spec).stdout(Stdio::null()), TOOLS)?;
    let version = &packing.release.version;
    let made = top.join(format!("RPMS/{ARCHITECTURE}/{}-{version}-1.{ARCHITECTURE}.rpm", part.name()));
    let path = packing.order.folder.join(format!("{}-{version}-{ARCHITECTURE}.rpm", part.name()));
    fs::copy(&made, &path).map_err(|why| unwritable(&path, &why))?;
    Ok(path)
}

fn spec_text(packing: &Packing<'_>, folder: &Path) -> String {
    let part = packing.part;
    let version = &packing.release.version;
    let mut text = format!(
        "Name: {}\nVersion: {version}\nRelease: 1\nSummary: {}\nPackager: {}\nLicense: Apache-2.0\n",
        part.name(),
        part.summary(),
        packing.publisher.maintainer
    );
    if part == Part::Desktop {
        let _ = writeln!(text, "Requires: {} = {version}-1\nRecommends: {}", Part::Headless.name(), part.recommended());
    }
    let _ = writeln!(text, "\n%description\n{}", part.description().join("\n"));
    let _ = writeln!(text, "\n%install\ncp -a '{}/.' %{{buildroot}}", folder.display());
    let _ = writeln!(text, "\n%files\n%defattr(-,root,root,-)\n%dir /usr/share/doc/{}", part.name());
    let mut paths: Vec<String> =
        packing.files.iter().map(|file| format!("/{}", Layout::Rpm.place(&file.path))).collect();
    paths.sort();
    text.push_str(&paths.join("\n"));
    text.push('\n');
    text
}
