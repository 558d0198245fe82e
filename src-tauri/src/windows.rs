//! The one window: created, shown, hidden.
//!
//! It shows only this program's pages and opens no second window. Its size and position are restored. Closing it hides
//! it where a tray can bring it back; `quit.rs` ends the program.

use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Manager as _, WebviewUrl, WebviewWindow, WebviewWindowBuilder};
use tauri_plugin_window_state::StateFlags;

use crate::feed::PageChannel;

/// The label of the window, which the capability names.
const MAIN: &str = "main";

/// What is restored: never that it was hidden.
pub(crate) const REMEMBERED: StateFlags = StateFlags::SIZE.union(StateFlags::POSITION).union(StateFlags::MAXIMIZED);

/// Creates the window. It appears once its page has loaded, unless it starts in the tray.
///
/// # Errors
/// When the system has no web view.
pub(crate) fn create(app: &AppHandle, begins_hidden: bool) -> tauri::Result<WebviewWindow> {
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::default())
        .title("Taskwarden")
        .inner_size(1280.0, 800.0)
        .min_inner_size(720.0, 480.0)
        .prevent_overflow()
        .visible(false)
        .disable_drag_drop_handler()
        .on_navigation(is_ours)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_page_load(move |window, load| {
            if matches!(load.event(), PageLoadEvent::Finished) && !begins_hidden {
                show(window.app_handle());
            }
        })
        .build()
}

/// Whether an address is one of our own pages.
fn is_ours(url: &tauri::Url) -> bool {
    let own_scheme = url.scheme() == "tauri" && url.host_str() == Some("localhost");
    // Windows has no schemes of programs' own; not run here.
    own_scheme || cfg!(windows) && url.scheme() == "http" && url.host_str() == Some("tauri.localhost")
}

/// Brings the window to the front.
pub(crate) fn show(app: &AppHandle) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    let shown = window.show().and_then(|()| window.unminimize()).and_then(|()| window.set_focus());
    if let Err(why) = shown {
        tracing::warn!(%why, "the window could not be shown");
    }
}

/// Brings the window to the front and opens a page in it.
pub(crate) fn open(app: &AppHandle, hash: &str) {
    app.state::<PageChannel>().open(hash);
    show(app);
}

/// Hides the window where a tray can bring it back; minimizes it elsewhere.
pub(crate) fn hide_or_minimize(app: &AppHandle, has_tray: bool) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    let done = if has_tray { window.hide() } else { window.minimize() };
    if let Err(why) = done {
        tracing::warn!(%why, "the window could not be hidden");
    }
}

/// Hides the window while the core drains.
pub(crate) fn hide(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN) {
        let _ = window.hide();
    }
}

/// Whether the surroundings are dark, as far as the system says.
pub(crate) fn is_dark(app: &AppHandle) -> bool {
    let theme = app.get_webview_window(MAIN).and_then(|window| window.theme().ok());
    theme.is_some_and(|theme| theme == tauri::Theme::Dark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_shows_our_pages_and_no_others() {
        for (address, is_shown) in [
            ("tauri://localhost/index.html#/inbox", true),
            ("https://example.org/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,x", false),
            ("tauri://evil/", false),
        ] {
            assert_eq!(is_ours(&address.parse().unwrap()), is_shown, "{address}");
        }
    }
}
