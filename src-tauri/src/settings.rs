//! Applies the settings of the desktop: the global shortcut, and starting with the session.
//!
//! It applies what the feed says and changes no setting itself. What the desktop refuses is logged once; the setting
//! stays as the person chose it.

use api::dto::SettingsDto;
use parking_lot::Mutex;
use tauri::AppHandle;
use tauri_plugin_autostart::ManagerExt as _;
use tauri_plugin_global_shortcut::{GlobalShortcutExt as _, ShortcutState};

/// Opens the newest inbox item from anywhere.
const SHORTCUT: &str = "Ctrl+Shift+J";

/// The settings applied last.
#[derive(Default)]
pub(crate) struct AppliedSettings {
    last: Mutex<Option<SettingsDto>>,
}

impl AppliedSettings {
    /// Whether the person was never asked if agents are served without the window (ruling 18).
    pub(crate) fn may_ask_about_agents(&self) -> bool {
        self.last.lock().as_ref().is_some_and(|known| known.keep_serving_agents.is_none())
    }

    /// Applies what changed since the last time. `on_shortcut` runs when the global shortcut is pressed.
    pub(crate) fn apply(&self, app: &AppHandle, wanted: &SettingsDto, on_shortcut: fn(&AppHandle)) {
        let last = self.last.lock().replace(wanted.clone());
        let was = |setting: fn(&SettingsDto) -> bool| last.as_ref().map(setting);
        if was(|settings| settings.global_shortcut) != Some(wanted.global_shortcut) {
            apply_shortcut(app, wanted.global_shortcut, on_shortcut);
        }
        if was(|settings| settings.autostart) != Some(wanted.autostart) {
            apply_autostart(app, wanted.autostart);
        }
    }
}

fn apply_shortcut(app: &AppHandle, is_wanted: bool, on_shortcut: fn(&AppHandle)) {
    let shortcuts = app.global_shortcut();
    if shortcuts.is_registered(SHORTCUT) == is_wanted {
        return;
    }
    let done = if is_wanted {
        shortcuts.on_shortcut(SHORTCUT, move |app, _, event| {
            if event.state == ShortcutState::Pressed {
                on_shortcut(app);
            }
        })
    } else {
        shortcuts.unregister(SHORTCUT)
    };
    if let Err(why) = done {
        tracing::warn!(%why, "the desktop refuses the global shortcut {SHORTCUT}");
    }
}

fn apply_autostart(app: &AppHandle, is_wanted: bool) {
    let starts = app.autolaunch();
    if starts.is_enabled().is_ok_and(|is_enabled| is_enabled == is_wanted) {
        return;
    }
    let done = if is_wanted { starts.enable() } else { starts.disable() };
    if let Err(why) = done {
        tracing::warn!(%why, "starting with the session could not be changed");
    }
}
