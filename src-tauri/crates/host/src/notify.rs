//! Tells people through the desktop, where there is one; else through the log.
//!
//! A thread of its own shows notices, because the desktop may block. A notice replaces the one before about the same
//! task. Lines are in our words and carry no content; a notice that cannot be shown is only logged, never kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use domain::handle::Attention;
use domain::ids::HandleId;
use domain::ports::{Notice, Notifier};
use notify_rust::{Notification, Urgency};

use crate::config::Config;

/// The notifier for this session.
pub(crate) fn notifier(config: &Config) -> Arc<dyn Notifier> {
    if !config.notifications || !has_desktop() {
        return Arc::new(LogLines);
    }
    // Full only when the desktop hangs; then notices are dropped, which loses no fact.
    let (sender, receiver) = sync_channel(config.policy.hosting.notices_waiting_max);
    match std::thread::Builder::new().name("notices".into()).spawn(move || show(&receiver)) {
        Ok(_) => Arc::new(Desktop { sender }),
        Err(error) => {
            tracing::warn!(%error, "the desktop cannot be told; notices go to the log");
            Arc::new(LogLines)
        }
    }
}

/// Linux has no notices without a session bus; elsewhere the system always has them.
fn has_desktop() -> bool {
    !cfg!(target_os = "linux")
        || std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty())
}

struct LogLines;

impl Notifier for LogLines {
    fn tell(&self, notice: Notice) {
        tracing::info!(handle.id = %notice.handle, "{}", notice.line);
    }
}

struct Desktop {
    sender: SyncSender<Notice>,
}

impl Notifier for Desktop {
    fn tell(&self, notice: Notice) {
        tracing::info!(handle.id = %notice.handle, "{}", notice.line);
        if self.sender.try_send(notice).is_err() {
            tracing::debug!("the desktop is slow; a notice was dropped");
        }
    }
}

/// Shows notices until the notifier is gone.
fn show(notices: &Receiver<Notice>) {
    /// Notices whose number is remembered for replacing. Judgement: more are on no screen.
    const REMEMBERED: usize = 256;
    let mut shown: HashMap<HandleId, u32> = HashMap::new();
    for notice in notices {
        let mut message = Notification::new();
        message.appname("Taskwarden").summary(title(notice.attention)).body(&notice.line).icon("taskwarden");
        #[cfg(all(unix, not(target_os = "macos")))]
        message.urgency(match notice.attention {
            Attention::Waiting | Attention::Problem => Urgency::Normal,
            Attention::Finished => Urgency::Low,
        });
        if let Some(number) = shown.get(&notice.handle) {
            message.id(*number);
        }
        match message.show() {
            #[cfg(all(unix, not(target_os = "macos")))]
            Ok(handle) => {
                if shown.len() >= REMEMBERED {
                    shown.clear();
                }
                shown.insert(notice.handle, handle.id());
            }
            #[cfg(not(all(unix, not(target_os = "macos"))))]
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the desktop did not take a notice"),
        }
    }
}

const fn title(attention: Attention) -> &'static str {
    match attention {
        Attention::Waiting => "A task needs an answer",
        Attention::Problem => "A task needs a look",
        Attention::Finished => "A task is over",
    }
}
