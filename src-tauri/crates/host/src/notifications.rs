//! Desktop notifications of what needs a person; without a desktop, lines in the log (rulings 31 to 33).
//!
//! The engine says what to notify about. `actor.rs` reads the task as it is now, asks `quiet_hours.rs` whether its
//! person wants to know now, and keeps one card per task (`card_plan.rs`, `subject.rs`, `card_text.rs`), one per
//! full window (`budget_alerts.rs`) and one per pause that asks for a choice (`pause_cards.rs`). Cards are withdrawn
//! because the change log says that their subject is over. A notification is never a fact: everything it says is in the inbox, and pressing one decides nothing (ruling 42).
//! `desktop.rs` is the system's side.

mod actor;
mod alarm_cards;
mod budget_alerts;
mod card_plan;
mod card_text;
mod desktop;
mod pause_cards;
mod quiet_hours;
mod sources;
mod subject;

use std::sync::Arc;

use api::dto::NoticesGo;
use domain::policy::HostPolicy;
use domain::ports::{Notice, Notifier};
use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use actor::run;
use desktop::Desktop;
pub(crate) use sources::NotificationSources;

/// Whether notifications reach a desktop, as far as is known now. Clones share the state.
#[derive(Clone)]
pub(crate) struct DesktopReach(Arc<Mutex<NoticesGo>>);

impl DesktopReach {
    /// Where notifications go at the moment.
    pub(crate) fn get(&self) -> NoticesGo {
        *self.0.lock()
    }

    /// Notes whether the desktop accepted a card. A missing desktop is logged once.
    fn note(&self, is_there: bool, told: &mut bool) {
        *self.0.lock() = if is_there { NoticesGo::Desktop } else { NoticesGo::None };
        if !is_there && !std::mem::replace(told, true) {
            tracing::info!("this session has no notification service; see the inbox and the tray");
        }
    }
}

/// The desktop's end of a notifier.
pub struct DesktopNotifications {
    incoming: Receiver<Notice>,
    reach: DesktopReach,
}

/// The notifier of a core, and its desktop end. Every notification is logged, whether or not it is shown.
pub(crate) fn notifier(hosting: &HostPolicy, is_wanted: bool) -> (Arc<dyn Notifier>, DesktopNotifications) {
    // Full only if the desktop hangs; then notifications are dropped, which loses no fact.
    let (sender, incoming) = channel(hosting.notices_waiting_max);
    let reach = DesktopReach(Arc::new(Mutex::new(if is_wanted { NoticesGo::None } else { NoticesGo::Off })));
    (Arc::new(NotifierPort { sender }), DesktopNotifications { incoming, reach })
}

impl DesktopNotifications {
    /// Where notifications go; this may change while the core runs.
    pub(crate) fn reach(&self) -> DesktopReach {
        self.reach.clone()
    }

    /// Shows notifications until the core stops.
    pub(crate) fn start(self, sources: NotificationSources) {
        if self.reach.get() == NoticesGo::Off {
            return;
        }
        let supervisor = sources.supervisor.clone();
        let can_open = sources.opener.is_some();
        let (desktop, pressed) = Desktop::new(self.reach, can_open, &sources.policy.hosting, &supervisor);
        supervisor.spawn_draining("notices", run(sources, self.incoming, desktop, pressed));
    }
}

struct NotifierPort {
    sender: Sender<Notice>,
}

impl Notifier for NotifierPort {
    fn tell(&self, notice: Notice) {
        tracing::info!(handle.id = %notice.handle, "{}", notice.line);
        if self.sender.try_send(notice).is_err() {
            tracing::debug!("the desktop is slow or disabled; a notification was dropped");
        }
    }
}
