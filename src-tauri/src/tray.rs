//! The tray: three faces, a tooltip with the counts and the fullest window, a menu of what waits.
//!
//! It is fed by a feed of its own and shows what `glance.rs` says. Where the desktop has no tray there is none, and
//! closing the window then means quitting. Any program of the session can press what stands in it, so every line only
//! opens a place, and *Quit…* asks in a window first (ruling 42).

use host::places;
use parking_lot::Mutex;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{MouseButton, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Manager as _, include_image};

use crate::glance::{Face, Glance, Heard};
use crate::{quit, settings, windows};

/// Items in the menu; the inbox shows all. Brief of the design: a menu is read at a glance.
const LINES_MOST: usize = 5;

const ITEM: &str = "item:";
const INBOX: &str = "inbox";
const BUDGETS: &str = "budgets";
const NOTIFICATIONS: &str = "notifications";
const QUIT: &str = "quit";

/// What the tray looks like.
#[derive(Clone, PartialEq, Eq)]
struct Look {
    face: Face,
    is_dark: bool,
    counts: String,
    /// The fullest window, when people are told of it.
    gauge: Option<String>,
    lines: Vec<(String, String)>,
    is_paused: bool,
}

/// The tray, which may not be there, and what it knows.
#[derive(Default)]
pub(crate) struct Tray {
    glance: Mutex<Glance>,
    icon: Mutex<Option<TrayIcon>>,
    look: Mutex<Option<Look>>,
}

impl Tray {
    /// Puts the icon into the tray, if there is a tray and it is not there yet. Main thread.
    pub(crate) fn appear(&self, app: &AppHandle) {
        if self.is_there() {
            return;
        }
        let made = TrayIconBuilder::with_id("taskwarden")
            .icon(picture(Face::Idle, windows::is_dark(app)))
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
                *self.look.lock() = None;
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
        self.glance.lock().settings().is_none_or(|settings| settings.close_to_tray)
    }

    /// What quitting means, in words; `None` when it costs nothing.
    pub(crate) fn farewell(&self) -> Option<String> {
        self.glance.lock().farewell()
    }

    /// The place of the item that came last.
    pub(crate) fn newest(&self) -> String {
        let glance = self.glance.lock();
        glance.newest(&host::moment::now()).map_or_else(|| places::INBOX.to_owned(), places::inbox_item)
    }

    /// Takes in a frame. False: the feed must be opened anew.
    pub(crate) fn hear(&self, app: &AppHandle, frame: &str) -> bool {
        let (heard, wishes) = {
            let mut glance = self.glance.lock();
            let heard = glance.hear(frame);
            (heard, glance.settings().cloned())
        };
        match heard {
            Heard::News => {
                self.redraw(app);
                if let Some(wishes) = wishes {
                    app.state::<settings::Followed>().follow(app, &wishes);
                }
                true
            }
            Heard::Resubscribe => false,
        }
    }

    /// Draws what changed. Any thread.
    pub(crate) fn redraw(&self, app: &AppHandle) {
        if !self.is_there() {
            return;
        }
        let look = self.wanted(windows::is_dark(app));
        if self.look.lock().replace(look.clone()).as_ref() == Some(&look) {
            return;
        }
        let drawn = app.run_on_main_thread({
            let app = app.clone();
            move || app.state::<Self>().draw(&app, &look)
        });
        if let Err(why) = drawn {
            tracing::debug!(%why, "the tray was not drawn");
        }
    }

    fn wanted(&self, is_dark: bool) -> Look {
        let now = host::moment::now();
        let glance = self.glance.lock();
        Look {
            face: glance.face(),
            is_dark,
            counts: glance.counts(),
            gauge: glance.gauge(),
            lines: glance.lines(&now, LINES_MOST),
            is_paused: glance.is_paused(&now),
        }
    }

    fn draw(&self, app: &AppHandle, look: &Look) {
        let icon = self.icon.lock();
        let Some(icon) = icon.as_ref() else { return };
        let drawn = icon
            .set_icon(Some(picture(look.face, look.is_dark)))
            .and_then(|()| icon.set_tooltip(Some(tooltip(look))))
            .and_then(|()| icon.set_menu(Some(menu(app, look)?)));
        if let Err(why) = drawn {
            tracing::warn!(%why, "the tray could not be drawn");
        }
    }
}

/// The counts, and the fullest window below them.
fn tooltip(look: &Look) -> String {
    look.gauge.as_ref().map_or_else(|| look.counts.clone(), |gauge| format!("{}\n{gauge}", look.counts))
}

/// The picture of a face, for a light or a dark panel.
fn picture(face: Face, is_dark: bool) -> Image<'static> {
    match (face, is_dark) {
        (Face::Idle, false) => include_image!("../icons/tray-idle-light.png"),
        (Face::Idle, true) => include_image!("../icons/tray-idle-dark.png"),
        (Face::Working, false) => include_image!("../icons/tray-working-light.png"),
        (Face::Working, true) => include_image!("../icons/tray-working-dark.png"),
        (Face::NeedsYou, false) => include_image!("../icons/tray-needs-you-light.png"),
        (Face::NeedsYou, true) => include_image!("../icons/tray-needs-you-dark.png"),
    }
}

/// The menu: the counts, the first items, what can be done.
fn menu(app: &AppHandle, look: &Look) -> tauri::Result<Menu<tauri::Wry>> {
    // An ampersand would mark the letter after it.
    let entry = |id: &str, text: &str, is_enabled| {
        MenuItem::with_id(app, id, text.replace('&', "&&"), is_enabled, None::<&str>)
    };
    let menu = Menu::new(app)?;
    menu.append(&entry("counts", &look.counts, false)?)?;
    if let Some(gauge) = &look.gauge {
        menu.append(&entry(BUDGETS, gauge, true)?)?;
    }
    for (id, text) in &look.lines {
        menu.append(&entry(&format!("{ITEM}{id}"), text, true)?)?;
    }
    menu.append(&PredefinedMenuItem::separator(app)?)?;
    menu.append(&entry(INBOX, "Open inbox", true)?)?;
    let notifications = if look.is_paused { "Notifications are paused…" } else { "Pause notifications…" };
    menu.append(&entry(NOTIFICATIONS, notifications, true)?)?;
    menu.append(&PredefinedMenuItem::separator(app)?)?;
    menu.append(&entry(QUIT, "Quit…", true)?)?;
    Ok(menu)
}

fn chosen(app: &AppHandle, id: &str) {
    match id {
        INBOX => windows::open(app, places::INBOX),
        BUDGETS => windows::open(app, places::BUDGETS),
        NOTIFICATIONS => windows::open(app, places::SETTINGS),
        QUIT => quit::ask(app),
        other => {
            if let Some(item) = other.strip_prefix(ITEM) {
                windows::open(app, &places::inbox_item(item));
            }
        }
    }
}
