//! Limits how often one place in the program may log, so that nobody can rotate the log away by making it repeat
//! itself.
//!
//! Each place has a burst and a slow refill, and so has each peer or reason at that place. What is left out is counted,
//! and the count is written before the next line of that place. Errors have a larger limit. Of a line it reads only the
//! fields that say who and why.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::time::{Duration, Instant};

use domain::policy::HostPolicy;
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

use crate::logging::rotating_file::RotatingFile;

/// Fields that say who caused a line, or why it was written.
const WHO_AND_WHY: [&str; 6] = ["peer.pid", "peer.uid", "why", "reason", "server.name", "call.name"];

/// How many lines one place, or one peer at a place, may still write.
struct Bucket {
    lines: f64,
    at: Instant,
    left_out: u64,
}

impl Bucket {
    /// Takes one line from the bucket, if one is left.
    fn take(&mut self, now: Instant, burst: u32, refill: Duration) -> bool {
        let refilled = now.saturating_duration_since(self.at).as_secs_f64() / refill.as_secs_f64();
        self.lines = (self.lines + refilled).min(f64::from(burst));
        self.at = now;
        let may = self.lines >= 1.0;
        if may {
            self.lines -= 1.0;
        }
        may
    }
}

/// A place in the program, and a hash of who caused the line (0: anybody).
type Source = (String, u64);

/// Passes lines to the file until their source has used up its share.
pub(crate) struct LineLimit {
    sources: Mutex<HashMap<Source, Bucket>>,
    file: RotatingFile,
    hasher: RandomState,
    burst: u32,
    refill: Duration,
    sources_max: usize,
}

impl LineLimit {
    pub(crate) fn new(file: RotatingFile, hosting: &HostPolicy) -> Self {
        Self {
            sources: Mutex::default(),
            file,
            hasher: RandomState::new(),
            burst: hosting.log_burst_lines,
            refill: hosting.log_line_every,
            sources_max: hosting.log_sources_max,
        }
    }

    /// Whether this line may be written. If lines like it were left out, writes how many first.
    fn try_admit(&self, place: &str, cause: u64, is_error: bool, now: Instant) -> bool {
        let burst = if is_error { self.burst.saturating_mul(4) } else { self.burst };
        let mut sources = self.sources.lock();
        if sources.len() >= self.sources_max {
            // Peers can make up causes without end; places are few and fixed.
            sources.retain(|(_, cause), _| *cause == 0);
        }
        let full = || Bucket { lines: f64::from(burst), at: now, left_out: 0 };
        if cause != 0 {
            // One cause gets a quarter of its place, so that it cannot silence the others.
            let share = (burst / 4).max(1);
            let of_cause = sources.entry((place.to_owned(), cause)).or_insert_with(|| Bucket {
                lines: f64::from(share),
                at: now,
                left_out: 0,
            });
            if !of_cause.take(now, share, self.refill) {
                sources.entry((place.to_owned(), 0)).or_insert_with(full).left_out += 1;
                return false;
            }
        }
        let of_place = sources.entry((place.to_owned(), 0)).or_insert_with(full);
        if !of_place.take(now, burst, self.refill) {
            of_place.left_out += 1;
            return false;
        }
        let left_out = std::mem::take(&mut of_place.left_out);
        drop(sources);
        if left_out > 0 {
            let mut file = self.file.clone();
            // A log that cannot be written never stops the core.
            let _ = writeln!(file, "… {left_out} lines like the next one were left out ({place})");
        }
        true
    }
}

/// Hashes the fields that say who and why.
struct Causes {
    hasher: std::hash::DefaultHasher,
    any: bool,
}

impl Visit for Causes {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if WHO_AND_WHY.contains(&field.name()) {
            self.any = true;
            self.hasher.write(format!("{value:?}").as_bytes());
        }
    }
}

impl<S: Subscriber> Filter<S> for LineLimit {
    fn enabled(&self, _meta: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _context: &Context<'_, S>) -> bool {
        let meta = event.metadata();
        let place = format!("{}:{}", meta.target(), meta.line().unwrap_or_default());
        let mut causes = Causes { hasher: self.hasher.build_hasher(), any: false };
        event.record(&mut causes);
        let cause = if causes.any { causes.hasher.finish().max(1) } else { 0 };
        self.try_admit(&place, cause, *meta.level() == Level::ERROR, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(folder: &std::path::Path) -> LineLimit {
        let file = RotatingFile::open(folder.join("logs"), 1 << 20, 1).expect("a log");
        LineLimit::new(file, &HostPolicy { log_burst_lines: 8, log_sources_max: 100, ..HostPolicy::default() })
    }

    #[test]
    fn one_place_cannot_fill_the_log_and_says_what_was_left_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let limit = limit(dir.path());
        let now = Instant::now();
        let through = (0..10_000).filter(|_| limit.try_admit("a:1", 0, false, now)).count();
        assert_eq!(through, 8, "a burst and no more");
        assert!(limit.try_admit("b:1", 0, false, now), "another place is not concerned");
        assert!(limit.try_admit("a:1", 0, false, now + limit.refill), "later it may say something again");
        let log = std::fs::read_to_string(dir.path().join("logs/taskwarden.log")).expect("the log");
        assert!(log.contains("9992 lines like the next one were left out (a:1)"), "{log}");
    }

    #[test]
    fn one_peer_does_not_silence_another_and_made_up_peers_do_not_fill_the_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let limit = limit(dir.path());
        let now = Instant::now();
        let through = (0..1_000).filter(|_| limit.try_admit("a:1", 7, false, now)).count();
        assert_eq!(through, 2, "one peer has a quarter");
        assert!(limit.try_admit("a:1", 8, false, now), "another is heard");
        for peer in 100..100_000 {
            limit.try_admit("a:1", peer, false, now);
        }
        assert!(limit.sources.lock().len() <= 101, "what is remembered is bounded");
    }
}
