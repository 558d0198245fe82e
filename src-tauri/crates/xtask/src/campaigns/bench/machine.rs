//! What else the machine did while a part was measured: its load, and the names of the busiest other programs.
//!
//! Read from `/proc` every second, so only on Linux; programs that live shorter than that are missed, and so is what
//! other machines do on the same processor, but for the time that the kernel knows was stolen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two readings. Judgement: a compiler runs longer.
const EVERY: Duration = Duration::from_secs(1);
/// Others that are named.
const NAMED: usize = 4;
/// Share of a processor below which a program is not worth a name.
const WORTH: f64 = 0.02;
/// Ticks of the kernel's clock for processes in a second. Fixed in Linux's interface to programs (`USER_HZ`).
const TICKS: f64 = 100.0;
/// Programs that outlive who started them and belong to a measurement all the same.
const OURS: [&str; 5] = ["taskwarden", "gateway_cost", "counted_core", "nginx", "strace"];

/// Readings that go on until [`Watch::end`].
pub(super) struct Watch {
    over: mpsc::Sender<()>,
    watching: JoinHandle<Seen>,
    begun: Instant,
}

/// One process at one moment.
struct Process {
    pid: u32,
    parent: u32,
    name: String,
    ticks: u64,
}

/// What was seen so far.
#[derive(Default)]
struct Seen {
    last: BTreeMap<u32, u64>,
    ours: BTreeSet<u32>,
    by_name: BTreeMap<String, u64>,
}

impl Watch {
    /// Reads once, and then every second on a thread of its own.
    pub(super) fn begin() -> Self {
        let (over, stop) = mpsc::channel();
        let mut seen = Seen::default();
        seen.read(&processes());
        seen.by_name.clear();
        let watching = std::thread::spawn(move || {
            while stop.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                seen.read(&processes());
            }
            seen.read(&processes());
            seen
        });
        Self { over, watching, begun: Instant::now() }
    }

    /// One sentence about the machine since it began.
    pub(super) fn end(self) -> String {
        let _ = self.over.send(());
        let span = self.begun.elapsed().as_secs_f64();
        let Ok(seen) = self.watching.join() else { return "nothing is known of the machine".to_owned() };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!("load average {load} on {cores} processors; beside it ran {}", seen.told(span))
    }
}

impl Seen {
    /// Adds the time that every process has used since the reading before.
    fn read(&mut self, processes: &[Process]) {
        let me = std::process::id();
        let parents: BTreeMap<u32, u32> = processes.iter().map(|process| (process.pid, process.parent)).collect();
        for process in processes {
            let mut above = Some(process.pid);
            while let Some(pid) = above {
                if pid == me || self.ours.contains(&pid) {
                    self.ours.insert(process.pid);
                    break;
                }
                above = parents.get(&pid).copied().filter(|parent| *parent != 0 && *parent != pid);
            }
            let before = self.last.insert(process.pid, process.ticks).unwrap_or(0);
            if !self.ours.contains(&process.pid) && !OURS.contains(&process.name.as_str()) {
                *self.by_name.entry(process.name.clone()).or_default() += process.ticks.saturating_sub(before);
            }
        }
    }

    /// The busiest by name, with the processors that they used.
    fn told(&self, span: f64) -> String {
        let used = |ticks: u64| ticks as f64 / TICKS / span;
        let mut busy: Vec<_> = self.by_name.iter().map(|(name, &ticks)| (name, used(ticks))).collect();
        busy.retain(|(_, used)| *used >= WORTH);
        busy.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let all: f64 = busy.iter().map(|(_, used)| used).sum();
        if busy.is_empty() {
            return "nothing that used a processor".to_owned();
        }
        let named: Vec<_> = busy.iter().take(NAMED).map(|(name, used)| format!("{name} {used:.2}")).collect();
        format!("{} ({all:.2} processors in all)", named.join(", "))
    }
}

/// All processes of now; none where there is no `/proc`.
fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(&std::fs::read_to_string(entry.path().join("stat")).ok()?)).collect()
}

/// Reads a line of `/proc/PID/stat`, whose name may hold anything.
fn process(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok());
    Some(Process {
        pid: pid.parse().ok()?,
        parent: u32::try_from(number(1)?).ok()?,
        name: name.to_owned(),
        ticks: number(11)? + number(12)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, parent: u32, name: &str, ticks: u64) -> Process {
        let line = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0");
        process(&line).expect("a line of the kernel")
    }

    #[test]
    fn only_what_others_used_meanwhile_is_told() {
        let me = std::process::id();
        let mut seen = Seen::default();
        seen.read(&[
            stat(900_001, 1, "cc1 (x)", 500),
            stat(900_002, me, "child", 10),
            stat(900_003, 900_002, "far", 0),
        ]);
        seen.by_name.clear();
        seen.read(&[
            stat(900_001, 1, "cc1 (x)", 600),
            stat(900_002, me, "child", 900),
            stat(900_003, 900_002, "far", 900),
            stat(900_004, 1, "nginx", 900),
            stat(900_005, 1, "idle", 0),
        ]);
        assert_eq!(seen.told(2.0), "cc1 (x) 0.50 (0.50 processors in all)");
        // What was ours stays ours when its parent is gone.
        seen.read(&[stat(900_003, 1, "far", 2_000)]);
        assert_eq!(seen.told(2.0), "cc1 (x) 0.50 (0.50 processors in all)");
    }
}
