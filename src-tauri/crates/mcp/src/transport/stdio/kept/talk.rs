//! Small talk with a keeper outside a link: ordering the end of a child that is not wanted, and waiting for the
//! answer to a request of an earlier core.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::link::{Answer, LinkError};
use crate::transport::board::Place;
use crate::transport::stdio::keep::frame::{Frame, Frames, Kind};

/// Orders the end and waits for it, at most `limit`; the keeper sees to it in any case.
pub(super) async fn end(mut frames: Frames<impl AsyncRead + Unpin>, mut to: impl AsyncWrite + Unpin, limit: Duration) {
    let ended = async {
        let mut bytes = Vec::new();
        Frame::bare(Kind::End, 0).put(&mut bytes);
        to.write_all(&bytes).await?;
        while let Some(frame) = frames.next().await? {
            if frame.kind == Kind::Exited {
                break;
            }
        }
        Ok::<_, std::io::Error>(())
    };
    // Too slow or gone: nothing is left to do from here.
    let _ = timeout(limit, ended).await;
}

/// The answer to a request of an earlier core, however late.
pub(super) async fn answer(mut place: Place) -> Result<Answer, LinkError> {
    (&mut place.answer).await.unwrap_or_else(|_| {
        Err(LinkError::Broken {
            why: "the connection is over".into(),
            hint: "Taskwarden connects again by itself.".into(),
            sent: true,
        })
    })
}
