//! Watches the processes of one server from outside while they are ended.
//!
//! It remembers every process that a reading showed, so that one which lost its parent meanwhile is still looked for.
//! It signals nobody: the keeper, or the core that owns the child, does.

use std::collections::BTreeMap;

use domain::ports::{ProcessReading, ProcessWatch};
use domain::task::LeftProcess;

use crate::process::server_processes::{ProcessKey, ProcessList, name_of};

/// What was seen of the processes of one server.
pub struct ServerWatch {
    leader: u32,
    /// The keeper of the child, which adopts its orphans.
    keeper: Option<ProcessKey>,
    seen: SeenProcesses,
}

#[derive(Default)]
struct SeenProcesses {
    /// Each with its name, and whether it is somebody else's.
    all: BTreeMap<ProcessKey, (String, bool)>,
    /// The group was seen empty: its number may be another's by now.
    is_group_over: bool,
}

impl ServerWatch {
    /// Begins to watch the server whose first process has this number; it must still run.
    pub fn begin(leader: u32) -> Self {
        let list = ProcessList::read();
        let keeper = list.parent(leader).filter(|parent| parent.pid != std::process::id() && parent.pid > 1);
        let mut watch = Self { leader, keeper, seen: SeenProcesses::default() };
        watch.take(&list);
        watch
    }

    fn take(&mut self, list: &ProcessList) -> ProcessReading {
        let keeper = self.keeper.filter(|keeper| list.has(*keeper));
        let seen = &mut self.seen;
        let leader = (!seen.is_group_over).then_some(self.leader);
        let found = list.of_server(leader, keeper.map(|keeper| keeper.pid));
        seen.is_group_over |= found.group.is_empty();
        for (keys, is_foreign) in [(&found.own, false), (&found.foreign, true)] {
            for key in keys {
                seen.all.entry(*key).or_insert_with(|| (name_of(key.pid), is_foreign));
            }
        }
        let left: Vec<LeftProcess> = seen
            .all
            .iter()
            .filter(|(key, _)| list.has(**key))
            .map(|(key, (name, is_foreign))| LeftProcess { pid: key.pid, name: name.clone(), is_foreign: *is_foreign })
            .collect();
        let ended = seen.all.len().saturating_sub(left.len());
        ProcessReading { ended: u32::try_from(ended).unwrap_or(u32::MAX), left }
    }
}

impl ProcessWatch for ServerWatch {
    fn read(&mut self) -> Option<ProcessReading> {
        let list = ProcessList::read();
        list.is_readable().then(|| self.take(&list))
    }
}
