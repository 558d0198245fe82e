//! What a release is called and when it was made: the version of the workspace, and the time of the commit.
//!
//! `SOURCE_DATE_EPOCH` takes the place of the commit's time, for archives without git
//! (<https://reproducible-builds.org/specs/source-date-epoch/>). The clock is not read, so that two runs are equal.

use std::process::Command;

use toml::{Table, Value};

use crate::failure::Failure;
use crate::process;
use crate::supply::bill::BillHead;
use crate::workspace::Workspace;

const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The name and the time of what is packed.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) version: String,
    /// Seconds since 1970 of the commit.
    pub(super) epoch: u64,
    /// The day of the commit, as 2026-11-28.
    pub(super) day: String,
    /// The moment of the commit in ISO 8601.
    moment: String,
}

impl Release {
    /// Reads the manifest and the commit.
    pub(super) fn of(workspace: &Workspace, suffix: &str) -> Result<Self, Failure> {
        let version = version_in(&workspace.read("Cargo.toml")?)
            .ok_or_else(|| Failure::new("`Cargo.toml` names no version of the workspace", "Restore it with git."))?;
        let epoch = match std::env::var(EPOCH) {
            Ok(seconds) => seconds,
            Err(_) => {
                let hint = "Without git, set SOURCE_DATE_EPOCH to the seconds since 1970 of this source.";
                process::output(&mut process::program_in(workspace, "git", &["log", "-1", "--format=%ct"]), hint)?
            }
        };
        let epoch = epoch.trim().parse::<u64>().map_err(|_| {
            let hint = format!("{EPOCH} is a whole number of seconds.");
            Failure::new(format!("`{}` is no time", epoch.trim()), hint)
        })?;
        let moment = process::output(
            Command::new("date").args(["--utc", "--date", &format!("@{epoch}"), "+%Y-%m-%dT%H:%M:%SZ"]),
            "Packages are made on Linux; `date` is part of coreutils.",
        )?;
        let moment = moment.trim().to_owned();
        let day = moment.split('T').next().unwrap_or_default().to_owned();
        Ok(Self { version: format!("{version}{suffix}"), epoch, day, moment })
    }

    /// A release that was made somewhere else.
    #[cfg(test)]
    pub(super) fn at(version: &str, epoch: u64, day: &str) -> Self {
        Self { version: version.into(), epoch, day: day.into(), moment: format!("{day}T00:00:00Z") }
    }

    /// How a bill of materials is headed.
    pub(super) fn bill_head<'a>(&'a self, name: &'a str) -> BillHead<'a> {
        BillHead { name, version: &self.version, moment: &self.moment }
    }
}

/// The version that all crates of the workspace share.
fn version_in(manifest: &str) -> Option<String> {
    let table: Table = toml::from_str(manifest).ok()?;
    let version = table.get("workspace")?.get("package")?.get("version")?;
    // In the versions of both package formats a tilde comes before the end, as a pre-release does.
    Value::as_str(version).map(|version| version.replace('-', "~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pre_release_is_older_than_its_release_in_the_words_of_packages() {
        let manifest = |version: &str| format!("[workspace.package]\nversion = \"{version}\"\n");
        assert_eq!(version_in(&manifest("1.2.3")), Some("1.2.3".to_owned()));
        assert_eq!(version_in(&manifest("1.2.3-rc.1")), Some("1.2.3~rc.1".to_owned()));
        assert_eq!(version_in("[workspace]\n"), None, "no version");
    }
}
