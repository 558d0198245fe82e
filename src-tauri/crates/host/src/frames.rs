//! The feed of a window as lines of text: a `SubscribeInput` in, one `Frame` a line out.
//!
//! Shared by the socket, the browser's door and the window, so that all three carry the same bytes. What a frame says
//! and how often one comes is `api`'s; nothing is kept here.

use api::{Api, ApiError, Caller, Code};
use futures::stream::BoxStream;

/// Lines of a feed; an error is the last one.
pub(crate) type Lines = BoxStream<'static, Result<String, ApiError>>;

/// Opens the feed of a caller.
pub(crate) async fn open(api: &Api, caller: &Caller, input: &str) -> Result<Lines, ApiError> {
    let _ = (api, caller, input);
    Err(ApiError::new(Code::Failed, "the feed of frames is not part of this build", "Build a newer one."))
}
