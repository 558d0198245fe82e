//! What a connection remembers, each table on its own: open calls, questions, results and subscriptions.
//!
//! Only data and its invariants. What is sent, and when, is in the files that use a table.

pub(crate) mod call_table;
pub(crate) mod open_questions;
pub(crate) mod result_table;
pub(crate) mod subscription_filter;
pub(crate) mod subscription_leases;
pub(crate) mod task_subscription;
