//! Forwards the core's frames to the window's one channel, and adds the shell's own message.
//!
//! Frames pass as text, unread. The shell's message `{"type":"open","hash":…}` opens a page. The command lasts as long
//! as its feed, so nothing is spawned; a new subscription replaces the old one.

use api::ApiError;
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde::Serialize;
use tauri::State;
use tauri::ipc::{Channel, InvokeResponseBody};
use tokio::sync::oneshot;

use crate::core::Core;

/// The shell's own message on the channel.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum ShellMessage<'a> {
    Open { hash: &'a str },
}

/// The window's subscription, and the page to open once there is one.
#[derive(Default)]
pub(crate) struct PageChannel {
    state: Mutex<ChannelState>,
}

#[derive(Default)]
struct ChannelState {
    channel: Option<Channel<InvokeResponseBody>>,
    /// Dropped when another subscription takes this one's place.
    replaced: Option<oneshot::Sender<()>>,
    pending_hash: Option<String>,
}

impl PageChannel {
    /// Opens a page: at once, or as soon as the window subscribes.
    pub(crate) fn open(&self, hash: &str) {
        let mut state = self.state.lock();
        let is_sent = state.channel.as_ref().is_some_and(|channel| send(channel, &ShellMessage::Open { hash }));
        state.pending_hash = (!is_sent).then(|| hash.to_owned());
    }

    /// Replaces the previous subscription. The receiver ends when the next one comes.
    fn replace(&self, channel: &Channel<InvokeResponseBody>) -> oneshot::Receiver<()> {
        let (sender, replaced) = oneshot::channel();
        let mut state = self.state.lock();
        state.channel = Some(channel.clone());
        state.replaced = Some(sender);
        if let Some(hash) = state.pending_hash.take() {
            send(channel, &ShellMessage::Open { hash: &hash });
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
    page: State<'_, PageChannel>,
    channel: Channel<InvokeResponseBody>,
    input: String,
) -> Result<(), ApiError> {
    let mut frames = core.door().await?.feed(input).await?;
    // The receiver never gets a value: its sender is dropped.
    let mut replaced = page.replace(&channel);
    loop {
        let frame = tokio::select! {
            biased;
            _ = &mut replaced => return Ok(()),
            frame = frames.next() => frame,
        };
        let text = frame.unwrap_or_else(|| Err(ApiError::no_core()))?;
        if channel.send(InvokeResponseBody::Json(text)).is_err() {
            // The page is gone.
            return Ok(());
        }
    }
}

/// Whether it was handed over.
fn send(channel: &Channel<InvokeResponseBody>, message: &ShellMessage<'_>) -> bool {
    serde_json::to_string(message).is_ok_and(|text| channel.send(InvokeResponseBody::Json(text)).is_ok())
}
