//! What the operating system provides: the lock of a data directory, clock, randomness, signals, users, processes and the search path.
//!
//! Each file hides one difference between systems. Nothing here knows tasks or decides who may do what.

pub(crate) mod anchors;
pub(crate) mod concealment;
pub(crate) mod core_lock;
pub(crate) mod disk_room;
pub(crate) mod folder_origin;
pub(crate) mod observed_clock;
pub(crate) mod open_files;
pub(crate) mod orphans;
pub(crate) mod own_program;
pub(crate) mod process_table;
pub(crate) mod program_lookup;
pub(crate) mod random;
pub(crate) mod user;
