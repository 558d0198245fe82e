//! Cards through `org.freedesktop.Notifications` on the session bus.
//!
//! The number that the service gave a card is kept, so that the next card replaces it. Each card has one waiting task
//! that ends with the card. Every program of the session can send the service's signals, so a card can only be opened
//! (ruling 42). Services differ: some show no buttons, some never report that a card is gone; nothing here depends on
//! either.

use std::collections::HashMap;
use std::sync::Arc;

use domain::task::Attention;
use engine::runtime::supervisor::Supervisor;
use notify_rust::{Hint, Notification, NotificationHandle, NotificationResponse, Timeout, Urgency};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::CardPress;
use crate::notifications::card_plan::{CardKey, NotificationCard};

/// Whether a service answers. Without a bus address nothing is asked, because asking would start a bus.
pub(crate) async fn is_there() -> bool {
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none_or(|address| address.is_empty()) {
        return false;
    }
    let (said, heard) = tokio::sync::oneshot::channel();
    // The library's call blocks, possibly for long: it gets a thread of its own.
    let asked = std::thread::Builder::new().name("notices".into()).spawn(move || {
        let _ = said.send(notify_rust::get_server_information().is_ok());
    });
    asked.is_ok() && heard.await.unwrap_or(false)
}

/// Cards on the screen, as far as is known.
pub(crate) struct BusCards {
    can_open: bool,
    presses: Sender<(CardKey, CardPress)>,
    supervisor: Supervisor,
    shown: HashMap<CardKey, Shown>,
}

struct Shown {
    handle: Arc<NotificationHandle>,
    _waiting: DropGuard,
}

impl BusCards {
    pub(crate) fn new(can_open: bool, presses: Sender<(CardKey, CardPress)>, supervisor: Supervisor) -> Self {
        Self { can_open, presses, supervisor, shown: HashMap::new() }
    }

    /// Shows a card, or replaces the one with its key. Whether the service took it.
    pub(crate) async fn show(&mut self, card: &NotificationCard) -> bool {
        let mut message = self.message(card);
        if let Some(before) = self.shown.get(&card.key) {
            message.id(before.handle.id());
        }
        match message.show_async().await {
            Ok(handle) => {
                let handle = Arc::new(handle);
                let waiting = self.wait(card.key, Arc::clone(&handle));
                self.shown.insert(card.key, Shown { handle, _waiting: waiting.drop_guard() });
                true
            }
            Err(error) => {
                tracing::debug!(%error, "the desktop did not accept a notification");
                false
            }
        }
    }

    /// Takes a card away.
    pub(crate) async fn withdraw(&mut self, key: CardKey) {
        if let Some(shown) = self.shown.remove(&key) {
            shown.handle.close_async().await;
        }
    }

    /// The card is no longer there.
    pub(crate) fn forget(&mut self, key: CardKey) {
        self.shown.remove(&key);
    }

    fn message(&self, card: &NotificationCard) -> Notification {
        let mut message = Notification::new();
        message.appname("Taskwarden").summary(&card.title).body(&card.body).icon("taskwarden");
        message.timeout(Timeout::Default).hint(Hint::DesktopEntry("taskwarden".into()));
        let (urgency, category) = match card.attention {
            Attention::Waiting => (Urgency::Normal, "x-taskwarden.waiting"),
            Attention::Problem => (Urgency::Normal, "x-taskwarden.problem"),
            Attention::Finished => (Urgency::Low, "x-taskwarden.finished"),
        };
        message.urgency(urgency).hint(Hint::Category(category.into()));
        if card.with_sound {
            message.sound_name(match card.attention {
                Attention::Waiting => "message-new-instant",
                Attention::Problem => "dialog-warning",
                Attention::Finished => "complete",
            });
        } else {
            message.hint(Hint::SuppressSound(true));
        }
        if self.can_open {
            message.action("default", "Open").action("open", "Open");
        }
        message
    }

    /// Waits for what happens to a card, until it is gone or replaced.
    fn wait(&self, key: CardKey, handle: Arc<NotificationHandle>) -> CancellationToken {
        let replaced = CancellationToken::new();
        let (until, presses) = (replaced.clone(), self.presses.clone());
        self.supervisor.spawn("notice", async move {
            let mut press = None;
            let heard = handle.wait_for_action_async(|response: &NotificationResponse| press = Some(read(response)));
            tokio::select! {
                () = heard => {}
                () = until.cancelled() => return,
            }
            if let Some(press) = press {
                let _ = presses.send((key, press)).await;
            }
        });
        replaced
    }
}

fn read(response: &NotificationResponse) -> CardPress {
    match response {
        NotificationResponse::Default => CardPress::Open,
        NotificationResponse::Action(name) if name == "open" => CardPress::Open,
        // Also an action that no card has.
        _ => CardPress::Closed,
    }
}
