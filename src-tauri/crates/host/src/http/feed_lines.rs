//! The feed of a window as lines of text: a `SubscribeInput` in, one `FeedFrame` per line out.
//!
//! Shared by socket, browser and window, so that all three carry the same bytes. What a frame says and how often one
//! comes is `api`'s; nothing is stored here.

use std::time::Duration;

use api::feed::frame::{FeedFrame, SubscribeInput};
use api::{Api, ApiError, Caller};
use axum::body::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt as _};

/// Lines of a feed; an error is the last one.
pub(crate) type FeedLines = BoxStream<'static, Result<String, ApiError>>;

/// Opens the feed of a caller.
pub(crate) async fn open(api: &Api, caller: &Caller, input: &str) -> Result<FeedLines, ApiError> {
    let wanted: SubscribeInput = serde_json::from_str(input).map_err(|error| ApiError::bad_input(&error))?;
    let frames = api.open_feed(caller, wanted).await?;
    let written = |frame: FeedFrame| serde_json::to_string(&frame).map_err(|error| ApiError::unwritable(&error));
    Ok(frames.map(move |frame| frame.and_then(written)).boxed())
}

/// Lines with their end marks; an error as its own line.
pub(crate) fn as_bytes(lines: FeedLines) -> BoxStream<'static, Bytes> {
    lines
        .map(|line| {
            let text = line.unwrap_or_else(|error| serde_json::to_string(&error).unwrap_or_default());
            Bytes::from(text + "\n")
        })
        .boxed()
}

/// Adds a blank line after every silence of this length, so that each end notices when the other is gone.
pub(crate) fn with_heartbeat(
    lines: BoxStream<'static, Bytes>,
    every: Duration,
) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(lines, move |mut lines| async move {
        // Waiting for the next line may be dropped: the stream keeps its place.
        match tokio::time::timeout(every, lines.next()).await {
            Ok(Some(line)) => Some((line, lines)),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(b"\n"), lines)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_feed_sends_blank_lines_and_ends_with_its_source() {
        let every = Duration::from_secs(15);
        let slow = stream::once(async move {
            tokio::time::sleep(every * 5 / 2).await;
            Ok("{}".to_owned())
        });
        let fed: Vec<Bytes> = with_heartbeat(as_bytes(slow.boxed()), every).collect().await;
        assert_eq!(fed, ["\n", "\n", "{}\n"], "two blank lines, the line, the end");
    }
}
