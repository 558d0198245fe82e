//! The `taskwarden` program. Everything is in `host::cli`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A core serves calls on several threads at once, where the C library's allocator takes a fifth of a call's time. The
/// window keeps that of the C library, which GTK and `WebKit` expect.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    host::cli::run()
}
