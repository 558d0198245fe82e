//! System calls and instructions of running processes, as the kernel counts them.
//!
//! `perf` counts without slowing anything down; where it is missing or not allowed, `strace` counts system calls and
//! makes each several times as long, which changes how often threads wait. Without either there is a reason instead.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::home::pause_for;

/// What `perf` is asked for, in the order of the fields of [`KernelCount`].
const EVENTS: [&str; 3] = ["raw_syscalls:sys_enter", "instructions:u", "instructions:k"];
/// How long either program gets to attach before something is measured. Judgement: both took under 50 ms.
const ATTACHING: Duration = Duration::from_millis(400);

/// What was counted; `None` where this machine cannot.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelCount {
    /// Calls of the kernel.
    pub system_calls: Option<f64>,
    /// Instructions of the processes themselves.
    pub user: Option<f64>,
    /// Instructions of the kernel on their behalf.
    pub kernel: Option<f64>,
}

/// A count that is under way.
pub struct KernelCounts {
    counter: Child,
    is_perf: bool,
}

impl KernelCounts {
    /// Begins to count; the error says why it cannot.
    pub fn begin(pids: &[u32]) -> Result<Self, &'static str> {
        let listed = pids.iter().map(u32::to_string).collect::<Vec<_>>();
        let mut perf = Command::new("perf");
        perf.args(["stat", "-x", ",", "-e", &EVENTS.join(","), "-p", &listed.join(",")]);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-c"]).args(listed.iter().flat_map(|pid| ["-p", pid.as_str()]));
        for (mut command, is_perf) in [(perf, true), (strace, false)] {
            let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            let Ok(mut counter) = started else { continue };
            pause_for(ATTACHING);
            // One that ended was not allowed to.
            if matches!(counter.try_wait(), Ok(None)) {
                return Ok(Self { counter, is_perf });
            }
        }
        Err("neither `perf` nor `strace` is installed and allowed to attach")
    }

    /// Ends it and reads what was counted since it began.
    #[must_use]
    pub fn finish(self) -> KernelCount {
        if let Some(pid) = i32::try_from(self.counter.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let Ok(output) = self.counter.wait_with_output() else { return KernelCount::default() };
        let told = String::from_utf8_lossy(&output.stderr);
        if self.is_perf { of_perf(&told) } else { of_strace(&told) }
    }
}

/// Lines of `value,unit,event,…`; the value is words where an event is not supported.
fn of_perf(told: &str) -> KernelCount {
    let of = |event: &str| {
        let line = told.lines().find(|line| line.split(',').nth(2) == Some(event))?;
        line.split(',').next()?.parse().ok()
    };
    let [system_calls, user, kernel] = EVENTS.map(of);
    KernelCount { system_calls, user, kernel }
}

/// A table whose last line holds the sum in its fourth column.
fn of_strace(told: &str) -> KernelCount {
    let total = told.lines().rev().find(|line| line.trim_end().ends_with("total"));
    let system_calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    KernelCount { system_calls, ..KernelCount::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_and_an_event_this_machine_lacks_is_missing() {
        let count = of_perf("109,,raw_syscalls:sys_enter,1,100.00,,\n<not supported>,,instructions:u,0,100.00,,\n");
        assert_eq!((count.system_calls, count.user, count.kernel), (Some(109.0), None, None));
        let table = "% time     seconds  usecs/call     calls    errors syscall\n------ ----\n 60.00    0.000010           1        10           read\n------ ----\n100.00    0.000016           1        12         2 total\n";
        assert_eq!(of_strace(table).system_calls, Some(12.0));
    }
}
