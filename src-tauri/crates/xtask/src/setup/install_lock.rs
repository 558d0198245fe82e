//! One installation of a kind at a time, over processes: steps of the checks run side by side, and two that find the same
//! packages missing would remove each other's files.

use std::fs::{self, File};
use std::path::Path;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// What is installed; each has a lock of its own, because installing packages of npm may install Node first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InstallKind {
    Npm,
    Node,
    System,
}

impl InstallKind {
    const fn file(self) -> &'static str {
        match self {
            Self::Npm => "npm.lock",
            Self::Node => "node.lock",
            Self::System => "system.lock",
        }
    }
}

/// Waits for its turn; the turn ends when this is dropped.
pub(crate) fn take(workspace: &Workspace, kind: InstallKind) -> Result<File, Failure> {
    let folder = workspace.target();
    lock(&folder, kind).map_err(|why| {
        Failure::new(format!("`{}` cannot be locked: {why}", folder.join(kind.file()).display()), "Check the disk.")
    })
}

fn lock(folder: &Path, kind: InstallKind) -> std::io::Result<File> {
    fs::create_dir_all(folder)?;
    let file = File::options().create(true).append(true).open(folder.join(kind.file()))?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_installation_of_a_kind_waits_and_one_of_another_kind_does_not() {
        let folder = std::env::temp_dir().join(format!("taskwarden-locks-{}", std::process::id()));
        let first = lock(&folder, InstallKind::Npm).unwrap();
        let other = lock(&folder, InstallKind::System).unwrap();
        let path = folder.join(InstallKind::Npm.file());
        assert!(File::options().append(true).open(&path).unwrap().try_lock().is_err(), "the first has its turn");
        drop(first);
        assert!(File::options().append(true).open(&path).unwrap().try_lock().is_ok(), "now it is free");
        drop(other);
        fs::remove_dir_all(&folder).unwrap();
    }
}
