//! Who uses an agent's own line, since when nobody does, and what its agent can be asked.
//!
//! Ending a line and entering it exclude each other here, so that nobody is left holding a line that is gone. When a
//! line is ended is the follower's to see (`follow.rs`), who may enter it `lines.rs`'s.

use std::time::Duration;

use domain::ports::Abilities;
use parking_lot::Mutex;
use tokio::time::Instant;

struct State {
    holders: usize,
    /// When the last holder left, or the line was opened.
    idle_since: Instant,
    /// Ended; nobody enters any more.
    ended: bool,
    /// Its agent lost its access: it is ended as soon as nothing is going on.
    unwanted: bool,
    abilities: Abilities,
}

/// The use of one line.
pub(crate) struct Usage(Mutex<State>);

impl Default for Usage {
    fn default() -> Self {
        let idle_since = Instant::now();
        let abilities = Abilities::default();
        Self(Mutex::new(State { holders: 0, idle_since, ended: false, unwanted: false, abilities }))
    }
}

impl Usage {
    /// Takes hold of the line; false when it was ended.
    pub(crate) fn enter(&self) -> bool {
        let mut state = self.0.lock();
        if !state.ended {
            state.holders += 1;
        }
        !state.ended
    }

    /// Lets go of it.
    pub(crate) fn leave(&self) {
        let mut state = self.0.lock();
        state.holders = state.holders.saturating_sub(1);
        state.idle_since = Instant::now();
    }

    /// When it may be ended, unless somebody enters before; `None` while it is held.
    pub(crate) fn ends_at(&self, patience: Duration) -> Option<Instant> {
        let state = self.0.lock();
        let patience = if state.unwanted { Duration::ZERO } else { patience };
        (state.holders == 0).then(|| state.idle_since + patience)
    }

    /// Ends it, unless somebody entered.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.0.lock();
        state.ended |= state.holders == 0;
        state.ended
    }

    /// Its agent lost its access.
    pub(crate) fn unwanted(&self) {
        self.0.lock().unwanted = true;
    }

    /// What its agent can be asked, for the next connection.
    pub(crate) fn can(&self, abilities: Abilities) {
        self.0.lock().abilities = abilities;
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.0.lock().abilities
    }
}
