//! The one command for all calls: JSON text in, JSON text out.
//!
//! Calls whose name begins with `window.` are about this window and handled here; all others pass unread. The page
//! reaches nothing else of the system: no files, no programs, only `http` and `https` addresses in the system's browser.

use api::{ApiError, Code};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tauri::{AppHandle, Manager as _, State};
use tauri_plugin_opener::OpenerExt as _;
use url::Url;

use crate::core::Core;
use crate::tray::Tray;
use crate::{quit, windows};

#[derive(Deserialize)]
struct OpenOutside {
    url: Url,
}

#[derive(Deserialize)]
struct SetVisible {
    visible: bool,
}

/// Makes a call.
///
/// # Errors
/// The call's own.
#[tauri::command]
pub(crate) async fn call(
    app: AppHandle,
    core: State<'_, Core>,
    name: String,
    input: String,
) -> Result<String, ApiError> {
    match name.as_str() {
        "window.openOutside" => {
            open_outside(&app, &read::<OpenOutside>(&input)?.url)?;
        }
        "window.visible" if read::<SetVisible>(&input)?.visible => windows::show(&app),
        "window.visible" => windows::hide_or_minimize(&app, app.state::<Tray>().is_there()),
        "window.quit" => quit::ask(&app),
        _ => return core.door().await?.call(&name, input).await,
    }
    Ok("{}".to_owned())
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, ApiError> {
    serde_json::from_str(input).map_err(|why| ApiError::bad_input(&why))
}

/// Hands an address to the system's browser.
fn open_outside(app: &AppHandle, url: &Url) -> Result<(), ApiError> {
    if !is_web(url) {
        return Err(ApiError::new(
            Code::Refused,
            format!("`{}` addresses are not opened", url.scheme()),
            "Only `http` and `https` addresses are opened. Copy this one if you trust it.",
        ));
    }
    app.opener().open_url(url.as_str(), None::<&str>).map_err(|why| {
        ApiError::new(
            Code::Failed,
            format!("the system's browser could not be opened: {why}"),
            "Copy the address and open it by hand, or choose a browser in the settings of your system.",
        )
    })
}

/// Whether a browser should open it.
fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_on_the_web_are_opened() {
        for (address, opens) in [
            ("https://example.org/a?b#c", true),
            ("http://127.0.0.1:8080/", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("taskwarden://task/hdl_a", false),
            ("smb://host/share", false),
        ] {
            assert_eq!(is_web(&address.parse().unwrap()), opens, "{address}");
        }
        assert!(read::<OpenOutside>(r#"{"url":"--version"}"#).is_err(), "an option is no address");
    }
}
