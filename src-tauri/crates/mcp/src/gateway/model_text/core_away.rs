//! What the bridge answers when there is no core: none runs, it went away, or it does not admit this agent.

/// Taskwarden is not running, and a person said that agents may not start it.
#[must_use]
pub fn start_not_allowed() -> String {
    "Taskwarden is not running, and its settings do not let agents start it. Ask the user to start it, then try again."
        .to_owned()
}

/// Taskwarden was started and ended at once.
#[must_use]
pub fn could_not_start(how: &str) -> String {
    format!("Taskwarden could not be started ({how}). Ask the user to run `taskwarden doctor`, which says why.")
}

/// Taskwarden is there and does not answer.
#[must_use]
pub fn unreachable() -> String {
    "Taskwarden cannot be reached. Ask the user to run `taskwarden doctor`, which says why.".to_owned()
}

/// The core went away, and too much was open to ask the next one for it.
#[must_use]
pub fn too_much_open() -> String {
    "Taskwarden was restarted, and too much was open to ask for all of it again.".to_owned()
}

/// The core does not let this agent in; `why` is its own sentence.
#[must_use]
pub fn not_let_in(why: &str) -> String {
    if why.ends_with('.') {
        // A sentence for models already.
        return why.to_owned();
    }
    format!("Taskwarden does not let this agent in: {why}. End your turn and tell the user.")
}

/// A call that was given to a core before it went away.
#[must_use]
pub fn call_unconfirmed(why: &str) -> String {
    format!("{why} It is not known whether the call was made: check that before you repeat it.")
}

/// A call that no core ever had.
#[must_use]
pub fn call_not_made(why: &str) -> String {
    format!("{why} The call was not made.")
}
