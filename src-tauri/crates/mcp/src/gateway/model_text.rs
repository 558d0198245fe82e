//! Every sentence of the gateway that only a model reads, in one place (ruling 47).
//!
//! Pure: facts in, text out. Words of servers stand in quotes, capped, and are said to be the server's. Who is told what,
//! and when, is decided where these are used.

pub(super) mod waiting;
