//! The tray: an icon with three states, a tooltip with the counts and the fullest window, a menu of inbox items.
//!
//! It has its own feed and shows what `tray_state.rs` says. On a desktop without a tray there is none, and closing the
//! window then quits. Any program of the session can press its entries, so every entry only opens a page, and *Quit…*
//! asks in a window first (ruling 42).

use host::window::routes;
use parking_lot::Mutex;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{MouseButton, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Manager as _, include_image};

use crate::tray_state::{FrameEffect, TrayFace, TrayState};
use crate::{quit, settings, windows};

/// Items in the menu; the inbox shows all. Brief of the design: a menu is read at a glance.
const LINES_MOST: usize = 5;

const ITEM: &str = "item:";
const INBOX: &str = "inbox";
const BUDGETS: &str = "budgets";
const NOTIFICATIONS: &str = "notifications";
const HALT: &str = "halt";
const QUIT: &str = "quit";

/// What the tray looks like.
#[derive(Clone, PartialEq, Eq)]
struct TrayAppearance {
    face: TrayFace,
    is_dark: bool,
    counts: String,
    /// The fullest window, when people are told of it.
    gauge: Option<String>,
    lines: Vec<(String, String)>,
    is_paused: bool,
    is_halted: bool,
}

/// The tray, which may not be there, and what it knows.
#[derive(Default)]
pub(crate) struct Tray {
    state: Mutex<TrayState>,
    icon: Mutex<Option<TrayIcon>>,
    appearance: Mutex<Option<TrayAppearance>>,
}

impl Tray {
    /// Puts the icon into the tray, if there is a tray and it is not there yet. Main thread.
    pub(crate) fn appear(&self, app: &AppHandle) {
        if self.is_there() {
            return;
        }
        let made = TrayIconBuilder::with_id("taskwarden")
            .icon(picture(TrayFace::Idle, windows::is_dark(app)))
            .title("Taskwarden")
            .show_menu_on_left_click(false)
            .on_menu_event(|app, event| chosen(app, event.id().as_ref()))
            .on_tray_icon_event(|tray, event| {
                if let TrayIconEvent::Click { button: MouseButton::Left, .. } = event {
                    windows::show(tray.app_handle());
                }
            })
            .build(app);
        match made {
            Ok(icon) => {
                *self.icon.lock() = Some(icon);
                *self.appearance.lock() = None;
                self.redraw(app);
            }
            Err(why) => tracing::info!(%why, "there is no tray; closing the window quits"),
        }
    }

    /// Whether the window can be brought back from it.
    pub(crate) fn is_there(&self) -> bool {
        self.icon.lock().is_some()
    }

    /// Whether closing the window puts it here.
    pub(crate) fn closes_into(&self) -> bool {
        self.state.lock().settings().is_none_or(|settings| settings.close_to_tray)
    }

    /// What quitting ends, in words; `None` when it ends nothing.
    pub(crate) fn quit_warning(&self) -> Option<String> {
        self.state.lock().quit_warning()
    }

    /// The place of the item that came last.
    pub(crate) fn newest(&self) -> String {
        let state = self.state.lock();
        state.newest(&host::window::window_clock::now()).map_or_else(|| routes::INBOX.to_owned(), routes::inbox_item)
    }

    /// What is halted, or the dialog that halts while nothing is.
    fn halt_route(&self) -> &'static str {
        if self.state.lock().is_halted() { routes::HALT } else { routes::NEW_HALT }
    }

    /// Applies a frame. False: the feed must be opened again.
    pub(crate) fn apply(&self, app: &AppHandle, frame: &str) -> bool {
        let (effect, wishes) = {
            let mut state = self.state.lock();
            let effect = state.apply(frame);
            (effect, state.settings().cloned())
        };
        match effect {
            FrameEffect::Changed => {
                self.redraw(app);
                if let Some(wishes) = wishes {
                    app.state::<settings::AppliedSettings>().apply(app, &wishes, open_newest);
                }
                true
            }
            FrameEffect::Resubscribe => false,
        }
    }

    /// Draws what changed. Any thread.
    pub(crate) fn redraw(&self, app: &AppHandle) {
        if !self.is_there() {
            return;
        }
        let appearance = self.appearance(windows::is_dark(app));
        if self.appearance.lock().replace(appearance.clone()).as_ref() == Some(&appearance) {
            return;
        }
        let drawn = app.run_on_main_thread({
            let app = app.clone();
            move || app.state::<Self>().draw(&app, &appearance)
        });
        if let Err(why) = drawn {
            tracing::debug!(%why, "the tray was not drawn");
        }
    }

    fn appearance(&self, is_dark: bool) -> TrayAppearance {
        let now = host::window::window_clock::now();
        let state = self.state.lock();
        TrayAppearance {
            face: state.face(),
            is_dark,
            counts: state.counts(),
            gauge: state.gauge(),
            lines: state.lines(&now, LINES_MOST),
            is_paused: state.is_paused(&now),
            is_halted: state.is_halted(),
        }
    }

    fn draw(&self, app: &AppHandle, appearance: &TrayAppearance) {
        let icon = self.icon.lock();
        let Some(icon) = icon.as_ref() else { return };
        let drawn = icon
            .set_icon(Some(picture(appearance.face, appearance.is_dark)))
            .and_then(|()| icon.set_tooltip(Some(tooltip(appearance))))
            .and_then(|()| icon.set_menu(Some(menu(app, appearance)?)));
        if let Err(why) = drawn {
            tracing::warn!(%why, "the tray could not be drawn");
        }
    }
}

/// Opens the newest inbox item.
fn open_newest(app: &AppHandle) {
    windows::open(app, &app.state::<Tray>().newest());
}

/// The counts, and the fullest window below them.
fn tooltip(appearance: &TrayAppearance) -> String {
    appearance
        .gauge
        .as_ref()
        .map_or_else(|| appearance.counts.clone(), |gauge| format!("{}\n{gauge}", appearance.counts))
}

/// The picture of a face, for a light or a dark panel.
fn picture(face: TrayFace, is_dark: bool) -> Image<'static> {
    match (face, is_dark) {
        (TrayFace::Idle, false) => include_image!("../icons/tray-idle-light.png"),
        (TrayFace::Idle, true) => include_image!("../icons/tray-idle-dark.png"),
        (TrayFace::Working, false) => include_image!("../icons/tray-working-light.png"),
        (TrayFace::Working, true) => include_image!("../icons/tray-working-dark.png"),
        (TrayFace::NeedsYou, false) => include_image!("../icons/tray-needs-you-light.png"),
        (TrayFace::NeedsYou, true) => include_image!("../icons/tray-needs-you-dark.png"),
    }
}

/// The menu: the counts, the first items, what can be done.
fn menu(app: &AppHandle, appearance: &TrayAppearance) -> tauri::Result<Menu<tauri::Wry>> {
    // An ampersand would mark the letter after it.
    let entry = |id: &str, text: &str, is_enabled| {
        MenuItem::with_id(app, id, text.replace('&', "&&"), is_enabled, None::<&str>)
    };
    let menu = Menu::new(app)?;
    menu.append(&entry("counts", &appearance.counts, false)?)?;
    if let Some(gauge) = &appearance.gauge {
        menu.append(&entry(BUDGETS, gauge, true)?)?;
    }
    for (id, text) in &appearance.lines {
        menu.append(&entry(&format!("{ITEM}{id}"), text, true)?)?;
    }
    menu.append(&PredefinedMenuItem::separator(app)?)?;
    menu.append(&entry(INBOX, "Open inbox", true)?)?;
    let notifications = if appearance.is_paused { "Notifications are paused…" } else { "Pause notifications…" };
    menu.append(&entry(NOTIFICATIONS, notifications, true)?)?;
    menu.append(&entry(HALT, if appearance.is_halted { "Work is halted…" } else { "Halt…" }, true)?)?;
    menu.append(&PredefinedMenuItem::separator(app)?)?;
    menu.append(&entry(QUIT, "Quit…", true)?)?;
    Ok(menu)
}

fn chosen(app: &AppHandle, id: &str) {
    match id {
        INBOX => windows::open(app, routes::INBOX),
        BUDGETS => windows::open(app, routes::BUDGETS),
        NOTIFICATIONS => windows::open(app, routes::SETTINGS),
        HALT => windows::open(app, app.state::<Tray>().halt_route()),
        QUIT => quit::ask(app),
        other => {
            if let Some(item) = other.strip_prefix(ITEM) {
                windows::open(app, &routes::inbox_item(item));
            }
        }
    }
}
