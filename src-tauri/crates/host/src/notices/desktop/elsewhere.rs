//! Cards on macOS and Windows. Not run here.
//!
//! The system shows the words; it gives no number back, so a card is not replaced, not taken away and has no buttons.
//! Read `bus.rs` for what a desktop can do.

use engine::runtime::supervisor::Supervisor;
use notify_rust::Notification;
use tokio::sync::mpsc::Sender;

use super::Press;
use crate::notices::plan::{Card, Key};

/// The system always has a service.
pub(super) async fn is_there() -> bool {
    true
}

/// The system's cards.
pub(super) struct Cards;

impl Cards {
    pub(super) fn new(_can_open: bool, _presses: Sender<(Key, Press)>, _supervisor: Supervisor) -> Self {
        Self
    }

    /// Shows a card. Whether the system took it.
    pub(super) async fn show(&mut self, card: &Card) -> bool {
        let mut message = Notification::new();
        message.appname("Taskwarden").summary(&card.title).body(&card.body);
        let (said, heard) = tokio::sync::oneshot::channel();
        let shown = std::thread::Builder::new().name("notices".into()).spawn(move || {
            let _ = said.send(message.show().is_ok());
        });
        shown.is_ok() && heard.await.unwrap_or(false)
    }

    pub(super) async fn withdraw(&mut self, _key: Key) {}

    pub(super) fn forget(&mut self, _key: Key) {}
}
