//! The body of a reply: a text that is there, in one piece or three, or a stream.
//!
//! A large result is written as the slice that came from its server, between the two ends of its envelope
//! (`raw_result.rs`). Which form a reply has is decided in `exchange.rs`.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Response, StatusCode, header};
use hyper::body::{Frame, SizeHint};

use crate::server::rpc_error::RequestError;
use crate::wire::message::Id;

/// The body of a reply.
pub struct ReplyBody(Form);

enum Form {
    /// What is left to be written, in order.
    Ready([Bytes; 3]),
    Streamed(Body),
}

impl ReplyBody {
    /// A body of three pieces; empty ones are left out.
    pub(crate) const fn pieces(pieces: [Bytes; 3]) -> Self {
        Self(Form::Ready(pieces))
    }
}

impl From<Bytes> for ReplyBody {
    fn from(whole: Bytes) -> Self {
        Self(Form::Ready([whole, Bytes::new(), Bytes::new()]))
    }
}

impl From<Vec<u8>> for ReplyBody {
    fn from(whole: Vec<u8>) -> Self {
        Bytes::from(whole).into()
    }
}

impl From<Body> for ReplyBody {
    fn from(body: Body) -> Self {
        Self(Form::Streamed(body))
    }
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.0 {
            Form::Ready(pieces) => {
                let next = pieces.iter_mut().find(|piece| !piece.is_empty()).map(std::mem::take);
                Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
            }
            Form::Streamed(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Form::Ready(pieces) => pieces.iter().all(Bytes::is_empty),
            Form::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Form::Ready(pieces) => {
                let bytes: usize = pieces.iter().map(Bytes::len).sum();
                SizeHint::with_exact(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
            Form::Streamed(body) => body.size_hint(),
        }
    }
}

/// A JSON body.
pub(crate) fn json_response(status: StatusCode, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error with a status of its own.
pub(crate) fn refusal(status: StatusCode, id: Option<&Id>, fault: &RequestError) -> Response<ReplyBody> {
    match fault.write(id) {
        Ok(bytes) => json_response(status, bytes.into()),
        Err(_) => plain(status, "the request was refused"),
    }
}

/// A short text.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    if !text.is_empty() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}
