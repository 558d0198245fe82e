//! Logs: to standard error for the person at the terminal, and to a bounded set of files in the data directory.
//!
//! Types that carry secrets, arguments, answers, results or upstream ids redact themselves in `Debug`, so nothing has to
//! be filtered here; there is no layer that searches text. A log that cannot be written never stops the core, and no
//! place of the program can fill it (`limit.rs`).

mod limit;
mod rotating;

use std::io;

use tracing_subscriber::filter::{FilterExt as _, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::config::Config;
use limit::LineLimit;
use rotating::RotatingFile;

/// Starts logging for a core. Standard error shows warnings unless a filter is configured; the file shows lifecycle.
///
/// # Errors
/// When the folder of logs cannot be made or written.
pub(crate) fn start(config: &Config) -> io::Result<()> {
    let hosting = &config.policy.hosting;
    let file = RotatingFile::open(config.paths.logs(), hosting.log_file_bytes, hosting.log_files_kept)?;
    let filter = |fallback: &str| -> Targets {
        config.log.as_deref().unwrap_or(fallback).parse().unwrap_or_else(|_| Targets::new())
    };
    let terminal = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(console::colors_enabled_stderr())
        .with_target(false)
        .without_time()
        .with_filter(filter("warn"));
    let limit = LineLimit::new(file.clone(), hosting);
    let kept = fmt::layer().with_writer(file).with_ansi(false).with_filter(filter("info").and(limit));
    // A second start in one process (tests) keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(terminal).with(kept).try_init();
    Ok(())
}
