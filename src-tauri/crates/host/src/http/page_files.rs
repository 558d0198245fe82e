//! The files of the page, from the build of the UI that this program was made with.
//!
//! A program built before the UI says so in a plain page. Names come from a list fixed at build time; a release reads
//! no path of the machine for a request. What the page does is the UI's.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../../ui/dist"]
#[allow_missing = true]
struct Built;

/// The page of a program that was built without the UI.
const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Taskwarden</title>\
    <h1>The window is not part of this build</h1>\
    <p>This program was built before its user interface. Build both with <code>cargo xtask run</code>, \
    or use the <code>taskwarden</code> command line, which can do everything.</p></html>";

/// Serves the file at an address.
pub(crate) async fn file(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match Built::get(path) {
        Some(file) => {
            // Names below `assets` contain a hash of their content; everything else is revalidated.
            let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
            reply(StatusCode::OK, media_type(path), keep, Body::from(file.data.into_owned()))
        }
        None if path == "index.html" => reply(StatusCode::OK, media_type(path), "no-store", Body::from(NOT_BUILT)),
        None => reply(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "no-store",
            Body::from("there is no such page; the window is at /\n"),
        ),
    }
}

fn reply(status: StatusCode, media: &'static str, keep: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    response
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "webmanifest") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_page_is_always_there_and_nothing_outside_the_build_is() {
        let first = file(Uri::from_static("/")).await;
        assert_eq!(first.status(), StatusCode::OK, "built or not, the page says something");
        let media = first.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        assert_eq!(media, Some("text/html; charset=utf-8"));
        for outside in ["/../Cargo.toml", "/..%2FCargo.toml", "//etc/passwd", "/assets/../../package.json"] {
            let Ok(uri) = outside.parse::<Uri>() else { continue };
            assert_eq!(file(uri).await.status(), StatusCode::NOT_FOUND, "{outside} is not served");
        }
    }
}
