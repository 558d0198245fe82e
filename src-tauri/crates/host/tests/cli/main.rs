//! The `taskwarden` program as a person uses it: arguments in, text and exit code out, against the built-in demo server.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may fall over")]

mod access;
mod agents;
mod anchors;
mod audit;
mod audit_proofs;
mod background;
mod bridge;
mod broken;
mod browser;
mod budget;
mod cancelled_call;
mod clients;
mod concealment;
mod control;
mod control_commands;
mod halt;
mod home;
mod impostors;
mod left_entries;
mod listener;
mod notifications;
mod resolve;
mod storage;
mod story;
mod survival;
mod window;
