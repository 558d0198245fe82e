//! Why a call was not sent, or has no answer: limits, faults of this machine, servers that are away.
//!
//! None of them quotes a server's process or the registry; those words are for people. `engine_errors.rs` chooses the sentence
//! for what the engine did not do.

use std::time::Duration;

use domain::ports::RecordingFault;
use domain::server::halt::HaltedBy;
use engine::{HaltReason, Quota};

use super::{a_person, a_program, at};

/// A person cancelled a call before it was recorded.
pub(in crate::gateway) fn cancelled_unrecorded() -> &'static str {
    "A person cancelled this call in Taskwarden. The server was told to stop but does not confirm that, so the work may have \
     gone on or even finished; what it did is not undone. Do not repeat this call unless the user asks for it."
}

/// The agent has as many calls open on a server as one agent may.
pub(in crate::gateway) fn over_share(most: u64) -> String {
    format!(
        "This call was not sent: {most} calls of this agent are open on this server, the most one agent may have. Wait until \
         one of them ends, then call again."
    )
}

/// All agents together have as many calls open on a server as there may be.
pub(in crate::gateway) fn over_budget(most: u64) -> String {
    format!(
        "This call was not sent: {most} calls are open on this server, the most there may be. Wait until some of them end, \
         then call again."
    )
}

/// Too many agents have connections of their own.
pub(in crate::gateway) fn too_many_connections(most: usize) -> String {
    format!(
        "This call was not sent: agents have {most} connections of their own to servers open, the most there may be. Try \
         again later, or tell the user."
    )
}

/// What is stored of an agent or a server has reached its limit.
pub(in crate::gateway) fn over_quota(quota: Quota) -> String {
    format!(
        "This call was not sent: {}. The user can answer, release or cancel what is open, or raise the limit in Taskwarden.",
        quota.words()
    )
}

/// Nothing can be recorded, so nothing is sent.
pub(in crate::gateway) fn cannot_record(fault: RecordingFault) -> String {
    format!(
        "This call was not sent, because Taskwarden can record nothing: {}. The user sees in Taskwarden what to do.",
        fault.reason()
    )
}

/// A halt covers the call.
pub(in crate::gateway) fn halted(halted: &HaltReason) -> String {
    let next =
        "This call was not sent, and nothing ran. Do not repeat it: the user decides in Taskwarden when work goes on.";
    format!("{} {next}", who_halted(halted, "halted this work"))
}

/// A halt covers the questions of the task.
pub(in crate::gateway) fn frozen(halted: &HaltReason) -> String {
    let next = "No answer is taken meanwhile, and this one was not recorded. The user decides when it goes on.";
    format!("{} {next}", who_halted(halted, "froze the questions of this task"))
}

fn who_halted(halted: &HaltReason, did: &str) -> String {
    match halted {
        HaltReason::Ordered { at: when, by: Some(HaltedBy::Control(_)), reason } => {
            a_program(did, &at(*when), Some(reason))
        }
        HaltReason::Ordered { at: when, by: Some(HaltedBy::Person(_)), reason } => {
            a_person(did, &at(*when), Some(reason))
        }
        HaltReason::Ordered { at: when, by: None, .. } => format!("A file named HALT {did} {}.", at(*when)),
        HaltReason::Unreadable => "Taskwarden cannot read what is halted, so it sends nothing.".to_owned(),
    }
}

/// A person paused the agent or the server, and as many calls wait as may.
pub(in crate::gateway) fn too_many_waiting(most: usize) -> String {
    format!(
        "A person paused this agent or the server, and {most} calls wait until the pause ends. This call was not sent and \
         does not wait. Do not repeat it; wait for the others."
    )
}

/// The agent sends more requests in a second than it may.
pub(in crate::gateway) fn too_often() -> &'static str {
    "This agent sends more requests in a second than it may. Wait a few seconds, then send fewer."
}

/// The agent has too many requests in work.
pub(in crate::gateway) fn too_many_requests(most: usize) -> String {
    format!(
        "This agent has {most} requests in work, the most one agent may have. Wait until some of them are answered."
    )
}

/// There is no connection to the server.
pub(in crate::gateway) fn not_connected() -> &'static str {
    "The server is not connected now, so this was not sent. The user sees in Taskwarden why; go on without it or try later."
}

/// There is no connection to the server before a person signs in, agrees to it or changes it.
pub(in crate::gateway) fn waits_for_person() -> &'static str {
    "The server waits for the user, so this was not sent. Ask the user to look at it in Taskwarden, which says what it \
     needs (often a sign-in), then try again."
}

/// The server could not be reached, or the connection broke.
pub(in crate::gateway) fn unreachable() -> &'static str {
    "The server cannot be reached now. The user sees in Taskwarden why; go on without it or try later."
}

/// The server asked to be left alone for a while.
pub(in crate::gateway) fn rate_limited(after: Option<Duration>) -> String {
    let when = after.map_or_else(|| "Wait a while".to_owned(), |span| format!("Wait {} s", span.as_secs().max(1)));
    format!("The server asks for a pause. {when}, then try again.")
}

/// The server wants somebody to sign in.
pub(in crate::gateway) fn needs_sign_in() -> &'static str {
    "The server needs a person to sign in. Ask the user to do that in Taskwarden, then try again."
}

/// The server wants its client to have a capability.
pub(in crate::gateway) fn needs_capability() -> &'static str {
    "The server needs something of its client that is not declared here, so it does not do this."
}

/// The server has no such ability.
pub(in crate::gateway) fn unsupported(what: &str) -> String {
    format!("This server cannot {what}.")
}

/// The server's answer could not be read.
pub(in crate::gateway) fn unreadable() -> &'static str {
    "The server's answer could not be read, so it is not known what it did: check that before you repeat the call."
}

/// The server asked in more rounds than one request may.
pub(in crate::gateway) fn asks_without_end() -> &'static str {
    "The server asked the same request back too often, so Taskwarden gave it up."
}

/// The core is on its way down.
pub(in crate::gateway) fn stopping() -> &'static str {
    "Taskwarden is stopping. It is not known whether the server has this request: check that before you repeat it."
}

/// The registry could not be read or written.
pub(in crate::gateway) fn no_registry() -> &'static str {
    "Taskwarden cannot use its registry now. Try again in a moment; if it stays so, tell the user."
}
