//! Replies of listener and socket: JSON text with the status that fits the error's code.
//!
//! The status is for programs that look at nothing else; ours read the code. No text is written here.

use api::{ApiError, Code};
use axum::http::{StatusCode, header};
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
        Code::NeedsInput => StatusCode::CONFLICT,
        Code::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Code::NoCore => StatusCode::SERVICE_UNAVAILABLE,
        Code::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let text = serde_json::to_string(error).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
