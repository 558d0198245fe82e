//! Calls about the core itself: health, limits in use, storage, the audit log, browser sessions.
//!
//! Nothing here is about one task, agent or server.

pub mod anchors;
pub mod audit;
pub mod checkpoints;
pub mod data_folder;
pub mod doctor;
pub mod export;
pub mod findings;
pub mod limits;
pub mod ping;
pub mod receipts;
pub mod report;
pub mod sessions;
pub mod sinks;
pub mod storage;
