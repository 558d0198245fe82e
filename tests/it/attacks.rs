//! What an outside review broke, tried again on the real program over real sockets: one test for each way in.
//!
//! Each test fails on the code that the review was made of. The fixes themselves are tested in the crates.

mod audit_rows;
mod client_names;
mod far_polls;
mod foreign_user;
mod late_results;
mod open_calls;
mod parallel_calls;
mod patterns;
mod server_words;
mod sick_disks;

use std::time::{Duration, Instant};

/// What issue 11 calls at once, with room for a machine that is half as fast and busy.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(10);

/// Does something that has to be answered at once, and prints how long it took.
pub(crate) fn at_once<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = act();
    let took = begun.elapsed();
    println!("{what}: {took:?}");
    assert!(took < AT_ONCE, "{what} took {took:?}");
    done
}
