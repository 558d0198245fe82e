//! Logs: to standard error for the person at the terminal, and to a bounded set of files in the data directory.
//!
//! Types with secrets, arguments, answers, results or upstream ids redact themselves in `Debug`, so nothing is filtered
//! here. A log that cannot be written never stops the core, and no place in the program can fill it (`rate_limit.rs`).

mod rate_limit;
mod rotating_file;

use std::io;

use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::config::Config;
use rate_limit::LineLimit;
use rotating_file::RotatingFile;

/// Starts logging for a core. Standard error shows warnings unless a filter is configured; the file shows lifecycle.
///
/// # Errors
/// When the folder of logs cannot be made or written.
pub(crate) fn start(config: &Config) -> io::Result<()> {
    let hosting = &config.policy.hosting;
    let file = RotatingFile::open(config.paths.logs(), hosting.log_file_bytes, hosting.log_files_kept)?;
    let filter = |fallback: &str| -> Targets {
        let wanted: Targets = config.log.as_deref().unwrap_or(fallback).parse().unwrap_or_else(|_| Targets::new());
        // The library that signs in to servers logs codes and what issuers answer.
        wanted.with_target("rmcp", LevelFilter::OFF)
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
