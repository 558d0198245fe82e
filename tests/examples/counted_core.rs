//! The `taskwarden` program with an allocator that counts, for `gateway_cost`.
//!
//! Argument for argument it is the program that ships, but for the allocator: the system's, with a counter in front.
//! Whoever connects to the socket named in `COUNTED_CORE_AT` gets the counts as one line: allocations (those that grow
//! or shrink among them) and bytes. Times of this program mean nothing.

use std::alloc::System;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Answers on a thread that only wakes up when somebody asks.
fn tell(listener: &UnixListener) {
    for mut asker in listener.incoming().flatten() {
        let stats = ALLOCATOR.stats();
        let _ = writeln!(asker, "{} {}", stats.allocations + stats.reallocations, stats.bytes_allocated);
    }
}

fn main() -> ExitCode {
    // What the core starts inherits the name, and does not get the socket.
    if let Some(listener) = std::env::var_os("COUNTED_CORE_AT").and_then(|at| UnixListener::bind(at).ok()) {
        std::thread::spawn(move || tell(&listener));
    }
    host::cli::run_with(std::env::args_os(), |adapters| adapters)
}
