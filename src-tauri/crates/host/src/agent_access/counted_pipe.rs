//! The input stream of a bridge: bytes of an unfinished line count against the request budget, like those of a body.
//!
//! All it knows of the content is where a line ends. Lines that are too long are cut by the gateway's own reader. Read
//! `request_budget.rs` for the limits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use domain::ids::AgentId;
use tokio::io::{AsyncRead, ReadBuf};

use crate::agent_access::request_budget::{HeldBytes, Holder, RequestBudget};

/// What an agent says, counted up to the end of each line. Over its share the stream breaks off.
pub(crate) struct CountedPipe<R> {
    input: R,
    held: Arc<HeldBytes>,
}

impl<R> CountedPipe<R> {
    /// Counts for this agent.
    pub(crate) fn new(input: R, budget: &RequestBudget, agent: AgentId) -> Self {
        Self { input, held: budget.hold(Holder::Agent(agent)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CountedPipe<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.input).poll_read(cx, buf);
        let read = buf.filled().get(before..).unwrap_or_default();
        let begun = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                self.held.give_back_all();
                read.len().saturating_sub(end).saturating_sub(1)
            }
            None => read.len(),
        };
        if begun > 0 && !self.held.grow(begun) {
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::{Policy, SharePolicy};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn whole_lines_count_for_nothing_and_a_line_without_an_end_up_to_the_share() {
        let shares = SharePolicy { body_bytes_max: 40, ..SharePolicy::default() };
        let budget = RequestBudget::new(&Policy { shares, ..Policy::default() });
        let (mut agent, core) = tokio::io::duplex(1_024);
        let mut pipe = CountedPipe::new(core, &budget, AgentId::from_random(1));
        let mut read = [0; 64];
        for _ in 0..10 {
            agent.write_all(b"a line\n").await.expect("written");
            assert_eq!(pipe.read(&mut read).await.ok(), Some(7), "any number of lines");
        }
        agent.write_all(b"12345678").await.expect("written");
        assert_eq!(pipe.read(&mut read).await.ok(), Some(8), "within the share of ten bytes");
        agent.write_all(b"901").await.expect("written");
        let refused = pipe.read(&mut read).await.expect_err("eleven are too many");
        assert_eq!(refused.kind(), io::ErrorKind::QuotaExceeded, "{refused}");
    }
}
