//! Connections to servers, the calls in flight over them, and who holds a lease.
//!
//! State only: the actor that opens and polls a connection is `servers/actor.rs`. Start with `connection.rs`.

pub(crate) mod call_log;
pub(crate) mod call_reply;
pub(crate) mod connection;
pub(crate) mod connection_key;
pub(crate) mod freeze;
pub(crate) mod in_flight_call;
pub(crate) mod kept_processes;
pub(crate) mod lease;
pub(crate) mod live_connection;
pub(crate) mod observed;
pub(crate) mod pool;
pub(crate) mod process_end;
pub(crate) mod server_names;
pub(crate) mod task_needs;
pub(crate) mod wait;
