//! Stories of the api on a paused clock: JSON in, JSON out, over a real engine with a scripted server.

#![expect(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests may fall over")]

mod agent_access;
mod agents;
mod agents_page;
mod alarms;
mod budget_days;
mod budgets;
mod contents;
mod desk;
mod doctor;
mod feed;
mod halts;
mod inbox_answers;
mod limits;
mod lists;
mod pause_choices;
mod reader;
mod reading;
mod servers;
mod sessions;
mod storage;
mod tasks;
mod tool_changes;
mod watching;
mod wire;
mod world;
