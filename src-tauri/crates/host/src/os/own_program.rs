//! The file of this program, to start it again.
//!
//! An update replaces the file while the program runs. Linux then names the file that was removed, which nobody can
//! start; the file that stands at its place is the newer program.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// What Linux adds to the name of a file that was removed.
#[cfg(target_os = "linux")]
const REMOVED: &[u8] = b" (deleted)";

/// Where this program is, or the one that replaced it.
///
/// # Errors
/// When the system does not say.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe().map(|path| PathBuf::from(in_its_place(path.into_os_string())))
}

/// The same as text; `None` where it is none.
pub(crate) fn own_program_text() -> Option<String> {
    own_program().ok().and_then(|path| path.into_os_string().into_string().ok())
}

#[cfg(target_os = "linux")]
fn in_its_place(path: OsString) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    match path.as_bytes().strip_suffix(REMOVED) {
        Some(place) => OsString::from_vec(place.to_vec()),
        None => path,
    }
}

#[cfg(not(target_os = "linux"))]
fn in_its_place(path: OsString) -> OsString {
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_was_replaced_is_found_at_its_place() {
        for (named, place) in [
            ("/usr/bin/taskwarden (deleted)", "/usr/bin/taskwarden"),
            ("/usr/bin/taskwarden", "/usr/bin/taskwarden"),
            ("/home/a (deleted)/taskwarden", "/home/a (deleted)/taskwarden"),
        ] {
            assert_eq!(in_its_place(named.into()), OsString::from(place), "{named}");
        }
    }

    #[test]
    fn the_program_that_runs_is_there() {
        assert!(own_program().is_ok_and(|path| path.is_file()));
    }
}
