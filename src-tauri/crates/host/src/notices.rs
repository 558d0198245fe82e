//! Tells people through the desktop, where there is one; else through the log (rulings 31 to 33).
//!
//! The engine says what to tell; [`run`] reads the task as it is, asks whether its person wants to be told now
//! (`hours.rs`), and keeps one card for each task on the screen (`plan.rs`, `item.rs`, `words.rs`), and one for each
//! window that fills (`fill.rs`). Cards go when what
//! they say is over, because the change log says so, not because somebody remembered to take them away. A notice is
//! never a fact: everything it says is in the inbox. `desktop.rs` is the system's side.

mod desktop;
mod fill;
mod hours;
mod item;
mod plan;
mod run;
mod sources;
mod words;

use std::sync::Arc;

use api::dto::NoticesGo;
use domain::policy::HostPolicy;
use domain::ports::{Notice, Notifier};
use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use desktop::Desktop;
use run::run;
pub(crate) use sources::Sources;

/// Where notices go, as far as is known now. Clones are the same.
#[derive(Clone)]
pub(crate) struct Reach(Arc<Mutex<NoticesGo>>);

impl Reach {
    /// Where they go.
    pub(crate) fn get(&self) -> NoticesGo {
        *self.0.lock()
    }

    /// The desktop took a card, or did not. That there is none is said in the log once.
    fn note(&self, is_there: bool, told: &mut bool) {
        *self.0.lock() = if is_there { NoticesGo::Desktop } else { NoticesGo::None };
        if !is_there && !std::mem::replace(told, true) {
            tracing::info!("this session has no notification service; the inbox and the tray still count");
        }
    }
}

/// The desktop's end of a notifier.
pub struct DesktopNotices {
    incoming: Receiver<Notice>,
    reach: Reach,
}

/// The notifier of a core, and the end of it that tells the desktop. Every notice is in the log, whatever becomes of it.
pub(crate) fn notifier(hosting: &HostPolicy, is_wanted: bool) -> (Arc<dyn Notifier>, DesktopNotices) {
    // Full only when the desktop hangs; then notices are dropped, which loses no fact.
    let (sender, incoming) = channel(hosting.notices_waiting_max);
    let reach = Reach(Arc::new(Mutex::new(if is_wanted { NoticesGo::None } else { NoticesGo::Off })));
    (Arc::new(Port { sender }), DesktopNotices { incoming, reach })
}

impl DesktopNotices {
    /// Where notices go; the answer may change while the core runs.
    pub(crate) fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Tells the desktop from now on, until the core stops.
    pub(crate) fn start(self, sources: Sources) {
        if self.reach.get() == NoticesGo::Off {
            return;
        }
        let supervisor = sources.supervisor.clone();
        let can_open = sources.opener.is_some();
        let (desktop, pressed) = Desktop::new(self.reach, can_open, &sources.policy.hosting, &supervisor);
        supervisor.spawn_draining("notices", run(sources, self.incoming, desktop, pressed));
    }
}

struct Port {
    sender: Sender<Notice>,
}

impl Notifier for Port {
    fn tell(&self, notice: Notice) {
        tracing::info!(handle.id = %notice.handle, "{}", notice.line);
        if self.sender.try_send(notice).is_err() {
            tracing::debug!("the desktop is slow or is not told; a notice was dropped");
        }
    }
}
