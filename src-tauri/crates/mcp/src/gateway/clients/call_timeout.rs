//! How long a call is held for its program, so that it is answered before the program gives up (ruling 22, decision
//! 0020).
//!
//! Programs name themselves, so this decides about time and nothing else. Where an agent's own program was seen to give up
//! earlier than its kind, what the engine learned counts. Clients that know tasks are not held at all.

use std::time::Duration;

use domain::client::profile::{CallTimeout, ClientProfile, UNKNOWN, of_client};
use domain::policy;
use tokio::time::Instant;

use crate::gateway::request_context::RequestContext;
use crate::server::{CancelReason, RequestParams, ResponseStream, SessionTransport};

/// The program that waits for one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingProgram {
    profile: &'static ClientProfile,
    door: SessionTransport,
    /// Whether it asked for progress.
    hears_progress: bool,
    /// The timeout that this agent's program was seen to have.
    learned: Option<Duration>,
}

impl WaitingProgram {
    /// The program behind a request.
    pub(crate) fn of(context: &RequestContext, params: &RequestParams, stream: &ResponseStream) -> Self {
        Self {
            profile: of_client(context.client.program().map(|program| program.name.as_str())),
            door: context.door(stream),
            hears_progress: params.progress_token().is_some(),
            learned: context.state.engine.learned_timeout(context.agent),
        }
    }

    /// How it is connected; a program behind a bridge counts as stdio.
    pub(crate) const fn door(&self) -> SessionTransport {
        self.door
    }

    const fn timeout(&self) -> CallTimeout {
        match self.door {
            SessionTransport::Http => self.profile.http,
            SessionTransport::Stdio => self.profile.stdio,
        }
    }

    fn is_unknown(&self) -> bool {
        self.profile.word == UNKNOWN.word
    }

    /// Whether progress makes it wait on.
    pub(crate) const fn waits_on(&self) -> bool {
        self.hears_progress && self.timeout().progress_resets
    }

    /// How long its calls are held.
    pub(crate) fn call_limit(&self, policy: &policy::GatewayPolicy) -> Duration {
        let before = |timeout: Duration| timeout.saturating_sub(policy.call_limit_margin);
        let limit = if self.is_unknown() {
            policy.call_limit_unknown
        } else if self.waits_on() {
            policy.call_limit_ceiling
        } else {
            before(self.timeout().after)
        };
        limit.min(self.learned.map_or(Duration::MAX, before)).min(policy.call_limit_ceiling)
    }

    /// How long `tasks_wait` waits for it at most.
    pub(crate) fn wait_limit(&self, policy: &policy::GatewayPolicy) -> Duration {
        let limit = self.call_limit(policy);
        if self.is_unknown() { limit.min(policy.wait_max) } else { limit }
    }
}

/// Tells the engine if the program gives the call up. Drop it with the call: if the client is still there then, or left
/// because it lost its access, nothing is concluded.
pub(crate) struct TimeoutWatch<'a> {
    context: &'a RequestContext,
    params: &'a RequestParams,
    stream: &'a ResponseStream,
    began: Instant,
}

impl<'a> TimeoutWatch<'a> {
    pub(crate) const fn new(
        context: &'a RequestContext,
        params: &'a RequestParams,
        stream: &'a ResponseStream,
        began: Instant,
    ) -> Self {
        Self { context, params, stream, began }
    }
}

impl Drop for TimeoutWatch<'_> {
    fn drop(&mut self) {
        let given_up = self.stream.given_up();
        if given_up.is_none() && !self.stream.is_gone() {
            return;
        }
        let Self { context, params, stream, began } = self;
        // If progress makes it wait on, it was not the time since the call began that ran out.
        let is_timeout =
            given_up == Some(CancelReason::TimedOut) && !WaitingProgram::of(context, params, stream).waits_on();
        context.state.engine.call_abandoned(context.agent, began.elapsed(), is_timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, door: SessionTransport, hears_progress: bool) -> WaitingProgram {
        WaitingProgram { profile: of_client(Some(name)), door, hears_progress, learned: None }
    }

    #[test]
    fn a_program_is_answered_shortly_before_it_gives_up_on_its_transport() {
        let policy = policy::GatewayPolicy::default();
        for (name, door, progress, seconds) in [
            ("gemini-cli-mcp-client", SessionTransport::Http, false, 595),
            ("gemini-cli-mcp-client", SessionTransport::Stdio, true, 595),
            ("codex-mcp-client", SessionTransport::Stdio, true, 295),
            ("claude-code", SessionTransport::Http, false, 295),
            ("claude-code", SessionTransport::Http, true, 3_600),
            ("claude-code", SessionTransport::Stdio, false, 3_600),
            ("opencode", SessionTransport::Stdio, false, 55),
            ("opencode", SessionTransport::Http, true, 3_600),
            ("claude-ai", SessionTransport::Stdio, true, 235),
        ] {
            let program = program(name, door, progress);
            assert_eq!(program.call_limit(&policy).as_secs(), seconds, "{name} over {door:?}, progress: {progress}");
            assert_eq!(program.wait_limit(&policy), program.call_limit(&policy), "`tasks_wait` waits as long: {name}");
        }
    }

    #[test]
    fn a_program_that_nobody_knows_is_answered_early() {
        let policy = policy::GatewayPolicy::default();
        for progress in [false, true] {
            let stranger = program("somebody", SessionTransport::Http, progress);
            assert_eq!(stranger.call_limit(&policy), Duration::from_secs(25), "ruling 22");
            assert_eq!(stranger.wait_limit(&policy), Duration::from_secs(20));
        }
    }

    #[test]
    fn what_was_learned_counts_where_it_is_shorter() {
        let policy = policy::GatewayPolicy::default();
        let learned = |name, seconds| WaitingProgram {
            learned: Some(Duration::from_secs(seconds)),
            ..program(name, SessionTransport::Http, true)
        };
        assert_eq!(learned("gemini-cli", 120).call_limit(&policy), Duration::from_secs(115), "its own setting");
        assert_eq!(learned("gemini-cli", 1_200).call_limit(&policy), Duration::from_secs(595), "not longer than known");
        assert_eq!(learned("opencode", 120).call_limit(&policy), Duration::from_secs(115), "whatever it is said to do");
        assert_eq!(learned("somebody", 12).call_limit(&policy), Duration::from_secs(7));
    }
}
