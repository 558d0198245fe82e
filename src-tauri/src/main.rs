//! The window of Taskwarden, and the built-in demo server under the same name.
//!
//! It only calls the library of this crate: `lib.rs` says what there is.

use std::process::ExitCode;

fn main() -> ExitCode {
    desktop::run()
}
