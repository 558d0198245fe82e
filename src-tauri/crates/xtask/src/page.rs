//! The user interface: installed, checked and built with npm, and only when something changed.
//!
//! The window and the headless host both carry what lies in `ui/dist`, so it is built before them. What the page does
//! is tested here up to its stories; `journeys.rs` has the whole system.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::failure::Failure;
use crate::process;
use crate::setup::node;
use crate::workspace::Workspace;

/// Where the page lives.
const UI: &str = "ui";
/// What the build reads.
const SOURCES: [&str; 6] =
    ["ui/src", "ui/public", "ui/index.html", "ui/package-lock.json", "ui/vite.config.ts", "ui/svelte.config.js"];
const BUILT: &str = "ui/dist/index.html";

/// Builds it unless it is newer than its sources.
pub(crate) fn build(workspace: &Workspace) -> Result<(), Failure> {
    let newest = SOURCES.iter().filter_map(|source| newest(&workspace.path(source))).max();
    if let (Some(built), Some(newest)) = (changed(&workspace.path(BUILT)), newest)
        && built > newest
    {
        return Ok(());
    }
    println!("building the user interface");
    node::install(workspace, UI)?;
    npm(workspace, "build")
}

/// Builds it whatever there was before, and checks its size.
pub(crate) fn build_anew(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, UI)?;
    npm(workspace, "build")
}

/// Types, house rules and units.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, UI)?;
    ["check", "lint", "test"].into_iter().try_for_each(|script| npm(workspace, script))
}

/// Accessibility and geometry of every story in Chromium, each in one theme, which turns with the commit; whole pages
/// in both (decision 0112).
pub(crate) fn sampled_stories(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, UI)?;
    npm(workspace, "stories:sample")
}

/// Every story in both themes and at all sizes, each loaded anew.
pub(crate) fn stories(workspace: &Workspace) -> Result<(), Failure> {
    node::install(workspace, UI)?;
    npm(workspace, "stories")
}

fn npm(workspace: &Workspace, script: &str) -> Result<(), Failure> {
    let mut run = node::npm(workspace, UI, &["run", "--silent", script])?;
    process::run(&mut run, "Fix what is named above; `npm run` in `ui` lists the scripts.")
}

/// When the youngest file below a path changed.
fn newest(path: &Path) -> Option<SystemTime> {
    let Ok(inside) = fs::read_dir(path) else { return changed(path) };
    // The folder too: a file may have been removed.
    inside.flatten().filter_map(|entry| newest(&entry.path())).chain(changed(path)).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|known| known.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_youngest_file_counts_however_deep_it_lies() {
        let folder = std::env::temp_dir().join(format!("taskwarden-newest-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/deep"), "").unwrap();
        let later = changed(&folder).unwrap() + std::time::Duration::from_secs(600);
        fs::File::options().write(true).open(folder.join("a/b/deep")).unwrap().set_modified(later).unwrap();
        let found = newest(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Some(later), "the deepest file is the youngest");
        assert_eq!(newest(&folder), None, "nothing is there");
    }
}
