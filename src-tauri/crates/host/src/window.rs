//! Text and addresses that the desktop window and its tray need from us: routes, menu labels, the current time.
//!
//! Shows and opens nothing itself; that is the shell's part.

pub mod menu_labels;
pub mod routes;
pub mod window_clock;
