//! Processes as the kernel reports them: parent, session, start time, users and executable.
//!
//! Reads `/proc` and judges nothing; `socket/process_ancestry.rs` does. A process is identified by its number and its
//! start time, because numbers are reused. Without `/proc` no process is known, and nothing can be proven.

use std::fs;
use std::path::PathBuf;

use api::dto::server::observed::ProcessName;
use domain::policy::{SERVER_MARK_QUEUE_BYTES, plain_text};

/// The first process of the system or of its pid namespace. It adopts every orphan that nobody else adopts.
pub(crate) const INIT: u32 = 1;

/// Processes of a group that are named; a fork bomb is not listed whole.
const GROUP_NAMED_MAX: usize = 20;
/// The kernel keeps fifteen bytes of a name.
const PROCESS_NAME_CHARS: usize = 32;

/// A process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// When it was started, in the kernel's ticks since boot.
    pub(crate) started: u64,
}

impl Process {
    /// What names it for ever.
    pub(crate) fn identity(&self) -> ProcessId {
        ProcessId { pid: self.pid, started: self.started }
    }
}

/// A process number with the start time that makes it unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    pub(crate) started: u64,
}

/// The processes of this system, or of a folder that looks like `/proc` in tests.
#[derive(Debug, Clone)]
pub(crate) struct ProcessTable {
    proc: PathBuf,
    cgroups: PathBuf,
    shells: PathBuf,
}

impl ProcessTable {
    /// The one of this system.
    pub(crate) fn of_system() -> Self {
        Self { proc: "/proc".into(), cgroups: "/sys/fs/cgroup".into(), shells: "/etc/shells".into() }
    }

    /// A made-up one: `root/proc`, `root/cgroup` and `root/shells`.
    #[cfg(test)]
    pub(crate) fn in_folder(root: &std::path::Path) -> Self {
        Self { proc: root.join("proc"), cgroups: root.join("cgroup"), shells: root.join("shells") }
    }

    /// A process; `None` when it is gone or may not be seen.
    pub(crate) fn process(&self, pid: u32) -> Option<Process> {
        parse_stat(pid, &fs::read_to_string(self.file(pid, "stat")).ok()?)
    }

    /// The processes of the group that this one leads, itself first, with the names they gave themselves.
    pub(crate) fn group(&self, leader: u32) -> Vec<ProcessName> {
        let Ok(entries) = fs::read_dir(&self.proc) else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut members: Vec<u32> =
            pids.filter(|pid| self.process(*pid).is_some_and(|process| process.group == leader)).collect();
        members.sort_unstable_by_key(|pid| (*pid != leader, *pid));
        members
            .into_iter()
            .take(GROUP_NAMED_MAX)
            .map(|pid| {
                let name = fs::read_to_string(self.file(pid, "comm")).unwrap_or_default();
                ProcessName { pid, name: plain_text(name.trim(), PROCESS_NAME_CHARS) }
            })
            .collect()
    }

    /// The file it runs; `None` when that may not be seen.
    pub(crate) fn executable(&self, pid: u32) -> Option<PathBuf> {
        fs::read_link(self.file(pid, "exe")).ok()
    }

    /// Its arguments, the program first. It can write anything there.
    pub(crate) fn arguments(&self, pid: u32) -> Vec<Vec<u8>> {
        let mut text = fs::read(self.file(pid, "cmdline")).unwrap_or_default();
        if text.last() == Some(&0) {
            text.pop();
        }
        text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
    }

    /// Whether all its user ids are the system's own user, which nobody becomes without being let. The owner of its
    /// folder says nothing: a process that may not be traced shows `root` there.
    pub(crate) fn is_of_root(&self, pid: u32) -> bool {
        let ids = self.status(pid, "Uid:");
        !ids.is_empty() && ids.iter().all(|id| id == "0")
    }

    /// Whether it lives in a pid namespace below ours, such as a container's.
    pub(crate) fn is_in_nested_namespace(&self, pid: u32) -> bool {
        self.status(pid, "NSpid:").len() > 1
    }

    /// Whether it has the limit that keepers give to what they run. Where the first process has no more, which no Linux
    /// does by itself, the limit says nothing.
    pub(crate) fn has_server_mark(&self, pid: u32) -> bool {
        let is_low = |pid| self.queue_bytes_max(pid).is_some_and(|bytes| bytes <= SERVER_MARK_QUEUE_BYTES);
        is_low(pid) && !is_low(INIT)
    }

    /// The bytes of message queues that it may never exceed; `None` without such a limit, or when it is not told.
    fn queue_bytes_max(&self, pid: u32) -> Option<u64> {
        let limits = fs::read_to_string(self.file(pid, "limits")).ok()?;
        let values = limits.lines().find_map(|line| line.strip_prefix("Max msgqueue size"))?;
        values.split_whitespace().nth(1)?.parse().ok()
    }

    /// Its control group of the unified hierarchy, such as `/user.slice/…/app.slice/foo.service`.
    pub(crate) fn control_group(&self, pid: u32) -> Option<String> {
        let text = fs::read_to_string(self.file(pid, "cgroup")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
    }

    /// The processes of a control group, as [`ProcessTable::control_group`] names it.
    pub(crate) fn members(&self, group: &str) -> Vec<u32> {
        let place = self.cgroups.join(group.trim_start_matches('/')).join("cgroup.procs");
        let text = fs::read_to_string(place).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// Whether it is a shell that takes commands from whoever types: one of the system's list of shells, and given
    /// neither a command nor a script.
    pub(crate) fn is_interactive_shell(&self, pid: u32) -> bool {
        let Some(program) = self.executable(pid) else { return false };
        let listed = fs::read_to_string(&self.shells).unwrap_or_default();
        let is_shell = listed
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with('/'))
            .any(|line| fs::canonicalize(line).is_ok_and(|shell| shell == program) || program.as_os_str() == line);
        is_shell && self.arguments(pid).iter().skip(1).all(|word| is_plain_option(word))
    }

    fn status(&self, pid: u32, field: &str) -> Vec<String> {
        let text = fs::read_to_string(self.file(pid, "status")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn file(&self, pid: u32, name: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(name)
    }
}

/// Whether a word of a shell's command line is an option that gives it no command: `-i`, `--login`, and not `-lc`.
fn is_plain_option(word: &[u8]) -> bool {
    match word {
        [b'-', b'-', _, ..] => true,
        [b'-', letters @ ..] => !letters.is_empty() && !letters.contains(&b'c'),
        _ => false,
    }
}

/// One line of `/proc/PID/stat`. The name is in parentheses and may contain anything.
fn parse_stat(pid: u32, stat: &str) -> Option<Process> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut words = after.split_whitespace();
    // What has ended and was not waited for yet asks for nothing.
    if matches!(words.next()?, "Z" | "X") {
        return None;
    }
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let session = words.next()?.parse().ok()?;
    // The session is word 6 of the line, the start word 22.
    let started = words.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_this_test_is_found() {
        let seen = ProcessTable::of_system().process(std::process::id()).expect("this process");
        assert_eq!(Some(seen.parent), rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()));
        assert!(seen.started > 0, "and when it was started");
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let odd = parse_stat(7, "7 (a) b) S 3 5 6 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 991 0").expect("a line");
        assert_eq!(odd, Process { pid: 7, parent: 3, group: 5, session: 6, started: 991 });
    }

    #[test]
    fn a_shell_with_a_command_or_a_script_takes_no_commands_from_a_person() {
        let plain = |words: &[&str]| words.iter().all(|word| is_plain_option(word.as_bytes()));
        for interactive in [&[] as &[&str], &["-i"], &["--login"], &["-l", "-i"]] {
            assert!(plain(interactive), "{interactive:?}");
        }
        for other in [&["-c", "x"] as &[&str], &["-lc", "x"], &["script.sh"], &["-e", "script.sh"]] {
            assert!(!plain(other), "{other:?}");
        }
    }
}
