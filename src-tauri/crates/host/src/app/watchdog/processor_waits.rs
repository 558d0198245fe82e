//! How long threads that had work waited for a processor.
//!
//! On a machine with more work than processors a thread may be ready to run for seconds and not run. Its runtime is
//! silent then, and does not hang. Where the system does not say how long a thread ran, no wait is seen.

use std::collections::HashMap;
use std::time::Duration;

use engine::activities;

/// One thread as the kernel describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThreadReading {
    /// It runs, or would run if it had a processor.
    is_runnable: bool,
    /// How long it ran since it began.
    ran: Duration,
}

/// The threads that run tasks, as they were when somebody last looked.
#[derive(Default)]
pub(super) struct ProcessorWaits {
    before: HashMap<u32, ThreadReading>,
}

impl ProcessorWaits {
    /// The longest that one of the threads waited for a processor since the last look, which was `passed` ago. A thread
    /// that was not ready to run at both looks is not counted: it waits for something else.
    pub(super) fn longest(&mut self, passed: Duration) -> Duration {
        let threads = activities().into_iter().filter_map(|activity| activity.thread);
        self.longest_of(threads.filter_map(|thread| Some((thread, reading(thread)?))).collect(), passed)
    }

    fn longest_of(&mut self, now: HashMap<u32, ThreadReading>, passed: Duration) -> Duration {
        let waited = now.iter().filter_map(|(thread, reading)| {
            let before = self.before.get(thread)?;
            let ran = reading.ran.saturating_sub(before.ran);
            (reading.is_runnable && before.is_runnable).then(|| passed.saturating_sub(ran))
        });
        let longest = waited.max().unwrap_or_default();
        self.before = now;
        longest
    }
}

fn reading(thread: u32) -> Option<ThreadReading> {
    let folder = format!("/proc/self/task/{thread}");
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    let times = std::fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    read_thread(&stat, &times)
}

/// `stat` has the state after the name, which stands in brackets and may hold any character; `schedstat` begins with
/// the nanoseconds for which the thread ran.
fn read_thread(stat: &str, times: &str) -> Option<ThreadReading> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let is_runnable = after_name.split_whitespace().next()? == "R";
    let ran = Duration::from_nanos(times.split_whitespace().next()?.parse().ok()?);
    Some(ThreadReading { is_runnable, ran })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn one(is_runnable: bool, ran: Duration) -> HashMap<u32, ThreadReading> {
        HashMap::from([(1, ThreadReading { is_runnable, ran })])
    }

    #[test]
    fn a_thread_that_is_ready_and_does_not_run_waits_for_a_processor() {
        let mut waits = ProcessorWaits::default();
        assert_eq!(waits.longest_of(one(true, SECOND), SECOND), Duration::ZERO, "nothing is known from one look");
        assert_eq!(waits.longest_of(one(true, SECOND * 5 / 4), SECOND), SECOND * 3 / 4, "it ran for a quarter");
        assert_eq!(
            waits.longest_of(one(true, SECOND * 9 / 4), SECOND),
            Duration::ZERO,
            "it spins, and is not kept from it"
        );
        assert_eq!(waits.longest_of(one(false, SECOND * 9 / 4), SECOND), Duration::ZERO, "it waits for something else");
        assert_eq!(waits.longest_of(one(true, SECOND * 9 / 4), SECOND), Duration::ZERO, "it became ready in between");
    }

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let expected = ThreadReading { is_runnable: true, ran: Duration::from_nanos(1_500) };
        assert_eq!(read_thread("7 (door) S 1) R 1 7 7", "1500 20 3\n"), Some(expected));
        assert_eq!(read_thread("7 (door 1) S 1", "1 2 3").map(|read| read.is_runnable), Some(false));
        assert_eq!(read_thread("7 (door 1) R 1", ""), None, "a kernel that does not count says nothing");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_thread_runs() {
        let number = std::fs::read_link("/proc/thread-self").expect("a link");
        let number = number.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let number = number.expect("a number");
        let read = || reading(number).expect("the kernel counts");
        let until = std::time::Instant::now() + Duration::from_secs(60);
        // The kernel brings its count up to date at each of its ticks.
        while read().ran == Duration::ZERO && std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        assert!(read().is_runnable && read().ran > Duration::ZERO, "{:?}", read());
    }
}
