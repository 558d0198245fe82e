//! The settings that are the desktop's business: the shortcut for the whole system, and starting with the session.
//!
//! It follows what the feed says and changes no setting itself. What the desktop refuses is logged once; the setting
//! stays as the person wished it.

use parking_lot::Mutex;
use tauri::{AppHandle, Manager as _};
use tauri_plugin_autostart::ManagerExt as _;
use tauri_plugin_global_shortcut::{GlobalShortcutExt as _, ShortcutState};

use crate::tray::Tray;
use crate::windows;
use api::dto::SettingsDto;

/// Opens the newest waiting item from anywhere.
const SHORTCUT: &str = "Ctrl+Shift+J";

/// What was done last.
#[derive(Default)]
pub(crate) struct Followed {
    last: Mutex<Option<SettingsDto>>,
}

impl Followed {
    /// Whether a person still has to be asked if agents are served after the window is gone (ruling 18).
    pub(crate) fn must_ask_about_agents(&self) -> bool {
        self.last.lock().as_ref().is_some_and(|known| known.keep_serving_agents.is_none())
    }

    /// Does what changed since the last time.
    pub(crate) fn follow(&self, app: &AppHandle, wished: &SettingsDto) {
        let last = self.last.lock().replace(wished.clone());
        let was = |setting: fn(&SettingsDto) -> bool| last.as_ref().map(setting);
        if was(|settings| settings.global_shortcut) != Some(wished.global_shortcut) {
            shortcut(app, wished.global_shortcut);
        }
        if was(|settings| settings.autostart) != Some(wished.autostart) {
            autostart(app, wished.autostart);
        }
    }
}

fn shortcut(app: &AppHandle, is_wished: bool) {
    let shortcuts = app.global_shortcut();
    if shortcuts.is_registered(SHORTCUT) == is_wished {
        return;
    }
    let done = if is_wished {
        shortcuts.on_shortcut(SHORTCUT, |app, _, event| {
            if event.state == ShortcutState::Pressed {
                windows::open(app, &app.state::<Tray>().newest());
            }
        })
    } else {
        shortcuts.unregister(SHORTCUT)
    };
    if let Err(why) = done {
        tracing::warn!(%why, "the desktop does not give the shortcut {SHORTCUT}");
    }
}

fn autostart(app: &AppHandle, is_wished: bool) {
    let starts = app.autolaunch();
    if starts.is_enabled().is_ok_and(|is_enabled| is_enabled == is_wished) {
        return;
    }
    let done = if is_wished { starts.enable() } else { starts.disable() };
    if let Err(why) = done {
        tracing::warn!(%why, "starting with the session could not be changed");
    }
}
