//! Detects, on a thread beside the runtimes, that one of them hangs.
//!
//! At intervals it looks at each runtime: the shared one, and that of each door thread. One whose workers all sleep waits
//! for events and is left asleep; any other is asked to run a task. When that does not run for `watchdog_limit`, the thread
//! logs what every worker is doing and ends or restarts the process; nothing is lost, because state is in rows. Only time
//! in which this thread itself ran counts: a suspended laptop or a stopped process is no hang. Nor does time in which a
//! thread waited for a processor, on a machine that has too much to do, up to `watchdog_starved_limit`. One busy worker
//! among others is not detected.

mod processor_waits;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use domain::policy::HostPolicy;
use engine::runtime::supervisor::Supervisor;
use engine::{ThreadActivity, activities};
use tokio::runtime::Handle;

use self::processor_waits::ProcessorWaits;
use crate::app::shutdown_signals;

/// The exit code of a process whose runtime hung: start it again. `EX_TEMPFAIL` of sysexits.h.
pub(crate) const HUNG: u8 = 75;
/// Threads named in the log at most. Judgement: workers are as many as processors.
const THREADS_LOGGED: usize = 64;

/// Called once when the runtime hangs, on the watchdog's thread, with how long it was watched.
pub type OnHang = Arc<dyn Fn(Duration) + Send + Sync>;

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    /// Never sent to: its end ends the thread.
    _stop: SyncSender<()>,
}

impl Watchdog {
    /// Begins to watch the runtime that this is called on, and these others.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(limits: &HostPolicy, on_hang: OnHang, others: &[Handle]) -> std::io::Result<Self> {
        let limits = SilenceLimits {
            every: limits.watchdog_every,
            own: limits.watchdog_limit,
            starved: limits.watchdog_starved_limit,
        };
        let (stop, stopped) = sync_channel(1);
        // A scope of its own: shutdown is watched too, and must not wait for the heartbeats.
        let scope = Supervisor::new();
        let here = Handle::current();
        let runtimes = std::iter::once(&here).chain(others);
        let mut watched: Vec<WatchedRuntime> = runtimes.map(|runtime| WatchedRuntime::new(runtime, &scope)).collect();
        std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            let begun = Instant::now();
            if watch(&mut watched, &stopped, limits) {
                log_threads("a runtime hangs; the process ends so that it can be started again");
                on_hang(begun.elapsed());
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

/// How long a runtime may be silent.
#[derive(Clone, Copy)]
struct SilenceLimits {
    /// Between two looks.
    every: Duration,
    /// While its threads had a processor.
    own: Duration,
    /// Whatever kept them from it.
    starved: Duration,
}

/// A runtime, and whether it runs what it is given.
struct WatchedRuntime {
    runtime: Handle,
    scope: Supervisor,
    /// Heartbeats that it was asked for, and those that it gave.
    asked: u64,
    given: Arc<AtomicU64>,
    silence: Silence,
}

impl WatchedRuntime {
    fn new(runtime: &Handle, scope: &Supervisor) -> Self {
        let (runtime, scope, given) = (runtime.clone(), scope.clone(), Arc::default());
        Self { runtime, scope, asked: 0, given, silence: Silence::default() }
    }

    /// The silence after one more sleep of the watchdog.
    fn after(&mut self, sleep: Sleep) -> Silence {
        let (is_asleep, has_beaten) = (is_asleep(&self.runtime), self.given.load(Ordering::Acquire) == self.asked);
        if has_beaten && !is_asleep {
            self.asked += 1;
            let given = Arc::clone(&self.given);
            self.scope.spawn_draining_on(&self.runtime, "heartbeat", async move {
                given.fetch_add(1, Ordering::Release);
            });
        }
        self.silence = self.silence.after(has_beaten || is_asleep, sleep);
        self.silence
    }
}

/// Whether every worker of a runtime waits for events. Its counter is odd from when it goes to sleep until it wakes.
fn is_asleep(runtime: &Handle) -> bool {
    let metrics = runtime.metrics();
    (0..metrics.num_workers()).all(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1)
}

/// Returns when nobody needs the watch any more (false), or a runtime hangs (true).
fn watch(runtimes: &mut [WatchedRuntime], stopped: &Receiver<()>, limits: SilenceLimits) -> bool {
    let mut before = Instant::now();
    let mut waits = ProcessorWaits::default();
    let mut is_silent = false;
    loop {
        match stopped.recv_timeout(limits.every) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return false,
        }
        let now = Instant::now();
        let passed = now.duration_since(before);
        before = now;
        // Nothing is read of the threads while every runtime turns.
        let starved = if is_silent { waits.longest(passed) } else { Duration::ZERO };
        let sleep = Sleep::of(passed, starved, limits.every);
        is_silent = false;
        for runtime in &mut *runtimes {
            let silence = runtime.after(sleep);
            if silence.own >= limits.own || silence.in_all >= limits.starved {
                return true;
            }
            is_silent |= silence.in_all > Duration::ZERO;
        }
    }
}

/// What passed between two looks.
#[derive(Clone, Copy)]
struct Sleep {
    /// Time in which this process ran, as far as it counts.
    passed: Duration,
    /// How much of it a thread waited for a processor.
    starved: Duration,
}

impl Sleep {
    /// Of a sleep that was to last `every`, two of these count at most: the rest of a longer one this process did not run.
    fn of(passed: Duration, starved: Duration, every: Duration) -> Self {
        Self { passed: passed.min(every.saturating_mul(2)), starved }
    }
}

/// How long a runtime has been silent, as far as this process was running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Silence {
    /// While its threads had a processor.
    own: Duration,
    in_all: Duration,
}

impl Silence {
    /// The silence after one more sleep of the watchdog.
    const fn after(self, has_turned: bool, sleep: Sleep) -> Self {
        if has_turned {
            return Self { own: Duration::ZERO, in_all: Duration::ZERO };
        }
        let own = self.own.saturating_add(sleep.passed.saturating_sub(sleep.starved));
        Self { own, in_all: self.in_all.saturating_add(sleep.passed) }
    }
}

/// Ends this process, so that whoever started it starts it again: a bridge, a service manager.
pub(crate) fn end_hung(_watched: Duration) {
    end_process(if shutdown_signals::has_asked_to_end() { 130 } else { HUNG });
}

/// Ends this process with this code; aborts it if exit handlers hang as well.
pub(crate) fn end_process(code: u8) {
    let ender = std::thread::Builder::new().spawn(move || std::process::exit(i32::from(code)));
    if ender.is_ok() {
        std::thread::park_timeout(HostPolicy::default().watchdog_farewell);
    }
    std::process::abort();
}

/// Replaces this process by a new one with the same arguments, for a window that nothing else would restart. A process
/// that hangs right after its start ends instead, so that it does not restart for ever.
pub fn restart_process(watched: Duration) {
    if shutdown_signals::has_asked_to_end() || watched < HostPolicy::default().restart_least_life {
        end_hung(watched);
    }
    #[cfg(unix)]
    if let Ok(program) = crate::os::own_program::own_program() {
        use std::os::unix::process::CommandExt as _;
        // Returns only when it failed. Files, locks and sockets of this process close with it.
        let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
        tracing::error!(%error, "the program could not be started again");
    }
    end_hung(watched);
}

/// Logs what every worker does, on a thread of its own with a limit, because the log may be what hangs.
pub(crate) fn log_threads(why: &'static str) {
    let (limits, before) = (HostPolicy::default(), activities());
    let farewell = limits.watchdog_farewell;
    let (written, is_written) = sync_channel(1);
    let logging = std::thread::Builder::new().spawn(move || {
        std::thread::park_timeout(limits.watchdog_reading_gap);
        tracing::error!(threads = %describe(&before, &activities()), "{why}");
        let _ = written.send(());
    });
    if logging.is_ok() {
        let _ = is_written.recv_timeout(farewell);
    }
}

fn describe(before: &[ThreadActivity], now: &[ThreadActivity]) -> String {
    let mut text = String::new();
    for thread in now.iter().take(THREADS_LOGGED) {
        let is_held = thread.task.is_some() && before.contains(thread);
        let task = thread.task.unwrap_or("nothing");
        let number = thread.thread.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let held = if is_held { ", in one turn" } else { "" };
        let system = thread.thread.map(system_state).unwrap_or_default();
        // Writing to a text never fails.
        let _ = write!(text, "[thread {number}: {task}{held}{system}] ");
    }
    text
}

/// State and place of a thread as the kernel reports them: `R` runs, `S` sleeps, `D` waits for a device.
fn system_state(thread: u32) -> String {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/self/task/{thread}/{name}")).unwrap_or_default();
    let stat = read("stat");
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("?").to_owned();
    let call = read("syscall");
    let call = call.split_whitespace().next().unwrap_or("?");
    let place = read("wchan");
    let place = if place.is_empty() || place == "0" { "-" } else { place.as_str() };
    format!(", state {state}, system call {call}, waits in {place}")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::http::door_threads::DoorThreads;

    const EVERY: Duration = Duration::from_millis(20);

    fn limits() -> HostPolicy {
        HostPolicy {
            watchdog_every: EVERY,
            watchdog_limit: EVERY * 10,
            watchdog_starved_limit: EVERY * 100,
            ..HostPolicy::default()
        }
    }

    fn two_workers() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
    }

    /// What a hang told.
    fn told(tell: SyncSender<()>) -> OnHang {
        Arc::new(move |_| {
            let _ = tell.try_send(());
        })
    }

    #[test]
    fn tasks_that_hold_every_worker_are_noticed_and_named() {
        let runtime = two_workers();
        let supervisor = Supervisor::new();
        let (tell, is_told) = sync_channel(1);
        let over = Arc::new(AtomicBool::new(false));
        let guard = runtime.enter();
        let watchdog = Watchdog::start(&limits(), told(tell), &[]).expect("a thread");
        for _ in 0..2 {
            let over = Arc::clone(&over);
            supervisor.spawn("spins", async move {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let noticed = is_told.recv_timeout(Duration::from_secs(60));
        let named = describe(&activities(), &activities());
        over.store(true, Ordering::Relaxed);
        drop(guard);
        assert_eq!(noticed, Ok(()), "the hang is noticed");
        assert!(named.matches("spins, in one turn").count() >= 2, "both are named: {named}");
        drop(watchdog);
    }

    #[test]
    fn a_door_thread_that_does_not_turn_is_noticed_and_named() {
        let runtime = two_workers();
        let (doors, supervisor) = (DoorThreads::start().expect("threads"), Supervisor::new());
        let (tell, is_told) = sync_channel(1);
        let over = Arc::new(AtomicBool::new(false));
        let guard = runtime.enter();
        let watchdog = Watchdog::start(&limits(), told(tell), doors.runtimes()).expect("a thread");
        let spins = Arc::clone(&over);
        supervisor.spawn_draining_on(doors.next().expect("a thread"), "connection", async move {
            while !spins.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let noticed = is_told.recv_timeout(Duration::from_secs(60));
        let named = describe(&activities(), &activities());
        over.store(true, Ordering::Relaxed);
        drop(guard);
        assert_eq!(noticed, Ok(()), "the hang is noticed though the shared runtime turns");
        assert!(named.contains("connection, in one turn"), "it is named: {named}");
        drop(watchdog);
    }

    #[test]
    fn a_runtime_that_works_hard_and_yields_does_not_hang() {
        let runtime = two_workers();
        let supervisor = Supervisor::new();
        let (tell, is_told) = sync_channel(1);
        let guard = runtime.enter();
        let limits = HostPolicy { watchdog_limit: Duration::from_secs(2), ..limits() };
        let watchdog = Watchdog::start(&limits, told(tell), &[]).expect("a thread");
        for _ in 0..8 {
            supervisor.spawn("works", async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
        }
        let noticed = is_told.recv_timeout(limits.watchdog_limit * 2);
        assert!(noticed.is_err(), "it turns");
        drop(watchdog);
        supervisor.cancel();
        drop(guard);
    }

    #[test]
    fn a_runtime_without_work_is_left_asleep() {
        let runtime = two_workers();
        let (scope, mut slept) = (Supervisor::new(), false);
        let mut watched = WatchedRuntime::new(runtime.handle(), &scope);
        let until = Instant::now() + Duration::from_secs(60);
        while !slept && Instant::now() < until {
            std::thread::yield_now();
            slept = is_asleep(runtime.handle());
        }
        assert!(slept, "its workers go to sleep");
        for _ in 0..3 {
            assert_eq!(watched.after(slept_for(EVERY)), Silence::default(), "it is well");
        }
        assert_eq!(watched.asked, 0, "and nothing was given to it");
    }

    #[test]
    fn a_pause_of_the_whole_process_is_not_taken_for_a_hang() {
        let hour = Duration::from_secs(3_600);
        let silence = Silence::default().after(false, Sleep::of(hour, Duration::ZERO, EVERY));
        assert_eq!(silence.in_all, EVERY * 2, "a laptop that slept has lost two intervals at most");
        assert_eq!(silence.after(false, slept_for(EVERY)).own, EVERY * 3, "from then on it counts again");
        assert_eq!(silence.after(true, slept_for(EVERY)), Silence::default(), "until the next beat");
    }

    #[test]
    fn time_in_which_a_thread_waits_for_a_processor_counts_for_the_longer_limit_only() {
        let (mut silence, starved) = (Silence::default(), Sleep { passed: EVERY, starved: EVERY * 3 / 4 });
        for _ in 0..8 {
            silence = silence.after(false, starved);
        }
        assert_eq!(silence, Silence { own: EVERY * 2, in_all: EVERY * 8 }, "it had a quarter of a processor");
        let alone = silence.after(false, Sleep { passed: EVERY, starved: EVERY * 2 });
        assert_eq!(alone.own, silence.own, "a wait that is longer than the sleep takes nothing away from what was");
    }

    const fn slept_for(passed: Duration) -> Sleep {
        Sleep { passed, starved: Duration::ZERO }
    }
}
