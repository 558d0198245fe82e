//! Where the workspace is and which files it has.
//!
//! Found by walking up from the current folder, so that every command works anywhere inside the clone and no path
//! of the machine that built this program is kept in it. Knows nothing of git: a source archive works as well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Folders that hold nothing of ours, wherever they are.
const FOREIGN: [&str; 3] = [".git", "target", "node_modules"];

/// The root of the clone.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace around the current folder.
    pub(crate) fn find() -> Result<Self, Failure> {
        let here = std::env::current_dir()
            .map_err(|why| Failure::new(format!("the current folder cannot be read: {why}"), "Change to the clone."))?;
        here.ancestors()
            .find(|folder| fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]")))
            .map(|root| Self { root: root.to_path_buf() })
            .ok_or_else(|| Failure::new("this folder is in no workspace", "Run it inside the clone of Taskwarden."))
    }

    /// A workspace at a known place.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root, written with `/`.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), PathBuf::from)
    }

    /// A program of ours in the dev profile, where a build puts it.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The text of a file below the root.
    pub(crate) fn read(&self, inside: &str) -> Result<String, Failure> {
        fs::read_to_string(self.path(inside))
            .map_err(|why| Failure::new(format!("`{inside}` cannot be read: {why}"), "Restore it with git."))
    }

    /// What the root folder holds, without what `.gitignore` leaves out.
    pub(crate) fn top_level(&self) -> Result<Vec<String>, Failure> {
        let ignored = self.ignored();
        let mut names = list(&self.root)?
            .into_iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .filter(|name| !FOREIGN.contains(&name.as_str()) && !ignored.contains(name))
            .collect::<Vec<_>>();
        names.sort();
        Ok(names)
    }

    /// Every file of ours as a path below the root with `/`, sorted.
    pub(crate) fn files(&self) -> Result<Vec<String>, Failure> {
        let ignored = self.ignored();
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for path in list(&folder)? {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if FOREIGN.contains(&name.as_str()) || ignored.contains(&name) || path.is_symlink() {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(inside) = path.strip_prefix(&self.root) {
                    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                    found.push(parts.join("/"));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Plain names in `.gitignore`; patterns are not used there.
    fn ignored(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.join(".gitignore")).unwrap_or_default();
        text.lines().map(|line| line.trim().trim_matches('/').to_owned()).filter(|line| !line.is_empty()).collect()
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |why: std::io::Error| {
        Failure::new(format!("`{}` cannot be listed: {why}", folder.display()), "Check its owner.")
    };
    fs::read_dir(folder).map_err(unreadable)?.map(|entry| Ok(entry.map_err(unreadable)?.path())).collect()
}
