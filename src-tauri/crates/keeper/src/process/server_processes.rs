//! Which processes belong to a server: what descends from its keeper or its first process, and the members of its group.
//!
//! Each reading goes through `/proc` once and keeps nothing. A member of the group that runs as another user, or that
//! something outside the server started, is somebody else's: it is named and never signalled. Who is signalled when is
//! decided in `group.rs`; `process_watch.rs` remembers readings. Without `/proc` nothing is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use domain::policy::plain_text;

/// The kernel keeps fifteen bytes of a name.
const PROCESS_NAME_CHARS: usize = 32;
/// Parents of the system, which adopt orphans: none, and the first process.
const SYSTEM_PARENTS: [u32; 2] = [0, 1];

/// One process, by what makes it unique within a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessKey {
    pub(crate) pid: u32,
    /// In the kernel's ticks since boot.
    pub(crate) start: u64,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    key: ProcessKey,
    parent: u32,
    group: u32,
    is_stopped: bool,
}

/// All processes of the system at one moment, without those that have ended.
pub(crate) struct ProcessList(BTreeMap<u32, Listed>);

/// The processes of a server at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerProcesses {
    /// Those that may be signalled.
    pub(crate) own: BTreeSet<ProcessKey>,
    /// Members of its group, or descendants, that belong to somebody else.
    pub(crate) foreign: BTreeSet<ProcessKey>,
    /// Those of both that are in the group.
    pub(crate) group: BTreeSet<ProcessKey>,
    /// Those of both that stand still.
    pub(crate) stopped: BTreeSet<ProcessKey>,
}

impl ProcessList {
    pub(crate) fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Self(pids.filter_map(|pid| Some((pid, listed(pid)?))).collect())
    }

    /// Whether the processes of this machine could be listed: this program runs, so a list without it says nothing.
    pub(crate) fn is_readable(&self) -> bool {
        self.0.contains_key(&std::process::id())
    }

    /// Whether this very process runs.
    pub(crate) fn has(&self, key: ProcessKey) -> bool {
        self.0.get(&key.pid).is_some_and(|listed| listed.key == key)
    }

    /// The parent of a process.
    pub(crate) fn parent(&self, pid: u32) -> Option<ProcessKey> {
        let parent = self.0.get(&pid)?.parent;
        self.0.get(&parent).map(|listed| listed.key)
    }

    /// The processes of the server whose first process has this number, or had it while its group goes on. `None` when
    /// the group was seen empty: the number may be another's by now. `adopter` is the process that adopts its orphans,
    /// which belongs to us and is never one of them.
    pub(crate) fn of_server(&self, leader: Option<u32>, adopter: Option<u32>) -> ServerProcesses {
        let descendants = self.descendants(adopter.or(leader));
        let user = user_of(std::process::id());
        let mut found = ServerProcesses::default();
        for listed in self.0.values() {
            let is_below = descendants.contains(&listed.key.pid);
            let in_group = leader.is_some_and(|leader| listed.group == leader);
            if !is_below && !in_group || Some(listed.key.pid) == adopter {
                continue;
            }
            let is_own = (is_below || self.is_orphan_of_group(listed)) && user_of(listed.key.pid) == user;
            let place = if is_own { &mut found.own } else { &mut found.foreign };
            place.insert(listed.key);
            if in_group {
                found.group.insert(listed.key);
            }
            if listed.is_stopped {
                found.stopped.insert(listed.key);
            }
        }
        found
    }

    /// A process and everything below it.
    fn descendants(&self, root: Option<u32>) -> BTreeSet<u32> {
        let mut below: BTreeSet<u32> = root.filter(|root| self.0.contains_key(root)).into_iter().collect();
        loop {
            let before = below.len();
            let children = self.0.values().filter(|listed| below.contains(&listed.parent)).map(|listed| listed.key.pid);
            below.extend(children.collect::<Vec<_>>());
            if below.len() == before {
                return below;
            }
        }
    }

    /// Whether a member of the group lost its parent: the system, or what started this program, adopted it. A member
    /// with another parent outside the group was put there by a program that is not the server's.
    fn is_orphan_of_group(&self, member: &Listed) -> bool {
        let mut parent = member.parent;
        // A parent is older than its child, so this ends; a table that was read while processes end may not know it.
        for _ in 0..self.0.len() {
            match self.0.get(&parent) {
                Some(above) if above.group == member.group => parent = above.parent,
                Some(_) | None => break,
            }
        }
        SYSTEM_PARENTS.contains(&parent) || self.starters().contains(&parent)
    }

    /// What started this process, and what started that.
    fn starters(&self) -> BTreeSet<u32> {
        let mut above = BTreeSet::new();
        let mut pid = std::process::id();
        while let Some(parent) = self.parent(pid)
            && above.insert(parent.pid)
        {
            pid = parent.pid;
        }
        above
    }
}

/// The name that a process gave itself; empty when it is gone.
pub(crate) fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    plain_text(name.trim(), PROCESS_NAME_CHARS)
}

/// The user whose rights a process has.
fn user_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// One line of `/proc/PID/stat`: the name before the last bracket may hold anything; a zombie has ended.
fn listed(pid: u32) -> Option<Listed> {
    /// The start time is field 22 of the line; state, parent and group are read before it.
    const START_AFTER_GROUP: usize = 16;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // `t` is stopped by a debugger, `T` by a signal.
    let is_stopped = matches!(state, "T" | "t");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start = fields.nth(START_AFTER_GROUP)?.parse().ok()?;
    Some(Listed { key: ProcessKey { pid, start }, parent, group, is_stopped })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(clippy::expect_used, reason = "helpers of tests fail like tests")]

    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;
    use crate::process::child_records::start_time;

    struct Running(Child);

    impl Running {
        fn sleeper(group: i32) -> Self {
            Self(Command::new("sleep").arg("300").process_group(group).spawn().expect("sleep starts"))
        }

        fn key(&self) -> ProcessKey {
            ProcessKey { pid: self.0.id(), start: start_time(self.0.id()).expect("it runs") }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_that_another_program_put_into_the_group_is_not_the_servers() {
        let server = Running::sleeper(0);
        let joined = Running::sleeper(i32::try_from(server.0.id()).expect("a pid"));
        let found = ProcessList::read().of_server(Some(server.0.id()), None);
        assert_eq!(found.own, BTreeSet::from([server.key()]));
        assert_eq!(found.foreign, BTreeSet::from([joined.key()]), "this test started it, not the server");
        assert_eq!(found.group, BTreeSet::from([server.key(), joined.key()]));
    }

    #[test]
    fn a_list_without_this_program_was_not_read() {
        assert!(ProcessList::read().is_readable());
        assert!(!ProcessList(BTreeMap::new()).is_readable(), "so it is without `/proc`");
    }

    #[test]
    fn the_start_time_is_the_one_by_which_children_are_recorded() {
        let me = std::process::id();
        assert_eq!(listed(me).map(|listed| listed.key.start), start_time(me), "two readers of one line agree");
    }
}
