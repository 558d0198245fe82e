//! Reads the body of a POST. Most are there as a whole when their head is.
//!
//! How many bytes all requests may hold together, and how slowly they may come, is the host's matter.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Response, StatusCode};
use domain::policy::COPIED_BODY_MAX_BYTES;
use futures::stream::{self, StreamExt as _};

use super::reply_body::{ReplyBody, plain};

/// Reads a body of at most `cap` bytes within `limit`.
///
/// # Errors
/// The response that says what is wrong.
pub(super) async fn read<B>(mut body: B, cap: usize, limit: Duration) -> Result<Bytes, Response<ReplyBody>>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    let broken = || plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or broke off");
    let first = match poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx))).await {
        Poll::Ready(None) => return Ok(Bytes::new()),
        Poll::Ready(Some(Err(_))) => return Err(broken()),
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
        Poll::Pending => None,
    };
    if let Some(whole) = first.as_ref().filter(|_| body.is_end_stream()) {
        return match whole.len() {
            long if long > cap => Err(broken()),
            short if short <= COPIED_BODY_MAX_BYTES => Ok(Bytes::copy_from_slice(whole)),
            _ => Ok(whole.clone()),
        };
    }
    let pieces = stream::iter(first.map(Ok)).chain(Body::new(body).into_data_stream());
    match tokio::time::timeout(limit, axum::body::to_bytes(Body::from_stream(pieces), cap)).await {
        Ok(body) => body.map_err(|_| broken()),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}
