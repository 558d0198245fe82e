//! Reads lines from a client's pipe, bounded: a line that is too long is skipped.
//!
//! The id of a skipped line is kept, so that its request can be answered with an error.

use domain::policy::Policy;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::wire::message::{Id, MessageSkim};

/// One line, without its end.
pub(crate) enum ClientLine {
    /// A line to parse.
    Text(Vec<u8>),
    /// A line longer than the limit, gone; its id if it was a request.
    TooLong(Option<Id>),
}

/// Reads the next line; `None` at the end of input.
pub(crate) async fn next<R>(input: &mut R, policy: &Policy) -> std::io::Result<Option<ClientLine>>
where
    R: AsyncBufRead + Unpin,
{
    let cap = policy.serving.body_cap_bytes;
    let mut text = Vec::new();
    let mut skim: Option<MessageSkim> = None;
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            let whole = (!text.is_empty() && skim.is_none()).then_some(ClientLine::Text(text));
            return Ok(whole);
        }
        let (line, used, ended) = match memchr::memchr(b'\n', piece) {
            Some(end) => (piece.get(..end).unwrap_or_default(), end + 1, true),
            None => (piece, piece.len(), false),
        };
        if let Some(skim) = &mut skim {
            skim.feed(line, policy.rpc_id_cap_bytes);
        } else if text.len() + line.len() > cap {
            let mut begun = MessageSkim::default();
            begun.feed(&text, policy.rpc_id_cap_bytes);
            begun.feed(line, policy.rpc_id_cap_bytes);
            text = Vec::new();
            skim = Some(begun);
        } else {
            text.extend_from_slice(line);
        }
        input.consume(used);
        if ended {
            return Ok(Some(match skim {
                Some(skim) => ClientLine::TooLong(
                    skim.id_text().filter(|_| skim.has_method()).and_then(|id| Id::read(id, policy.rpc_id_cap_bytes)),
                ),
                None => ClientLine::Text(text),
            }));
        }
    }
}
