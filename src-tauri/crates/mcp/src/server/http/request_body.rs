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
use futures::Stream;
use futures::stream::{self, StreamExt as _};

use super::reply_body::{ReplyBody, plain, refusal};
use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unread {
    TooLarge,
    BrokeOff,
}

impl Unread {
    fn response(self, cap: usize) -> Response<ReplyBody> {
        match self {
            Self::TooLarge => {
                let why = format!("the body has more than {cap} bytes, the most that one request may have");
                let fault = RequestError::new(RequestErrorKind::InvalidRequest, why);
                refusal(StatusCode::PAYLOAD_TOO_LARGE, None, &fault)
            }
            Self::BrokeOff => plain(StatusCode::BAD_REQUEST, "the body broke off"),
        }
    }
}

/// Reads a body of at most `cap` bytes within `limit`.
///
/// # Errors
/// The response that says what is wrong.
pub(super) async fn read<B>(mut body: B, cap: usize, limit: Duration) -> Result<Bytes, Response<ReplyBody>>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    let first = match poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx))).await {
        Poll::Ready(None) => return Ok(Bytes::new()),
        Poll::Ready(Some(Err(_))) => return Err(Unread::BrokeOff.response(cap)),
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
        Poll::Pending => None,
    };
    if let Some(whole) = first.as_ref().filter(|_| body.is_end_stream()) {
        return match whole.len() {
            long if long > cap => Err(Unread::TooLarge.response(cap)),
            short if short <= COPIED_BODY_MAX_BYTES => Ok(Bytes::copy_from_slice(whole)),
            _ => Ok(whole.clone()),
        };
    }
    let pieces = stream::iter(first.map(Ok)).chain(Body::new(body).into_data_stream());
    match tokio::time::timeout(limit, collect(pieces, cap)).await {
        Ok(body) => body.map_err(|unread| unread.response(cap)),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// The pieces as one; nothing beyond the cap is kept.
async fn collect(pieces: impl Stream<Item = Result<Bytes, axum::Error>>, cap: usize) -> Result<Bytes, Unread> {
    let mut pieces = std::pin::pin!(pieces);
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::BrokeOff)?;
        if whole.len().saturating_add(piece.len()) > cap {
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(response: Response<ReplyBody>) -> String {
        let bytes = axum::body::to_bytes(Body::new(response.into_body()), usize::MAX).await.expect("a body");
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    async fn in_pieces(pieces: Vec<Result<&'static str, std::io::Error>>, cap: usize) -> Result<Bytes, (u16, String)> {
        let pieces = pieces.into_iter().map(|piece| piece.map(|text| Bytes::from_static(text.as_bytes())));
        let body = Body::from_stream(stream::iter(pieces));
        match read(body, cap, Duration::from_secs(60)).await {
            Ok(bytes) => Ok(bytes),
            Err(response) => Err((response.status().as_u16(), text(response).await)),
        }
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused_with_the_limit_as_a_json_rpc_error() {
        assert_eq!(
            in_pieces(vec![Ok("ab"), Ok("cd")], 4).await,
            Ok(Bytes::from_static(b"abcd")),
            "as large as allowed"
        );
        for pieces in [vec![Ok("ab"), Ok("cde")], vec![Ok("abcde")]] {
            let (status, said) = in_pieces(pieces, 4).await.expect_err("too large");
            assert_eq!(status, 413);
            let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
            assert_eq!((&said["jsonrpc"], &said["id"]), (&"2.0".into(), &serde_json::Value::Null), "{said}");
            assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains("more than 4 bytes")), "{said}");
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_called_too_large() {
        let broken = || Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        for pieces in [vec![Ok("ab"), broken()], vec![broken()]] {
            assert_eq!(in_pieces(pieces, 4).await.map_err(|(status, _)| status), Err(400));
        }
    }
}
