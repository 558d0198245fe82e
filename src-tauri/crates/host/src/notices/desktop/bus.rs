//! Cards through `org.freedesktop.Notifications` on the session's bus.
//!
//! The number that the service gave a card is kept, so that the next one takes its place. Each card has one waiting
//! task that ends with the card. Every program of the session can send the service's signals, so a card can only be
//! opened (ruling 42). Services differ: some show no buttons, some never say that a card went; nothing of ours depends
//! on either.

use std::collections::HashMap;
use std::sync::Arc;

use domain::task::Attention;
use engine::runtime::supervisor::Supervisor;
use notify_rust::{Hint, Notification, NotificationHandle, NotificationResponse, Timeout, Urgency};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Press;
use crate::notices::plan::{Card, Key};

/// Whether a service answers. Without a bus nobody is asked, because asking would start one.
pub(super) async fn is_there() -> bool {
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none_or(|address| address.is_empty()) {
        return false;
    }
    let (said, heard) = tokio::sync::oneshot::channel();
    // The library's question blocks; a thread of its own, because it may do so for long.
    let asked = std::thread::Builder::new().name("notices".into()).spawn(move || {
        let _ = said.send(notify_rust::get_server_information().is_ok());
    });
    asked.is_ok() && heard.await.unwrap_or(false)
}

/// Cards that are on the screen, as far as we know.
pub(super) struct Cards {
    can_open: bool,
    presses: Sender<(Key, Press)>,
    supervisor: Supervisor,
    shown: HashMap<Key, Shown>,
}

struct Shown {
    handle: Arc<NotificationHandle>,
    _waiting: DropGuard,
}

impl Cards {
    pub(super) fn new(can_open: bool, presses: Sender<(Key, Press)>, supervisor: Supervisor) -> Self {
        Self { can_open, presses, supervisor, shown: HashMap::new() }
    }

    /// Shows a card, or replaces the one with its key. Whether the service took it.
    pub(super) async fn show(&mut self, card: &Card) -> bool {
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
                tracing::debug!(%error, "the desktop did not take a notice");
                false
            }
        }
    }

    /// Takes a card away.
    pub(super) async fn withdraw(&mut self, key: Key) {
        if let Some(shown) = self.shown.remove(&key) {
            shown.handle.close_async().await;
        }
    }

    /// The card is no longer there.
    pub(super) fn forget(&mut self, key: Key) {
        self.shown.remove(&key);
    }

    fn message(&self, card: &Card) -> Notification {
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

    /// Hears what becomes of a card, until it goes or is replaced.
    fn wait(&self, key: Key, handle: Arc<NotificationHandle>) -> CancellationToken {
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

fn read(response: &NotificationResponse) -> Press {
    match response {
        NotificationResponse::Default => Press::Open,
        NotificationResponse::Action(name) if name == "open" => Press::Open,
        // Also an action that no card has.
        _ => Press::Closed,
    }
}
