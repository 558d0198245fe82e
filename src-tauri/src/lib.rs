//! The window of Taskwarden: a thin shell around the host.
//!
//! It has no rules about tasks: `api` defines the calls, `host` runs the core. This crate carries calls and frames
//! between them and a web view (`call.rs`, `feed.rs`), keeps the connection to the core (`core.rs`), and owns what only
//! a desktop has: the window, the tray, links, the shortcut, quitting.

mod call;
mod core;
mod feed;
mod quit;
mod settings;
mod tray;
mod tray_state;
mod windows;

use std::process::ExitCode;
use std::sync::Arc;

use futures::StreamExt as _;
use host::app::core_client::{CoreClient, Opener};
#[cfg(target_os = "linux")]
use host::window::open_window::{self, HandOver};
use host::window::{routes, window_clock};
use tauri::{App, AppHandle, Context, Manager as _, RunEvent, WindowEvent};
use tauri_plugin_deep_link::DeepLinkExt as _;

use crate::core::Core;
use crate::quit::QuitDecision;
use crate::tray::Tray;

/// Given by the session's start: begin in the tray.
const HIDDEN: &str = "--hidden";

/// What this program is started for by its own core, by agents' programs and by bridges.
const WITHOUT_WINDOW: [&str; 4] = ["demo-server", "keep", "connect", "serve"];

/// Runs what the arguments ask for: a part that has no window, or the window.
#[must_use]
pub fn run() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| WITHOUT_WINDOW.contains(&first.as_str())) {
        return host::cli::run();
    }
    if !has_display() {
        eprintln!("error: no display is available for a window");
        eprintln!("hint: Run `taskwarden serve` to use Taskwarden in a browser.");
        return ExitCode::FAILURE;
    }
    let context = tauri::generate_context!();
    let bus_id = bus_id(&context);
    #[cfg(target_os = "linux")]
    match open_window::hand_over(&bus_id) {
        HandOver::Taken => return ExitCode::SUCCESS,
        HandOver::NobodyThere => {}
        HandOver::Silent => {
            eprintln!("error: a window of this data folder is open and does not answer");
            eprintln!("hint: End its program, `taskwarden-desktop`, and start it again. Tasks go on without it.");
            return ExitCode::FAILURE;
        }
    }
    match app(context, bus_id) {
        Ok(app) => u8::try_from(app.run_return(on_run_event)).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(why) => {
            eprintln!("error: the window could not be created: {why}");
            eprintln!("hint: Check that the web view of your system is installed (WebKitGTK 4.1 on Linux).");
            ExitCode::FAILURE
        }
    }
}

/// Linux has a display or not; elsewhere there always is one.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn app(context: Context, bus_id: String) -> tauri::Result<App> {
    tauri::Builder::default()
        // First: a second instance ends here and brings the first to the front.
        .plugin(single_instance(bus_id))
        .plugin(tauri_plugin_deep_link::init())
        .plugin(tauri_plugin_window_state::Builder::new().with_state_flags(windows::REMEMBERED).build())
        .plugin(tauri_plugin_autostart::Builder::new().arg(HIDDEN).build())
        .plugin(tauri_plugin_global_shortcut::Builder::new().build())
        .plugin(tauri_plugin_dialog::init())
        // No script of the plugin in the page: links are opened by our own command alone.
        .plugin(tauri_plugin_opener::Builder::new().open_js_links_on_click(false).build())
        .manage(Core::new())
        .manage(feed::PageChannel::default())
        .manage(QuitDecision::default())
        .manage(Tray::default())
        .manage(settings::AppliedSettings::default())
        .invoke_handler(tauri::generate_handler![call::call, feed::subscribe])
        .on_window_event(|window, event| match event {
            WindowEvent::CloseRequested { api, .. } => {
                api.prevent_close();
                quit::on_close(window.app_handle());
            }
            WindowEvent::ThemeChanged(_) => window.state::<Tray>().redraw(window.app_handle()),
            _ => {}
        })
        .setup(|app| Ok(set_up(app.handle())?))
        .build(context)
}

/// A second start with the same name on the session bus ends, and brings the first window to the front.
fn single_instance(bus_id: String) -> tauri::plugin::TauriPlugin<tauri::Wry> {
    tauri_plugin_single_instance::Builder::new().callback(|app, _, _| windows::show(app)).dbus_id(bus_id).build()
}

/// One window for each data folder: two folders may be open beside each other.
fn bus_id(context: &Context) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let program = &context.config().identifier;
    match std::env::var_os("TASKWARDEN_HOME").filter(|home| !home.is_empty()) {
        None => program.clone(),
        Some(home) => {
            let mut hasher = DefaultHasher::new();
            home.hash(&mut hasher);
            format!("{program}.at{:016x}", hasher.finish())
        }
    }
}

fn set_up(app: &AppHandle) -> tauri::Result<()> {
    app.state::<Tray>().appear(app);
    let begins_hidden = std::env::args().any(|argument| argument == HIDDEN) && app.state::<Tray>().is_there();
    windows::create(app, begins_hidden)?;
    follow_links(app);
    // Tauri's own runtime; it ends with the program, which it ends itself.
    tauri::async_runtime::spawn(keep_core_open(app.clone()));
    Ok(())
}

/// Opens the place of the link we were started with and of those that come later.
fn follow_links(app: &AppHandle) {
    let started_with = app.deep_link().get_current().ok().flatten().unwrap_or_default();
    started_with.iter().filter_map(routes::place).for_each(|hash| windows::open(app, &hash));
    app.deep_link().on_open_url({
        let app = app.clone();
        move |event| event.urls().iter().filter_map(routes::place).for_each(|hash| windows::open(&app, &hash))
    });
    // Programs of the system are run for it.
    let app = app.clone();
    tauri::async_runtime::spawn_blocking(move || {
        let links = app.deep_link();
        if links.is_registered("taskwarden").is_ok_and(|is_ours| is_ours) {
            return;
        }
        if let Err(why) = links.register_all() {
            tracing::info!(%why, "the system does not take taskwarden:// links");
        }
    });
}

fn on_run_event(app: &AppHandle, event: RunEvent) {
    if let RunEvent::ExitRequested { code: None, api, .. } = event {
        api.prevent_exit();
        quit::leave(app);
    }
}

/// Keeps the core open until it is time to leave, then drains it and ends the program.
async fn keep_core_open(app: AppHandle) {
    let opener: Opener = Arc::new({
        let app = app.clone();
        move |hash: &str| windows::open(&app, hash)
    });
    let (core, leaving) = (app.state::<Core>(), app.state::<QuitDecision>());
    let mut over = std::pin::pin!(async {
        tokio::select! {
            () = leaving.decided() => {}
            () = quit::signalled() => {}
        }
    });
    loop {
        // Dropped, opening ends what it started.
        let opened = tokio::select! {
            biased;
            () = &mut over => break,
            door = core.open(&opener) => door,
        };
        let Some(door) = opened else {
            tokio::select! {
                biased;
                () = &mut over => break,
                () = window_clock::before_another_try() => continue,
            }
        };
        let is_over = tokio::select! {
            biased;
            () = &mut over => true,
            () = door.ended() => false,
            () = feed_tray(&app, &door) => false,
        };
        core.shut(api::ApiError::no_core());
        door.shutdown().await;
        if is_over {
            break;
        }
    }
    app.exit(0);
}

/// Feeds the tray for as long as the core is open.
async fn feed_tray(app: &AppHandle, door: &CoreClient) {
    const NOTHING_IN_VIEW: &str = r#"{"query":null,"ids":[],"task":null,"visible":false}"#;
    let mut told = None;
    loop {
        match door.feed(NOTHING_IN_VIEW.to_owned()).await {
            Ok(mut frames) => {
                while let Some(Ok(frame)) = frames.next().await {
                    if !app.state::<Tray>().apply(app, &frame) {
                        break;
                    }
                }
            }
            Err(why) => {
                // Once for each reason: it is tried again and again.
                if told.replace(why.clone()).as_ref() != Some(&why) {
                    tracing::warn!("the tray has no feed: {}", why.message);
                }
            }
        }
        window_clock::before_another_try().await;
    }
}
