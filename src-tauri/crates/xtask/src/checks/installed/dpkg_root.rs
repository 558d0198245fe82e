//! A folder that `dpkg` takes for the root of a system with the packages of this machine.
//!
//! Only what `dpkg` knows of those packages is copied, not their files: what our packages need is looked up, and programs
//! are run with the libraries of the machine. Scripts of packages run outside of the folder, as themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::person::Person;
use super::{HINT, Part};
use crate::failure::Failure;
use crate::package::files::{make_empty, unreadable, unwritable};

/// What `dpkg` knows.
const ADMIN: &str = "/var/lib/dpkg";

pub(super) struct DpkgRoot {
    folder: PathBuf,
}

impl DpkgRoot {
    /// A new root at this place.
    pub(super) fn make(folder: &Path) -> Result<Self, Failure> {
        make_empty(folder)?;
        let (known, admin) = (Path::new(ADMIN), folder.join(ADMIN.trim_start_matches('/')));
        for inside in ["info", "updates", "triggers"] {
            let path = admin.join(inside);
            fs::create_dir_all(&path).map_err(|why| unwritable(&path, &why))?;
        }
        let status = known.join("status");
        let status = fs::read_to_string(&status).map_err(|why| unreadable(&status, &why))?;
        let place = admin.join("status");
        fs::write(&place, without_ours(&status)).map_err(|why| unwritable(&place, &why))?;
        // It warns of each package whose list of files is missing.
        let lists = fs::read_dir(known.join("info")).map_err(|why| unreadable(known, &why))?;
        for list in
            lists.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "list"))
        {
            let to = admin.join("info").join(list.file_name().unwrap_or_default());
            fs::copy(&list, &to).map_err(|why| unwritable(&to, &why))?;
        }
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// A path below the root, written without the first slash.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.join(inside)
    }

    /// Runs `dpkg` with packages; what it and their scripts said.
    pub(super) fn dpkg(&self, words: &[&str], packages: &[&Path]) -> Result<String, Failure> {
        self.said(self.command().args(words).args(packages))
    }

    /// Runs `dpkg` in the home of a person.
    pub(super) fn dpkg_for(&self, person: &Person, words: &[&str]) -> Result<String, Failure> {
        self.said(self.command().args(words).env("HOME", person.home()))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", self.folder.display())).arg("--force-script-chrootless");
        command.arg(format!("--log={}", self.folder.join("dpkg.log").display())).env("LC_ALL", "C");
        command
    }

    fn said(&self, command: &mut Command) -> Result<String, Failure> {
        let done = command.output().map_err(|why| Failure::new(format!("`dpkg` did not start: {why}"), HINT))?;
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if done.status.success() {
            return Ok(said);
        }
        Err(Failure::new(format!("`dpkg` below `{}` ended with {}: {said}", self.folder.display(), done.status), HINT))
    }
}

/// What is known without our own packages, which a developer may have installed.
fn without_ours(status: &str) -> String {
    let is_ours = |stanza: &&str| {
        let name = stanza.lines().find_map(|line| line.strip_prefix("Package: "));
        name.is_some_and(|name| [Part::Headless, Part::Desktop].iter().any(|part| part.name() == name))
    };
    status.split_inclusive("\n\n").filter(|stanza| !is_ours(stanza)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_packages_are_not_installed_in_a_new_root() {
        let status = "Package: a\nStatus: x\n\nPackage: taskwarden\nStatus: x\n\nPackage: taskwarden-x\n\n";
        assert_eq!(without_ours(status), "Package: a\nStatus: x\n\nPackage: taskwarden-x\n\n");
    }
}
