//! The feed of a supervisor program as server-sent events.
//!
//! Each event has the place up to which it tells as its id, which a program sends back as `Last-Event-ID`. In a silence
//! a comment with the place of now is sent, so that each end notices when the other is gone and nobody reads again what
//! is out of reach. What is told is `api`'s; a reader that does not read is cut off by the listener (`connection.rs`).

use std::convert::Infallible;
use std::time::Duration;

use api::ApiError;
use api::control::ControlCaller;
use api::control::feed::{ControlFeedEvent, ControlFeedItem};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream, Stream};
use tokio::time::{Instant, timeout_at};

use super::control::{ControlCalls, usage};

/// The place that a program came to.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Opens the feed of a program.
///
/// # Errors
/// When its place is not one, or it may not have a feed.
pub(super) async fn open(
    calls: &ControlCalls,
    caller: &ControlCaller,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let items = calls.api.control_feed(caller, place(headers)?).await?;
    tracing::info!(control = %caller.id(), "opened a feed with a control token");
    let begin = Bytes::from(format!("retry: {}\n\n", calls.feed_retry.as_millis()));
    let events = stream::once(async move { begin }).chain(written(items, calls.feed_heartbeat));
    let stop = calls.supervisor.stopping();
    let body = Body::from_stream(events.take_until(stop.cancelled_owned()).map(Ok::<_, Infallible>));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

/// The place after which the feed begins; none at the first time.
fn place(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let mut shown = headers.get_all(LAST_EVENT).iter();
    let (Some(only), more) = (shown.next(), shown.next()) else { return Ok(None) };
    let text = only.to_str().ok().map(str::trim).filter(|_| more.is_none());
    match text {
        // Some programs send it empty before their first event.
        Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| not_a_place()),
        None => Err(not_a_place()),
    }
}

fn not_a_place() -> ApiError {
    usage("`Last-Event-ID` is not the id of an event of this feed: send the last id as it came, or leave it out")
}

/// Items as text. In a silence of this length the place is said alone.
fn written(items: BoxStream<'static, ControlFeedItem>, every: Duration) -> impl Stream<Item = Bytes> + Send + 'static {
    let begun = Instant::now();
    stream::unfold((items, 0, begun), move |(mut items, mut place, said)| async move {
        let beat = said + every;
        loop {
            // Waiting for the next item may be dropped: the stream keeps its place.
            match timeout_at(beat, items.next()).await {
                Ok(Some(item)) => {
                    place = item.place;
                    if let Some(event) = item.event {
                        let text = event_text(place, &event);
                        return Some((text, (items, place, Instant::now())));
                    }
                }
                Ok(None) => return None,
                Err(_) => {
                    return Some((Bytes::from(format!(": alive\nid: {place}\n\n")), (items, place, Instant::now())));
                }
            }
        }
    })
}

fn event_text(place: u64, event: &ControlFeedEvent) -> Bytes {
    let (name, data) = match event {
        ControlFeedEvent::Changed(changes) => ("changed", serde_json::to_string(changes)),
        ControlFeedEvent::ReadAgain(note) => ("readAgain", serde_json::to_string(note)),
        ControlFeedEvent::Ended(note) => ("ended", serde_json::to_string(note)),
    };
    // Texts and booleans are always JSON, on one line.
    Bytes::from(format!("id: {place}\nevent: {name}\ndata: {}\n\n", data.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use api::control::feed::{ControlChanges, ControlFeedNote, ControlTaskChange};
    use axum::http::HeaderValue;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_out_of_reach_moves_the_place_and_says_nothing_else() {
        let every = Duration::from_secs(3);
        let task = ControlTaskChange { id: "hdl_1".into(), phase: "running".into(), over: false };
        let changes = ControlChanges { tasks: vec![task], halt: false, pauses: true, alarms: false };
        let note = ControlFeedNote { why: "its control token was revoked".into() };
        let items = [
            (1, 4, Some(ControlFeedEvent::Changed(changes))),
            (1, 5, None),
            (1, 6, None),
            (3, 7, Some(ControlFeedEvent::Ended(note))),
        ];
        let items = stream::iter(items).then(|(seconds, place, event)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            ControlFeedItem { place, event }
        });
        let texts: Vec<Bytes> = written(items.boxed(), every).collect().await;
        let expected = [
            "id: 4\nevent: changed\ndata: {\"tasks\":[{\"id\":\"hdl_1\",\"phase\":\"running\",\"over\":false}],\"halt\":false,\
             \"pauses\":true,\"alarms\":false}\n\n",
            ": alive\nid: 6\n\n",
            "id: 7\nevent: ended\ndata: {\"why\":\"its control token was revoked\"}\n\n",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_place_is_a_number_or_nothing() {
        let with = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(LAST_EVENT, HeaderValue::from_static(value));
            }
            place(&headers).map_err(|error| error.code)
        };
        assert_eq!(with(&[]), Ok(None));
        assert_eq!(with(&[""]), Ok(None), "a program that has no event yet");
        assert_eq!(with(&["17"]), Ok(Some(17)));
        for wrong in [&["x"][..], &["-1"], &["1", "2"]] {
            assert_eq!(with(wrong), Err(api::Code::Usage), "{wrong:?}");
        }
    }
}
