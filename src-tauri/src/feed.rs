//! Pumps the core's frames into the one channel of the window, and adds what only the shell says.
//!
//! Frames pass as the text they are; nothing here reads them. Beside them the shell sends one message of its own:
//! `{"type":"open","hash":…}` shows a place. The command lasts as long as its feed, so nothing is spawned; a new
//! subscription takes the place of the old one. `core.rs` knows the door, `links.rs` the places.

use api::ApiError;
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde::Serialize;
use tauri::State;
use tauri::ipc::{Channel, InvokeResponseBody};
use tokio::sync::oneshot;

use crate::core::Core;

/// What the shell itself says on the channel.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Said<'a> {
    Open { hash: &'a str },
}

/// The window's subscription, and the place to show when there is none yet.
#[derive(Default)]
pub(crate) struct Line {
    state: Mutex<LineState>,
}

#[derive(Default)]
struct LineState {
    channel: Option<Channel<InvokeResponseBody>>,
    /// Dropped when another subscription takes this one's place.
    replaced: Option<oneshot::Sender<()>>,
    waiting: Option<String>,
}

impl Line {
    /// Shows a place: at once, or as soon as the page listens.
    pub(crate) fn open(&self, hash: &str) {
        let mut state = self.state.lock();
        let heard = state.channel.as_ref().is_some_and(|channel| say(channel, &Said::Open { hash }));
        state.waiting = (!heard).then(|| hash.to_owned());
    }

    /// Takes the place of the subscription before. The receiver ends when the next one comes.
    fn take_place(&self, channel: &Channel<InvokeResponseBody>) -> oneshot::Receiver<()> {
        let (sender, replaced) = oneshot::channel();
        let mut state = self.state.lock();
        state.channel = Some(channel.clone());
        state.replaced = Some(sender);
        if let Some(hash) = state.waiting.take() {
            say(channel, &Said::Open { hash: &hash });
        }
        replaced
    }
}

/// Carries frames on this channel until the feed ends or the page subscribes anew; returns then.
///
/// # Errors
/// That there is no core or it ended, or that the input cannot be read.
#[tauri::command]
pub(crate) async fn subscribe(
    core: State<'_, Core>,
    line: State<'_, Line>,
    channel: Channel<InvokeResponseBody>,
    input: String,
) -> Result<(), ApiError> {
    let mut frames = core.door().await?.feed(input).await?;
    // The receiver never gets a value: its sender is dropped.
    let mut replaced = line.take_place(&channel);
    loop {
        let frame = tokio::select! {
            biased;
            _ = &mut replaced => return Ok(()),
            frame = frames.next() => frame,
        };
        let text = frame.unwrap_or_else(|| Err(ApiError::no_core()))?;
        if channel.send(InvokeResponseBody::Json(text)).is_err() {
            // The page is gone, and with it whoever would hear.
            return Ok(());
        }
    }
}

/// Whether it was handed over.
fn say(channel: &Channel<InvokeResponseBody>, said: &Said<'_>) -> bool {
    serde_json::to_string(said).is_ok_and(|text| channel.send(InvokeResponseBody::Json(text)).is_ok())
}
