//! Reads lines from a client's pipe, bounded: a line that is too long is skipped.
//!
//! The id of a skipped line is kept, so that its request can be answered with an error.

use domain::policy::Policy;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use crate::server::stdio::line_budget::{LineBudget, LineCount};
use crate::wire::message::{Id, MessageSkim};

/// A line of at most so many bytes is read although there is no room for it: it may be a cancel, or an answer that a
/// server waits for. A request in it is refused. Judgement: a few times the size of an answer to a form.
const SHORT_BYTES: usize = 64 * 1_024;

/// One line, without its end.
pub(crate) enum ClientLine {
    /// A line to parse.
    Text(Vec<u8>),
    /// A line longer than the limit, gone; its id if it was a request.
    TooLong(Option<Id>),
    /// A line for which there was no room, gone; its id if it was a request.
    NoRoom(Option<Id>),
}

/// Reads the next line, and counts it; `None` at the end of input.
pub(crate) async fn next<R>(
    input: &mut R,
    policy: &Policy,
    budget: Option<&dyn LineBudget>,
) -> std::io::Result<Option<(ClientLine, LineCount)>>
where
    R: AsyncBufRead + Unpin,
{
    let cap = policy.serving.body_cap_bytes;
    let mut count = LineCount::begin(budget);
    let mut text = Vec::new();
    let mut skim: Option<MessageSkim> = None;
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            let whole = (!text.is_empty() && skim.is_none()).then_some(ClientLine::Text(text));
            return Ok(whole.map(|line| (line, count)));
        }
        let (line, used, ended) = match memchr::memchr(b'\n', piece) {
            Some(end) => (piece.get(..end).unwrap_or_default(), end + 1, true),
            None => (piece, piece.len(), false),
        };
        let bytes = text.len() + line.len();
        if skim.is_none() && bytes <= cap {
            count.grow(line.len());
        }
        if let Some(skim) = &mut skim {
            skim.feed(line, policy.rpc_id_cap_bytes);
        } else if bytes > cap || count.is_over() && bytes > SHORT_BYTES {
            count.give_back();
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
            let id = |skim: &MessageSkim| {
                skim.id_text().filter(|_| skim.has_method()).and_then(|id| Id::read(id, policy.rpc_id_cap_bytes))
            };
            let line = match skim {
                Some(skim) if count.is_over() => ClientLine::NoRoom(id(&skim)),
                Some(skim) => ClientLine::TooLong(id(&skim)),
                None => ClientLine::Text(text),
            };
            return Ok(Some((line, count)));
        }
    }
}
