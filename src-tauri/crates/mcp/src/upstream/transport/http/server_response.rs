//! The response to an HTTP request, whichever client it came through.
//!
//! It has status, headers and pieces of the body; what they mean is for `response.rs`. A plain connection goes back to
//! its pool when the body has been read to the end, and is closed when the response is dropped before.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, StatusCode};

use super::plain_connection::PlainBody;
use super::plain_pool::PlainPool;

/// A response whose body has not been read.
pub(crate) enum ServerResponse {
    /// Over one of our own plain connections.
    Plain(PlainResponse),
    /// Through the client for TLS and proxies.
    Client(reqwest::Response),
}

impl ServerResponse {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Plain(response) => response.head.status,
            Self::Client(response) => response.status(),
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Plain(response) => &response.head.headers,
            Self::Client(response) => response.headers(),
        }
    }

    /// The length that the server declares for the rest of the body.
    pub(crate) fn content_length(&self) -> Option<u64> {
        match self {
            Self::Plain(response) => response.body.as_ref().and_then(PlainBody::declared_length),
            Self::Client(response) => response.content_length(),
        }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Box<dyn Error + Send + Sync>> {
        match self {
            Self::Plain(response) => Ok(response.chunk().await?),
            Self::Client(response) => Ok(response.chunk().await?),
        }
    }
}

/// A response over a plain connection.
pub(crate) struct PlainResponse {
    head: Parts,
    /// Gone when it was read to the end.
    body: Option<PlainBody>,
    pool: Arc<PlainPool>,
}

impl PlainResponse {
    pub(crate) fn new(head: Parts, body: PlainBody, pool: Arc<PlainPool>) -> Self {
        Self { head, body: Some(body), pool }
    }

    async fn chunk(&mut self) -> hyper::Result<Option<Bytes>> {
        let Some(body) = &mut self.body else { return Ok(None) };
        let piece = if body.is_complete() { None } else { body.chunk().await? };
        if piece.is_none() || body.is_complete() {
            self.give_back();
        }
        Ok(piece)
    }

    fn give_back(&mut self) {
        if let Some(body) = self.body.take() {
            self.pool.put(body.into_connection());
        }
    }
}

impl Drop for PlainResponse {
    fn drop(&mut self) {
        if self.body.as_ref().is_some_and(PlainBody::is_complete) {
            self.give_back();
        }
    }
}
