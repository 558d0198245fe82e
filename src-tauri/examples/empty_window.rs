//! The smallest window that Tauri makes: what ours is measured against by `window_start.rs`.
//!
//! The same library, the same size, one empty page, shown when the page is there as ours is. It does nothing.

use tauri::webview::PageLoadEvent;
use tauri::{WebviewUrl, WebviewWindowBuilder};

fn main() {
    let page = "<!doctype html><title>Empty</title>".as_bytes();
    let app = tauri::Builder::default()
        .register_uri_scheme_protocol("empty", move |_, _| {
            tauri::http::Response::builder().header("content-type", "text/html").body(page.to_vec()).unwrap()
        })
        .setup(|app| {
            let url = WebviewUrl::CustomProtocol("empty://localhost/".parse()?);
            WebviewWindowBuilder::new(app, "empty", url)
                .title("Empty")
                .inner_size(1280.0, 800.0)
                .visible(false)
                .on_page_load(|window, load| {
                    if matches!(load.event(), PageLoadEvent::Finished) {
                        window.show().unwrap();
                    }
                })
                .build()?;
            Ok(())
        })
        .build(tauri::generate_context!())
        .unwrap();
    app.run(|_, _| {});
}
