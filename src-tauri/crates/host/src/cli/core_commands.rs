//! Commands about the core itself: run it, check it, open its window in a browser, and hold a server's process for it.
//!
//! Starting is `app::compose`, checking is `doctor`; here are the arguments and what is printed.

pub(crate) mod doctor;
pub(crate) mod keeper;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod ui;
