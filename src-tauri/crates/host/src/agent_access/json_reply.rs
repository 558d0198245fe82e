//! Replies of listener and socket: JSON text with the status that fits the error's code.
//!
//! The status is for programs that look at nothing else; ours read the code. The only text here is that of a body that is
//! too large, which the library would say in its own words.

use api::{ApiError, Code};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// A successful reply.
pub(crate) fn json(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A reply that says why the request was refused or failed.
pub(crate) fn refused(error: &ApiError) -> Response {
    let status = match error.code {
        Code::Usage => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Refused => StatusCode::FORBIDDEN,
        Code::OverLimit => StatusCode::TOO_MANY_REQUESTS,
        Code::NeedsInput => StatusCode::CONFLICT,
        Code::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Code::NoCore => StatusCode::SERVICE_UNAVAILABLE,
        Code::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let text = serde_json::to_string(error).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A layer for routes with a limit of `most` bytes for a body: says the limit in the form of all other refusals.
pub(crate) async fn say_body_limit(most: usize, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.status() != StatusCode::PAYLOAD_TOO_LARGE {
        return response;
    }
    let error = ApiError::new(
        Code::Refused,
        format!("the body has more than {most} bytes, the most that one request may have"),
        "Send less at once; a large value belongs into a file that the server reads.",
    );
    let mut response = refused(&error);
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}
