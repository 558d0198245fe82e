//! Cards on macOS and Windows. Not run here.
//!
//! The system shows the text and returns no number, so a card cannot be replaced or withdrawn, and has no buttons. Read
//! `bus.rs` for what a desktop can do.

use engine::runtime::supervisor::Supervisor;
use notify_rust::Notification;
use tokio::sync::mpsc::Sender;

use super::CardPress;
use crate::notifications::card_plan::{CardKey, NotificationCard};

/// The system always has a service.
pub(crate) async fn is_there() -> bool {
    true
}

/// The system's cards.
pub(crate) struct PlainCards;

impl PlainCards {
    pub(crate) fn new(_can_open: bool, _presses: Sender<(CardKey, CardPress)>, _supervisor: Supervisor) -> Self {
        Self
    }

    /// Shows a card. Whether the system took it.
    pub(crate) async fn show(&mut self, card: &NotificationCard) -> bool {
        let mut message = Notification::new();
        message.appname("Taskwarden").summary(&card.title).body(&card.body);
        let (said, heard) = tokio::sync::oneshot::channel();
        let shown = std::thread::Builder::new().name("notices".into()).spawn(move || {
            let _ = said.send(message.show().is_ok());
        });
        shown.is_ok() && heard.await.unwrap_or(false)
    }

    pub(crate) async fn withdraw(&mut self, _key: CardKey) {}

    pub(crate) fn forget(&mut self, _key: CardKey) {}
}
