//! Records of running children, by which the next core ends those that a killed core left behind (ruling 15).
//!
//! Each child has a file, named by its pid, with its start time and boot id. Only a process that matches all three is
//! ended. Processes are never found by name. Children with a keeper are recorded in `runtime_dir.rs`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use domain::policy::{Policy, plain_text};
use serde::{Deserialize, Serialize};

use crate::process::group::ProcessGroup;

/// A command line longer than this is cut in records and reports.
pub(crate) const COMMAND_CHARS: usize = 400;

/// A child of an earlier core that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedChild {
    /// Its pid, which was its group's too.
    pub pid: u32,
    /// The program, without arguments: those may hold secrets.
    pub command: String,
}

#[derive(Serialize, Deserialize)]
struct RecordedChild {
    pid: u32,
    start: u64,
    boot: String,
    command: String,
}

/// The record of one running child; removed when it is dropped.
pub struct ChildRecord(Option<PathBuf>);

impl ChildRecord {
    /// Writes a record. If that fails, a crash may leave the child running; the connection works all the same.
    pub fn write(children_dir: &Path, pid: u32, command: &str) -> Self {
        let entry = RecordedChild {
            pid,
            start: start_time(pid).unwrap_or_default(),
            boot: boot(),
            command: plain_text(command, COMMAND_CHARS),
        };
        let path = children_dir.join(pid.to_string());
        let written = serde_json::to_vec(&entry)
            .map_err(io::Error::other)
            .and_then(|text| fs::create_dir_all(children_dir).and_then(|()| fs::write(&path, text)));
        match written {
            Ok(()) => Self(Some(path)),
            Err(error) => {
                tracing::warn!(%error, "a child process could not be recorded: a crash of the core may leave it behind");
                Self(None)
            }
        }
    }
}

impl Drop for ChildRecord {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Ends what an earlier core left behind and removes its records. Only one core may use the directory.
pub async fn end_recorded_children(children_dir: &Path, policy: &Policy) -> Vec<EndedChild> {
    let Ok(files) = fs::read_dir(children_dir) else { return Vec::new() };
    let mut ended = Vec::new();
    for file in files.filter_map(Result::ok) {
        let path = file.path();
        let Some(entry) = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<RecordedChild>(&text).ok())
        else {
            continue;
        };
        let alive = start_time(entry.pid).is_some_and(|start| start == entry.start && entry.boot == boot());
        if alive && let Some(group) = ProcessGroup::of(entry.pid) {
            group.end(policy.child_term_wait, policy.child_group_look).await;
            ended.push(EndedChild { pid: entry.pid, command: entry.command });
        }
        let _ = fs::remove_file(path);
    }
    ended
}

/// When a process started, in ticks since boot: field 22 of `/proc/PID/stat`. The name before it may hold anything,
/// so counting begins after its last bracket. `None` when there is no such process, or it is only a zombie.
pub fn start_time(pid: u32) -> Option<u64> {
    /// The state comes first after the name; the start time is the twentieth field from there.
    const START_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.clone().next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(START_AFTER_NAME)?.parse().ok()
}

pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_start_time_can_be_read() {
        assert!(start_time(std::process::id()).is_some_and(|ticks| ticks > 0), "field 22 is a time since boot");
        assert_eq!(start_time(u32::MAX), None, "there is no such process");
    }
}
