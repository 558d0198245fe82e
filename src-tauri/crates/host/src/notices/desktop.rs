//! The cards of this desktop, by their keys: show, replace, withdraw, and what a person does with them.
//!
//! What to show is `plan.rs`'s. A desktop that takes no card is told once in the log; it is tried again with
//! every card, because services start late. `desktop/` has the systems.

#[cfg(all(unix, not(target_os = "macos")))]
mod bus;
#[cfg(not(all(unix, not(target_os = "macos"))))]
mod elsewhere;

use domain::policy::HostPolicy;
use engine::runtime::supervisor::Supervisor;
use tokio::sync::mpsc::{Receiver, channel};

#[cfg(all(unix, not(target_os = "macos")))]
use bus as system;
#[cfg(not(all(unix, not(target_os = "macos"))))]
use elsewhere as system;

use super::Reach;
use super::plan::{Act, Key};

/// What a person did with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Press {
    /// Clicked it, or *Open*.
    Open,
    /// Took it away, or it went by itself.
    Closed,
}

/// The cards on the screen.
pub(crate) struct Desktop {
    cards: system::Cards,
    reach: Reach,
    hosting: HostPolicy,
    told_missing: bool,
}

impl Desktop {
    /// The desktop of this session, and what people do on it. `can_open`: there is a window to open things in.
    pub(crate) fn new(
        reach: Reach,
        can_open: bool,
        hosting: &HostPolicy,
        supervisor: &Supervisor,
    ) -> (Self, Receiver<(Key, Press)>) {
        // One press for each card on the screen, with room to spare; a press waits for its turn.
        let (presses, pressed) = channel(hosting.notices_waiting_max);
        let cards = system::Cards::new(can_open, presses, supervisor.clone());
        (Self { cards, reach, hosting: hosting.clone(), told_missing: false }, pressed)
    }

    /// Looks whether this session has a notification service.
    pub(crate) async fn look(&mut self) {
        let is_there = tokio::time::timeout(self.hosting.notice_limit, system::is_there()).await;
        self.reach.note(is_there.unwrap_or(false), &mut self.told_missing);
    }

    /// Shows or takes away.
    pub(crate) async fn perform(&mut self, act: Act) {
        match act {
            Act::Show(card) => {
                let shown = tokio::time::timeout(self.hosting.notice_limit, self.cards.show(&card)).await;
                self.reach.note(shown.unwrap_or(false), &mut self.told_missing);
            }
            Act::Withdraw(key) => {
                // A desktop that does not answer keeps its card; nothing else waits for it.
                let _ = tokio::time::timeout(self.hosting.notice_limit, self.cards.withdraw(key)).await;
            }
        }
    }

    /// Forgets a card that is no longer on the screen.
    pub(crate) fn forget(&mut self, key: Key) {
        self.cards.forget(key);
    }
}
