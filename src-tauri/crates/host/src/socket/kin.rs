//! Which processes belong to an agent or to a server, so that they decide nothing a person decides (ruling 26).
//!
//! Known are: what descends from the core, its servers; what descends from a bridge or a keeper of ours, told by its
//! command; and, where the configuration is strict, what descends from the program that started a bridge, remembered
//! for as long as it lives, also when the bridge is gone. What this cannot know stands in decision 0013. It refuses nobody: `peer.rs` does.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Longer chains of parents do not occur; a loop cannot either, but a limit costs nothing.
const GENERATIONS: usize = 64;

/// What starts everything of a person: never an agent's.
const ROOTS: [&str; 16] = [
    "systemd",
    "init",
    "login",
    "sshd",
    "su",
    "sudo",
    "tmux: server",
    "screen",
    "bash",
    "sh",
    "zsh",
    "fish",
    "dash",
    "ksh",
    "nu",
    "launchd",
];

/// A process as the kernel tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its short name.
    pub(super) name: String,
    pub(super) parent: u32,
    /// The process that leads its session.
    pub(super) session: u32,
    /// When it was started, in the kernel's ticks: with the number it names one process for ever.
    pub(super) begun: u64,
}

/// Processes that are an agent's.
pub(super) struct Kin {
    known: Mutex<VecDeque<(u32, u64)>>,
    most: usize,
    strict: bool,
}

impl Kin {
    /// Nobody yet; at most so many, the oldest are forgotten first. `strict` counts what started a bridge as well.
    pub(super) fn new(most: usize, strict: bool) -> Self {
        Self { known: Mutex::default(), most, strict }
    }

    /// A bridge came: it is an agent's from now on, and strictly taken what started it. Not a shell or a session's leader
    /// above it, from which the person's own commands descend too.
    pub(super) fn remember(&self, bridge: u32, look: impl Fn(u32) -> Option<Seen>) {
        let own = std::process::id();
        let mut found = Vec::new();
        let mut at = bridge;
        for generation in 0..GENERATIONS {
            let Some(seen) = look(at) else { break };
            let is_root = at <= 1 || at == own || ROOTS.contains(&seen.name.as_str());
            let leads = seen.session == at;
            // What started the bridge is its client, whoever leads the session.
            if generation > 0 && (!self.strict || is_root || leads && generation > 1) {
                break;
            }
            found.push((at, seen.begun));
            if leads && generation > 0 {
                break;
            }
            at = seen.parent;
        }
        let mut known = self.known.lock();
        known.retain(|process| !found.contains(process));
        known.extend(found);
        if known.len() > self.most {
            known.retain(|(process, begun)| look(*process).is_some_and(|seen| seen.begun == *begun));
        }
        while known.len() > self.most {
            known.pop_front();
        }
    }

    /// Whether a process is an agent's or a server's, or descends from one.
    pub(super) fn includes(
        &self,
        process: u32,
        look: impl Fn(u32) -> Option<Seen>,
        is_ours: impl Fn(u32) -> bool,
    ) -> bool {
        let own = std::process::id();
        let mut at = process;
        for generation in 0..GENERATIONS {
            let Some(seen) = look(at) else { return false };
            let is_below_core = generation > 0 && at == own;
            if is_below_core || self.known.lock().contains(&(at, seen.begun)) || is_ours(at) {
                return true;
            }
            if seen.parent <= 1 {
                return false;
            }
            at = seen.parent;
        }
        false
    }
}

/// Whether the process is a bridge or a keeper of this program, by its command.
#[cfg(target_os = "linux")]
pub(super) fn is_bridge_or_keeper(process: u32) -> bool {
    let Ok(command) = std::fs::read(format!("/proc/{process}/cmdline")) else { return false };
    let mut words = command.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    let is_role = words.next().is_some_and(|word| matches!(word, b"connect" | b"keep"));
    is_role && is_this_program(program)
}

/// By file name: a program that was replaced while it ran is still ours.
#[cfg(target_os = "linux")]
fn is_this_program(program: &[u8]) -> bool {
    let Ok(own) = std::env::current_exe() else { return false };
    let named = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let own = own.file_name().unwrap_or_default().as_encoded_bytes();
    let own = own.strip_suffix(b" (deleted)").unwrap_or(own);
    named == own || named == b"taskwarden"
}

/// A process as `/proc` has it.
#[cfg(target_os = "linux")]
pub(super) fn look(process: u32) -> Option<Seen> {
    read(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// One line of `/proc/PID/stat`. The name stands in parentheses and may hold anything.
#[cfg(target_os = "linux")]
fn read(stat: &str) -> Option<Seen> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut words = after.split_whitespace().skip(1);
    let parent = words.next()?.parse().ok()?;
    let session = words.nth(1)?.parse().ok()?;
    // The session is word 6 of the line, the start word 22.
    let begun = words.nth(15)?.parse().ok()?;
    Some(Seen { name, parent, session, begun })
}

// Not run here: without /proc the descent is not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn look(_process: u32) -> Option<Seen> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_bridge_or_keeper(_process: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 the session's root, 10 a shell that leads its session, 20 an editor, 21 the agent, 22 its bridge, 23 a command
    /// of the agent, 30 a terminal of its own with a shell 31 and a command 32 in it; 40 a client that leads its
    /// session, 41 its bridge, 42 its command.
    fn family(process: u32) -> Option<Seen> {
        let seen = |name: &str, parent, session| {
            Some(Seen { name: name.into(), parent, session, begun: u64::from(process) * 100 })
        };
        match process {
            2 => seen("systemd", 1, 2),
            10 => seen("bash", 2, 10),
            20 => seen("editor", 10, 10),
            21 => seen("agent", 20, 10),
            22 => seen("taskwarden", 21, 10),
            23 => seen("taskwarden", 21, 10),
            30 => seen("terminal", 2, 2),
            31 => seen("zsh", 30, 31),
            32 => seen("taskwarden", 31, 31),
            40 => seen("client", 2, 40),
            41 => seen("taskwarden", 40, 40),
            42 => seen("taskwarden", 40, 42),
            _ => None,
        }
    }

    fn includes(kin: &Kin, process: u32) -> bool {
        kin.includes(process, family, |_| false)
    }

    #[test]
    fn what_an_agent_starts_is_an_agents_and_a_shell_beside_it_is_a_persons() {
        let kin = Kin::new(100, true);
        assert!(!includes(&kin, 23), "nothing is known before a bridge came");
        kin.remember(22, family);
        for process in [20, 21, 22, 23] {
            assert!(includes(&kin, process), "{process} is the agent's, also when its bridge is gone");
        }
        for process in [10, 30, 31, 32] {
            assert!(!includes(&kin, process), "{process} is the person's");
        }
    }

    #[test]
    fn unless_asked_to_be_strict_only_a_bridge_and_what_it_starts_are_an_agents() {
        let kin = Kin::new(100, false);
        kin.remember(22, family);
        assert!(includes(&kin, 22), "the bridge");
        for process in [20, 21, 23] {
            assert!(!includes(&kin, process), "{process} may be an editor's terminal, where a person types");
        }
    }

    #[test]
    fn a_client_that_leads_its_session_is_an_agents_and_what_is_above_is_not() {
        let kin = Kin::new(100, true);
        kin.remember(41, family);
        assert!(includes(&kin, 42), "also when its command leads a session of its own");
        assert!(!includes(&kin, 32), "the root of everything is nobody's");
    }

    #[test]
    fn another_process_of_the_same_number_is_a_stranger() {
        let kin = Kin::new(100, true);
        kin.remember(22, family);
        let later = |process| family(process).map(|seen| Seen { begun: 7, ..seen });
        assert!(!kin.includes(23, later, |_| false), "numbers are used again");
    }

    #[test]
    fn the_oldest_are_forgotten_when_there_are_too_many() {
        let kin = Kin::new(3, true);
        kin.remember(41, family);
        kin.remember(22, family);
        assert!(!includes(&kin, 42), "three are kept");
        assert!(includes(&kin, 23), "the newest are");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_this_test_is_found() {
        let seen = look(std::process::id()).expect("this process");
        assert_eq!(Some(seen.parent), rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()));
        assert!(seen.begun > 0, "and when it was started");
        let odd = read("7 (a) b) S 3 5 6 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 991 0").expect("a line");
        assert_eq!(odd, Seen { name: "a) b".into(), parent: 3, session: 6, begun: 991 }, "names may hold anything");
    }
}
