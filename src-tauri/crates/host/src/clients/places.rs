//! Where the files of agent programs are for this user: the home folder and the variables that move them.
//!
//! Every path starts at a variable of this process, so that a test has a home of its own. Nothing is read here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::catalog::{CLIENTS, FilePlace};

/// The part of the environment that says where files are.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    variables: BTreeMap<&'static str, PathBuf>,
}

impl Surroundings {
    pub(super) fn of_process() -> Self {
        let named = CLIENTS.iter().flat_map(|client| client.files).filter_map(|file| match file.place {
            FilePlace::Named { variable, .. } => Some(variable),
            FilePlace::Home(_) | FilePlace::Config(_) | FilePlace::Project(_) => None,
        });
        let given = |name: &'static str| {
            let value = std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())?;
            Some((name, value))
        };
        let mut variables: BTreeMap<&'static str, PathBuf> =
            named.chain(["XDG_CONFIG_HOME"]).filter_map(given).collect();
        variables.extend(std::env::home_dir().map(|home| ("HOME", home)));
        Self { variables }
    }

    /// The path of a file, where this user has such a place.
    pub(super) fn path(&self, place: FilePlace, project: Option<&Path>) -> Option<PathBuf> {
        let home = || self.variables.get("HOME").cloned();
        match place {
            FilePlace::Home(file) => Some(home()?.join(file)),
            FilePlace::Config(file) => {
                let folder = match self.variables.get("XDG_CONFIG_HOME") {
                    Some(folder) => folder.clone(),
                    None => home()?.join(".config"),
                };
                Some(folder.join(file))
            }
            FilePlace::Named { variable, file, otherwise } => {
                let folder = match self.variables.get(variable) {
                    Some(folder) => folder.clone(),
                    None => home()?.join(otherwise),
                };
                Some(folder.join(file))
            }
            FilePlace::Project(file) => Some(project?.join(file)),
        }
    }
}
