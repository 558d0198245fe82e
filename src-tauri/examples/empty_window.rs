//! The smallest window that Tauri makes: what ours is measured against by `window_start.rs`.
//!
//! The same library, the same size, one empty page, shown when the page is there as ours is. It does nothing.

use tauri::webview::PageLoadEvent;
use tauri::{WebviewUrl, WebviewWindowBuilder};

const PAGE: &[u8] = b"<!doctype html><title>Empty</title>";

fn main() -> tauri::Result<()> {
    let app = tauri::Builder::default()
        .register_uri_scheme_protocol("empty", |_, _| {
            let mut page = tauri::http::Response::new(PAGE);
            page.headers_mut().insert("content-type", tauri::http::HeaderValue::from_static("text/html"));
            page
        })
        .setup(|app| {
            let url = WebviewUrl::CustomProtocol("empty://localhost/".parse()?);
            WebviewWindowBuilder::new(app, "empty", url)
                .title("Empty")
                .inner_size(1280.0, 800.0)
                .visible(false)
                .on_page_load(|window, load| {
                    if matches!(load.event(), PageLoadEvent::Finished) {
                        let _ = window.show();
                    }
                })
                .build()?;
            Ok(())
        })
        .build(tauri::generate_context!())?;
    app.run(|_, _| {});
    Ok(())
}
