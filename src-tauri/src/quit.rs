//! Quitting: ask, drain the core, end the program.
//!
//! Closing the window quits only where it cannot be hidden in the tray. A signal of the system does not ask. The dialog says
//! what keeps running and what does not. Whether agents are served without the window is asked once.

use api::calls::agents::AgentList;
use host::app::core_client::CoreClient;
use tauri::{AppHandle, Manager as _};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tokio::sync::Notify;

use crate::core::Core;
use crate::settings::AppliedSettings;
use crate::tray::Tray;
use crate::windows;

/// The decision that the program ends.
#[derive(Default)]
pub(crate) struct QuitDecision {
    decided: Notify,
    asking: parking_lot::Mutex<bool>,
}

impl QuitDecision {
    /// Returns when it is decided. Cancel-safe: a decision waits for the next who asks.
    pub(crate) async fn decided(&self) {
        self.decided.notified().await;
    }

    /// Marks that the person is being asked; false when they already are.
    fn begin_asking(&self) -> bool {
        !std::mem::replace(&mut *self.asking.lock(), true)
    }
}

/// The person closed the window: hide it where they want that and it is possible, else quit.
pub(crate) fn on_close(app: &AppHandle) {
    let tray = app.state::<Tray>();
    if tray.is_there() && tray.closes_into() {
        windows::hide_or_minimize(app, true);
    } else {
        ask(app);
    }
}

/// Asks where quitting costs something, then leaves. A second wish to quit brings no second question.
pub(crate) fn ask(app: &AppHandle) {
    // A core of another process watches on.
    let stays = app.state::<Core>().open_door().is_some_and(|door| door.is_attached());
    let quit_warning = app.state::<Tray>().quit_warning().filter(|_| !stays);
    let Some(words) = quit_warning else {
        ask_about_agents(app, stays);
        return;
    };
    if !app.state::<QuitDecision>().begin_asking() {
        return;
    }
    let asked = app.clone();
    app.dialog()
        .message(words)
        .title("Quit Taskwarden?")
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom("Quit".to_owned(), "Keep watching".to_owned()))
        .show(move |quits| {
            *asked.state::<QuitDecision>().asking.lock() = false;
            if quits {
                ask_about_agents(&asked, stays);
            }
        });
}

/// Leaves, after the one question about agents, when there are any and this window is their core.
fn ask_about_agents(app: &AppHandle, stays: bool) {
    if stays || !app.state::<AppliedSettings>().may_ask_about_agents() || !app.state::<QuitDecision>().begin_asking() {
        leave(app);
        return;
    }
    let app = app.clone();
    // Tauri's own runtime; it ends with the program.
    tauri::async_runtime::spawn(async move {
        let door = app.state::<Core>().open_door();
        let has_agents = match &door {
            Some(door) => has_agents(door).await,
            None => false,
        };
        let Some(door) = door.filter(|_| has_agents) else {
            leave(&app);
            return;
        };
        let asked = app.clone();
        app.dialog()
            .message(
                "Agents can keep working without the window: Taskwarden then runs in the background when one of them \
                 needs its servers. You can change this in the settings.",
            )
            .title("Keep serving agents?")
            .kind(MessageDialogKind::Info)
            .buttons(MessageDialogButtons::OkCancelCustom("Keep serving".to_owned(), "Stop serving".to_owned()))
            .show(move |keeps| {
                tauri::async_runtime::spawn(async move {
                    let wish = format!(r#"{{"keepServingAgents":{keeps}}}"#);
                    if let Err(why) = door.call("settings.change", wish).await {
                        tracing::warn!("the wish about agents was not kept: {}", why.message);
                    }
                    leave(&asked);
                });
            });
    });
}

async fn has_agents(door: &CoreClient) -> bool {
    let Ok(text) = door.call("agents.list", "{}".to_owned()).await else { return false };
    let list = serde_json::from_str::<AgentList>(&text).map(|list| list.agents).unwrap_or_default();
    list.iter().any(|agent| agent.revoked_at.is_none())
}

/// Leaves without asking.
pub(crate) fn leave(app: &AppHandle) {
    windows::hide(app);
    app.state::<QuitDecision>().decided.notify_one();
}

/// Returns when the system asks this program to end: a closing session, `kill`, Ctrl-C in a terminal.
pub(crate) async fn signalled() {
    match host::app::shutdown_signals::ShutdownSignals::listen_with_defaults() {
        Ok(mut signals) => signals.next().await,
        Err(why) => {
            tracing::warn!("{}", why.message);
            std::future::pending::<()>().await;
        }
    }
}
