//! What the desktop window and its tray need from us: routes, menu labels, the current time, and whether a window is
//! open already.
//!
//! Shows and opens nothing itself; that is the shell's part.

pub mod menu_labels;
#[cfg(target_os = "linux")]
pub mod open_window;
pub mod routes;
pub mod window_clock;
