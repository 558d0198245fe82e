//! Which files each package has.
//!
//! Files that are written by hand lie in `src-tauri/packaging`. Where systems differ in their places, the places of Debian
//! stand here, and `files.rs` knows the others.

use super::files::PackageFile;
use super::part::Part;
use super::programs::PackagedProgram;
use super::{Packing, manual};
use crate::failure::Failure;
use crate::supply;
use crate::workspace::Workspace;

const PACKAGING: &str = "src-tauri/packaging";
const NOTICES: &str = "src-tauri/THIRD-PARTY.txt";
/// Sizes of the icon, by the file that has it.
const ICONS: [(&str, &str); 4] =
    [("32x32", "32x32.png"), ("128x128", "128x128.png"), ("256x256", "128x128@2x.png"), ("512x512", "512x512.png")];

/// The files of a package: copied, or made by its programs.
pub(super) fn files_of(packing: &Packing<'_>) -> Result<Vec<PackageFile>, Failure> {
    let Packing { workspace, release, part, programs, .. } = packing;
    let mut files: Vec<PackageFile> = programs
        .iter()
        .map(|program| PackageFile::program(format!("usr/bin/{}", program.name), &program.stripped))
        .collect();
    let by_hand = |name: &str| workspace.path(&format!("{PACKAGING}/{name}"));
    let doc = |name: &str| format!("usr/share/doc/{}/{name}", part.name());
    files.push(PackageFile::copy(doc("copyright"), &by_hand("copyright")));
    files.push(PackageFile::copy(doc("LICENSE"), &workspace.path("LICENSE")));
    let notices = vec![("THIRD-PARTY.txt".to_owned(), workspace.read(NOTICES)?)];
    for (name, text) in manual::compressed(&notices, &packing.work.join(format!("{}-doc", part.name())))? {
        files.push(PackageFile::data(doc(&name), text));
    }
    let bill = supply::bill::write(workspace, part.packages(), &release.bill_head(part.name()))?;
    files.push(PackageFile::data(doc("sbom.cdx.json"), bill));
    let pages = match part {
        Part::Headless => manual::of_programs(programs, release)?,
        Part::Desktop => {
            let name = "taskwarden-desktop.1";
            vec![(name.to_owned(), manual::dated(&written_by_hand(workspace, name)?, release))]
        }
    };
    for (name, page) in manual::compressed(&pages, &packing.work.join(format!("{}-man", part.name())))? {
        files.push(PackageFile::data(format!("usr/share/man/man1/{name}"), page));
    }
    match part {
        Part::Headless => {
            files.push(PackageFile::copy("usr/lib/systemd/user/taskwarden.service", &by_hand("taskwarden.service")));
            files.extend(completions(programs)?);
        }
        Part::Desktop => {
            let entry = "taskwarden.desktop";
            files.push(PackageFile::copy(format!("usr/share/applications/{entry}"), &by_hand(entry)));
            files.extend(ICONS.map(|(size, icon)| icon_file(workspace, size, icon, "png")));
            files.push(icon_file(workspace, "scalable", "app.svg", "svg"));
        }
    }
    Ok(files)
}

/// Its name in the theme is that of the desktop file and of notifications.
fn icon_file(workspace: &Workspace, size: &str, icon: &str, kind: &str) -> PackageFile {
    let path = format!("usr/share/icons/hicolor/{size}/apps/taskwarden.{kind}");
    PackageFile::copy(path, &workspace.path(&format!("icons/{icon}")))
}

/// What the program writes for each shell.
fn completions(programs: &[PackagedProgram]) -> Result<Vec<PackageFile>, Failure> {
    let Some(program) = programs.iter().find(|program| program.name == Part::Headless.name()) else {
        return Ok(Vec::new());
    };
    [
        ("bash", "usr/share/bash-completion/completions/taskwarden"),
        ("zsh", "usr/share/zsh/vendor-completions/_taskwarden"),
        ("fish", "usr/share/fish/vendor_completions.d/taskwarden.fish"),
    ]
    .into_iter()
    .map(|(shell, path)| Ok(PackageFile::data(path, manual::said(&program.stripped, &["completions", shell])?)))
    .collect()
}

/// A file of `src-tauri/packaging` as text.
pub(super) fn written_by_hand(workspace: &Workspace, name: &str) -> Result<String, Failure> {
    workspace.read(&format!("{PACKAGING}/{name}"))
}
