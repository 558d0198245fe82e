//! The cards of this desktop, by their keys: show, replace, withdraw, and what a person does with them.
//!
//! What to show is decided in `card_plan.rs`. A desktop that accepts no card is logged once and tried again with every
//! card, because notification services may start late. `desktop/` has one file per system.

#[cfg(all(unix, not(target_os = "macos")))]
mod bus;
#[cfg(not(all(unix, not(target_os = "macos"))))]
mod other_platforms;

use domain::policy::HostPolicy;
use engine::runtime::supervisor::Supervisor;
use tokio::sync::mpsc::{Receiver, channel};

#[cfg(all(unix, not(target_os = "macos")))]
use bus::{self as system, BusCards as SystemCards};
#[cfg(not(all(unix, not(target_os = "macos"))))]
use other_platforms::{self as system, PlainCards as SystemCards};

use super::DesktopReach;
use crate::notifications::card_plan::{CardChange, CardKey};

/// What a person did with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CardPress {
    /// Clicked it, or *Open*.
    Open,
    /// Closed it, or it expired.
    Closed,
}

/// The cards on the screen.
pub(crate) struct Desktop {
    cards: SystemCards,
    reach: DesktopReach,
    hosting: HostPolicy,
    told_missing: bool,
}

impl Desktop {
    /// The desktop of this session, and the presses on its cards. `can_open`: there is a window to open things in.
    pub(crate) fn new(
        reach: DesktopReach,
        can_open: bool,
        hosting: &HostPolicy,
        supervisor: &Supervisor,
    ) -> (Self, Receiver<(CardKey, CardPress)>) {
        // Room for a press on each card on the screen and more; a press waits if it is full.
        let (presses, pressed) = channel(hosting.notices_waiting_max);
        let cards = SystemCards::new(can_open, presses, supervisor.clone());
        (Self { cards, reach, hosting: hosting.clone(), told_missing: false }, pressed)
    }

    /// Checks whether this session has a notification service.
    pub(crate) async fn check(&mut self) {
        let is_there = tokio::time::timeout(self.hosting.notice_limit, system::is_there()).await;
        self.reach.note(is_there.unwrap_or(false), &mut self.told_missing);
    }

    /// Shows or takes away.
    pub(crate) async fn perform(&mut self, act: CardChange) {
        match act {
            CardChange::Show(card) => {
                let shown = tokio::time::timeout(self.hosting.notice_limit, self.cards.show(&card)).await;
                self.reach.note(shown.unwrap_or(false), &mut self.told_missing);
            }
            CardChange::Withdraw(key) => {
                // A desktop that does not answer keeps its card; nothing else waits for it.
                let _ = tokio::time::timeout(self.hosting.notice_limit, self.cards.withdraw(key)).await;
            }
        }
    }

    /// Forgets a card that is no longer on the screen.
    pub(crate) fn forget(&mut self, key: CardKey) {
        self.cards.forget(key);
    }
}
