//! The `taskwarden` program as a person uses it: arguments in, text and exit code out, against the built-in demo server.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may fall over")]

mod agents;
mod background;
mod bridge;
mod broken;
mod browser;
mod budget;
mod doors;
mod home;
mod impostors;
mod listener;
mod notices;
mod story;
mod survival;
mod window;
