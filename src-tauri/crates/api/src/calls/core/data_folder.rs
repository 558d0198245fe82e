//! Keeps files that a person names out of the data folder, where they would replace or lie beside Taskwarden's own.
//!
//! It looks at places and writes nothing. Who may read the folder itself is decided in the host (`config/paths.rs`).

use std::fs;
use std::path::Path;

use crate::error::{ApiError, Code};

/// Checks that a file or folder that a person names is not in the data folder, in whatever spelling and through whatever
/// link. `named` begins the message, such as the name of the member that it came in, or is empty.
///
/// # Errors
/// That it is there.
pub fn refuse_in_data_folder(named: &str, place: &Path, home: &Path) -> Result<(), ApiError> {
    if !is_within(place, home) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::Usage,
        format!("{named}`{}` is in the data folder of Taskwarden", place.display()),
        "Choose a place outside of it, best on another disk: a file beside the registry is lost or changed with it.",
    ))
}

fn is_within(place: &Path, home: &Path) -> bool {
    let here = Path::new(".");
    // What is not there yet will be in the folder that is named.
    let folder = place.parent().map(|folder| if folder.as_os_str().is_empty() { here } else { folder });
    let folder = folder.and_then(|folder| fs::canonicalize(folder).ok());
    let followed = fs::canonicalize(place).ok();
    let real_home = fs::canonicalize(home).ok();
    let places = [Some(place), folder.as_deref(), followed.as_deref()];
    places.into_iter().flatten().flat_map(Path::ancestors).any(|folder| {
        folder == home || real_home.as_deref().is_some_and(|home| folder == home || is_same_folder(folder, home))
    })
}

/// Whether two names lead to one folder, also where the file system takes several spellings of a name for one.
#[cfg(unix)]
fn is_same_folder(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Canonical names are compared before this.
#[cfg(not(unix))]
const fn is_same_folder(_one: &Path, _other: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_and_no_link_leads_a_file_into_the_data_folder() {
        let around = std::env::temp_dir().join(format!("taskwarden-data-folder-{}", std::process::id()));
        let home = around.join("home");
        fs::create_dir_all(home.join("backups")).expect("a data folder");
        fs::write(home.join("registry.db"), "rows").expect("a registry");
        fs::create_dir_all(around.join("beside")).expect("a folder beside it");
        std::os::unix::fs::symlink(&home, around.join("link")).expect("a link to the folder");
        std::os::unix::fs::symlink(home.join("registry.db"), around.join("report")).expect("a link to a file");
        for inside in [
            "home/registry.db",
            "home/new",
            "home/backups/new",
            "beside/../home/new",
            "link/new",
            "link/backups",
            "report",
        ] {
            let refused = refuse_in_data_folder("", &around.join(inside), &home);
            assert!(refused.is_err_and(|error| error.message.contains("data folder")), "{inside}");
            assert!(refuse_in_data_folder("", &around.join(inside), &around.join("link")).is_err(), "{inside}");
        }
        for outside in ["new", "beside/new", "home-2", "missing/new"] {
            let taken = refuse_in_data_folder("", &around.join(outside), &home);
            assert!(taken.is_ok(), "{outside}: {taken:?}");
        }
        fs::remove_dir_all(&around).expect("it is put away");
    }
}
