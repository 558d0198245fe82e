//! Everything that writes: one connection, one transaction for all changes that wait, one sync to the disk for each.
//!
//! A [`mutation::Mutation`] goes through a channel to `writer.rs`, which owns the connection and decides what is committed
//! together; `transaction.rs` turns a group into statements, `task_commit.rs` those of one task. `cache.rs` spares reads,
//! `reserve.rs` and `health.rs` are for full and failing disks. Encoding and sealing happen before, in `tables/`.

pub(crate) mod cache;
pub(crate) mod health;
pub(crate) mod hidden_tasks;
pub(crate) mod mutation;
pub(crate) mod receipt_batches;
pub(crate) mod removal;
pub(crate) mod reseal;
pub(crate) mod reserve;
pub(crate) mod task_commit;
pub(crate) mod transaction;
pub(crate) mod writer;
