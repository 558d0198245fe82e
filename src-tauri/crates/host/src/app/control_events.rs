//! The feed of the control API as a supervisor program reads it: server-sent events out of lines.
//!
//! The other end is `http/control_feed.rs`. What is told, and to whom, is decided there.

use api::ApiError;
use api::control::feed::ControlFeedEvent;
use futures::StreamExt as _;

use crate::app::socket_client::different_version;
use crate::http::feed_lines::FeedLines;

/// An open feed.
pub(crate) struct ControlEvents {
    lines: FeedLines,
    begun: EventText,
    /// The place of the newest event, or of a silence after it.
    place: Option<String>,
}

/// The lines of an event so far.
#[derive(Debug, Default)]
struct EventText {
    name: String,
    data: String,
    place: Option<String>,
}

impl ControlEvents {
    pub(crate) fn new(lines: FeedLines) -> Self {
        Self { lines, begun: EventText::default(), place: None }
    }

    /// Up to where it has told; `None` before it told anything.
    pub(crate) fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// The next event; `None` when the core ended. Cancel-safe.
    ///
    /// # Errors
    /// When the core does not answer any more, or says what cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<ControlFeedEvent>, ApiError> {
        while let Some(line) = self.lines.next().await {
            let line = line?;
            if let Some(place) = line.strip_prefix("id: ") {
                self.begun.place = Some(place.to_owned());
            }
            let is_whole = line.is_empty();
            let event = self.begun.take_line(&line)?;
            if is_whole && let Some(place) = self.begun.place.take() {
                self.place = Some(place);
            }
            if let Some(event) = event {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

impl EventText {
    /// Takes one more line; the event, once it is whole. Events of a newer core, places and comments are passed over.
    fn take_line(&mut self, line: &str) -> Result<Option<ControlFeedEvent>, ApiError> {
        if !line.is_empty() {
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut self.name),
                Some(("data", data)) => data.clone_into(&mut self.data),
                Some(_) | None => {}
            }
            return Ok(None);
        }
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        let event = match name.as_str() {
            "changed" => serde_json::from_str(&data).map(ControlFeedEvent::Changed),
            "readAgain" => serde_json::from_str(&data).map(ControlFeedEvent::ReadAgain),
            "ended" => serde_json::from_str(&data).map(ControlFeedEvent::Ended),
            _ => return Ok(None),
        };
        event.map(Some).map_err(|error| different_version(format!("an event of the feed cannot be read: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use api::control::feed::{ControlChanges, ControlFeedNote, ControlTaskChange};

    use super::*;

    fn read(text: &str) -> Vec<ControlFeedEvent> {
        let mut begun = EventText::default();
        text.lines().filter_map(|line| begun.take_line(line).expect("it is readable")).collect()
    }

    #[test]
    fn what_the_core_writes_is_read_back_and_places_and_comments_are_no_events() {
        let text = "retry: 3000\n\n: alive\nid: 6\n\nid: 7\nevent: changed\ndata: \
                    {\"tasks\":[{\"id\":\"hdl_1\",\"phase\":\"running\",\"over\":false}],\"halt\":false,\"pauses\":true,\
                    \"alarms\":false}\n\n\
                    event: ofANewerCore\ndata: {}\n\nid: 8\nevent: ended\ndata: {\"why\":\"a: b\"}\n\n";
        let task = ControlTaskChange { id: "hdl_1".into(), phase: "running".into(), over: false };
        let changes = ControlChanges { tasks: vec![task], halt: false, pauses: true, alarms: false };
        let ended = ControlFeedNote { why: "a: b".into() };
        assert_eq!(read(text), [ControlFeedEvent::Changed(changes), ControlFeedEvent::Ended(ended)]);
    }

    #[test]
    fn an_event_that_cannot_be_read_is_an_error_and_not_passed_over() {
        let mut begun = EventText::default();
        begun.take_line("event: changed").expect("a line");
        begun.take_line("data: {").expect("a line");
        assert!(begun.take_line("").is_err());
    }
}
