//! The cards of this desktop, by their keys: show, replace, withdraw, and what a person does with them.
//!
//! What to show is `plan.rs`'s. A desktop without a notification service is an outcome that is told once in the log
//! and to the window; it is tried again with every card, because services start late. `desktop/` has the systems.

#[cfg(all(unix, not(target_os = "macos")))]
mod bus;
#[cfg(not(all(unix, not(target_os = "macos"))))]
mod elsewhere;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use domain::policy::Hosting;
use engine::supervisor::Supervisor;
use tokio::sync::mpsc::{Receiver, channel};

#[cfg(all(unix, not(target_os = "macos")))]
use bus::Cards;
#[cfg(not(all(unix, not(target_os = "macos"))))]
use elsewhere::Cards;

use super::plan::{Act, Key};

/// What a person did with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Press {
    /// Clicked it, or *Open*.
    Open,
    /// *Not now*.
    Later,
    /// *Yes*.
    Yes,
    /// *No*.
    No,
    /// Took it away, or it went by itself.
    Closed,
}

/// Whether people can be told here. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Reach(Arc<AtomicU8>);

/// Switched off in the configuration.
const OFF: u8 = 0;
/// There is no service, as far as is known.
const NONE: u8 = 1;
/// The last card was taken.
const DESKTOP: u8 = 2;

impl Reach {
    /// Not known yet, or off.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self(Arc::new(AtomicU8::new(if is_wanted { NONE } else { OFF })))
    }

    /// `desktop`, `none` or `off`, as the window shows it.
    pub(crate) fn word(&self) -> &'static str {
        match self.0.load(Ordering::Relaxed) {
            OFF => "off",
            DESKTOP => "desktop",
            _ => "none",
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.0.load(Ordering::Relaxed) == OFF
    }

    /// Notes what the desktop said; tells the log when that is new.
    fn note(&self, is_there: bool) {
        let before = self.0.swap(if is_there { DESKTOP } else { NONE }, Ordering::Relaxed);
        if is_there && before != DESKTOP {
            tracing::info!("the desktop shows notices");
        }
    }
}

/// The cards on the screen.
pub(crate) struct Desktop {
    cards: Cards,
    reach: Reach,
    hosting: Hosting,
    told_missing: bool,
}

impl Desktop {
    /// The desktop of this session, and what people do on it. `can_open`: there is a window to open things in.
    pub(crate) fn new(
        reach: Reach,
        can_open: bool,
        hosting: &Hosting,
        supervisor: &Supervisor,
    ) -> (Self, Receiver<(Key, Press)>) {
        // One press for each card on the screen, with room to spare; a press waits for its turn.
        let (presses, pressed) = channel(hosting.notices_waiting_max);
        let cards = Cards::new(can_open, presses, supervisor.clone());
        (Self { cards, reach, hosting: hosting.clone(), told_missing: false }, pressed)
    }

    /// Whether this session has a notification service. Asked once at the start.
    pub(crate) async fn look(&mut self) {
        if !self.reach.is_off() {
            let is_there = tokio::time::timeout(self.hosting.notice_limit, self.cards.is_there()).await;
            self.note(is_there.unwrap_or(false));
        }
    }

    /// Shows or takes away.
    pub(crate) async fn perform(&mut self, act: Act) {
        if self.reach.is_off() {
            return;
        }
        match act {
            Act::Show(card) => {
                let shown = tokio::time::timeout(self.hosting.notice_limit, self.cards.show(&card)).await;
                self.note(shown.unwrap_or(false));
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

    fn note(&mut self, is_there: bool) {
        self.reach.note(is_there);
        if !is_there && !self.told_missing {
            self.told_missing = true;
            tracing::warn!("this session has no notification service; the inbox and the tray still count");
        }
    }
}
