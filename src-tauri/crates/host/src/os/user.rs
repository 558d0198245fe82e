//! The operating-system user that a person is, and the origin of what they decide.
//!
//! The name comes from the system's user list, never from what a program says about itself. Nothing is authorised here.

use domain::audit::decision_origin::{DecisionDoor, DecisionOrigin, ProcessStamp};
use domain::ids::PersonId;

use crate::os::process_table::ProcessTable;

/// The person who runs this process.
#[must_use]
pub(crate) fn here() -> PersonId {
    of(own_uid())
}

/// The same person, deciding in the window of this process.
#[must_use]
pub(crate) fn in_window() -> PersonId {
    let pid = std::process::id();
    let process = ProcessTable::of_system().process(pid).map(|own| ProcessStamp { pid, started: own.started });
    let executable = std::env::current_exe().ok().map(|path| path.display().to_string());
    here().through(DecisionOrigin { door: DecisionDoor::Window, process, executable })
}

/// The same person, deciding in a browser that was signed in. TCP names no process.
#[must_use]
pub(crate) fn in_browser() -> PersonId {
    here().through(DecisionOrigin { door: DecisionDoor::Browser, process: None, executable: None })
}

/// This process's user id.
#[cfg(unix)]
pub(crate) fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The name of a user id, or the id itself where the list does not hold it.
#[cfg(unix)]
pub(crate) fn of(uid: u32) -> PersonId {
    let listed = std::fs::read_to_string("/etc/passwd").ok().and_then(|list| name_in(&list, uid));
    let named = listed.or_else(|| {
        // Users of directory services are not in the file. The session's own name is better than a number, but only for
        // this very user.
        (uid == own_uid()).then(|| std::env::var("USER").ok()).flatten().filter(|name| !name.is_empty())
    });
    PersonId::new(named.unwrap_or_else(|| format!("uid {uid}")))
}

/// Name and home folder of a user id in the system's list; `None` where the list does not hold it.
#[cfg(unix)]
pub(crate) fn listed(uid: u32) -> Option<(String, String)> {
    entry_in(&std::fs::read_to_string("/etc/passwd").ok()?, uid)
}

#[cfg(not(unix))]
pub(crate) fn listed(_uid: u32) -> Option<(String, String)> {
    None
}

// Not run here.
#[cfg(not(unix))]
pub(crate) fn own_uid() -> u32 {
    0
}

#[cfg(not(unix))]
pub(crate) fn of(_uid: u32) -> PersonId {
    PersonId::new(std::env::var("USERNAME").unwrap_or_else(|_| "you".into()))
}

#[cfg(unix)]
fn name_in(list: &str, uid: u32) -> Option<String> {
    entry_in(list, uid).map(|(name, _)| name)
}

#[cfg(unix)]
fn entry_in(list: &str, uid: u32) -> Option<(String, String)> {
    list.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        let id: u32 = parts.nth(1)?.parse().ok()?;
        let home = parts.nth(2)?;
        (id == uid && !name.is_empty()).then(|| (name.to_owned(), home.to_owned()))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_user_id_has_the_name_of_the_systems_list() {
        let list = "root:x:0:0:root:/root:/bin/sh\nbroken line\ndana:x:1000:1000::/home/dana:/bin/sh\n";
        assert_eq!(name_in(list, 1_000), Some("dana".into()));
        assert_eq!(name_in(list, 7), None);
        assert_eq!(entry_in(list, 0), Some(("root".into(), "/root".into())), "and a home");
    }
}
