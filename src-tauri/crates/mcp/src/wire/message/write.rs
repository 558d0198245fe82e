//! Writes messages: version 2.0, ids in their type, no `null` params, one line.
//!
//! Raw values go out as they came, except that line breaks between tokens become blanks: on stdio and in server-sent
//! events a line break ends the message, and inside JSON strings it is always escaped.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Answer, Id};

#[derive(Serialize)]
struct Out<'a, P: Serialize + ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

#[derive(Serialize)]
struct OutResult<'a, R: Serialize + ?Sized> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a R,
}

#[derive(Serialize)]
struct OutError<'a, E: Serialize + ?Sized> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    error: &'a E,
}

const VERSION: &str = "2.0";

/// A request as bytes on one line, without a line break at the end.
///
/// # Errors
/// When `params` cannot be JSON (a map with keys that are not text).
pub fn request<P: Serialize + ?Sized>(id: &Id, method: &str, params: Option<&P>) -> serde_json::Result<Vec<u8>> {
    let params = given(params)?;
    serde_json::to_vec(&Out { jsonrpc: VERSION, id: Some(id), method, params: params.as_deref() }).map(on_one_line)
}

/// A request whose `params` are JSON text, as bytes on one line: the text is copied once and not read.
#[must_use]
pub(crate) fn request_text(id: &Id, method: &str, params: &str) -> Vec<u8> {
    let (id, method) = (id.json(), serde_json::Value::from(method).to_string());
    let parts = ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"method\":", &method, ",\"params\":", params, "}"];
    on_one_line(parts.concat().into_bytes())
}

/// A notification as bytes on one line.
///
/// # Errors
/// As [`request`].
pub fn notification<P: Serialize + ?Sized>(method: &str, params: Option<&P>) -> serde_json::Result<Vec<u8>> {
    let params = given(params)?;
    serde_json::to_vec(&Out { jsonrpc: VERSION, id: None, method, params: params.as_deref() }).map(on_one_line)
}

/// The params as JSON; nothing for `null`, which stands for params that never came: the TypeScript SDK drops a message
/// that holds it.
fn given<P: Serialize + ?Sized>(params: Option<&P>) -> serde_json::Result<Option<Box<RawValue>>> {
    let params = params.map(to_raw_value).transpose()?;
    Ok(params.filter(|params| params.get() != "null"))
}

/// A response with a result, as bytes on one line.
///
/// # Errors
/// As [`request`].
pub fn result<R: Serialize + ?Sized>(id: &Id, result: &R) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&OutResult { jsonrpc: VERSION, id, result }).map(on_one_line)
}

/// A response whose result is JSON text, as bytes on one line: the text is copied once and not read.
#[must_use]
pub(crate) fn result_text(id: &Id, result: &str) -> Vec<u8> {
    on_one_line(["{\"jsonrpc\":\"2.0\",\"id\":", &id.json(), ",\"result\":", result, "}"].concat().into_bytes())
}

/// What stands before and behind the result in a response with one.
#[must_use]
pub(crate) fn result_ends(id: &Id) -> (Vec<u8>, &'static [u8]) {
    let before = ["{\"jsonrpc\":\"2.0\",\"id\":", &id.json(), ",\"result\":"].concat();
    (before.into_bytes(), b"}")
}

/// A response with an error, as bytes on one line; without an id when that of the request could not be read.
///
/// # Errors
/// As [`request`].
pub fn error<E: Serialize + ?Sized>(id: Option<&Id>, error: &E) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&OutError { jsonrpc: VERSION, id, error }).map(on_one_line)
}

impl Answer {
    /// The whole response as bytes on one line.
    ///
    /// # Errors
    /// As [`request`].
    pub fn write(&self, id: &Id) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Result(raw) => result(id, raw),
            Self::Error(raw) => error(Some(id), raw),
        }
    }
}

/// JSON without line breaks: valid JSON has them only between tokens, where a blank means the same.
#[must_use]
pub fn on_one_line(mut json: Vec<u8>) -> Vec<u8> {
    let mut from = 0;
    while let Some(at) = json.get(from..).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest)) {
        from += at;
        if let Some(byte) = json.get_mut(from) {
            *byte = b' ';
        }
    }
    json
}
