//! The part of a browser in a sign-in: follows the authorization address, and lands on the client's callback.
//!
//! In two steps, so that a test can change the address in between, or hand it over as pasted text. It never leaves the
//! loopback interface, whatever an address says.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

/// Longest wait for one answer: a callback of a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the browser shows in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The HTTP status code.
    pub status: u16,
    /// The page as text.
    pub body: String,
}

/// Opens the address a client wants a person to open, and returns the address the browser is sent to: the callback with
/// its parameters. An answer that is not a redirect is an error with its status and text.
pub async fn browse(authorization_url: &str) -> Result<String, String> {
    let response = open(authorization_url).await?;
    let status = response.status();
    let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
    match location {
        Some(location) if status.is_redirection() => {
            let base = Url::parse(authorization_url).map_err(|e| e.to_string())?;
            base.join(&location).map(String::from).map_err(|e| format!("`{location}` is no address: {e}"))
        }
        Some(_) | None => {
            let body = response.text().await.unwrap_or_default();
            Err(format!("{}: {body}", status.as_u16()))
        }
    }
}

/// Requests the callback, as the browser does that was sent there.
pub async fn land(address: &str) -> Result<Landing, String> {
    let response = open(address).await?;
    let status = response.status().as_u16();
    let body = response.text().await.map_err(|e| format!("the page of the callback broke off: {e}"))?;
    Ok(Landing { status, body })
}

async fn open(address: &str) -> Result<Response, String> {
    let url = Url::parse(address).map_err(|e| format!("`{address}` is no address: {e}"))?;
    let is_local = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    if url.scheme() != "http" || !is_local {
        return Err(format!("`{address}` is not on the loopback interface"));
    }
    let client = Client::builder().redirect(Policy::none()).timeout(PATIENCE).no_proxy().build();
    let client = client.map_err(|e| e.to_string())?;
    client.get(url).send().await.map_err(|e| format!("`{address}` does not answer: {e}"))
}
