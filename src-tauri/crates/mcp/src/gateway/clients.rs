//! How long known clients wait for a tool, so that a held call is answered before its client gives up (ruling 22).
//!
//! A client names itself, so this is patience and nothing else: no right hangs on it. Each line has its source; a
//! client that is not here gets the policy's `call_limit_unknown`. Clients that know tasks are not held at all.

use std::time::Duration;

use domain::policy::Policy;

use crate::serve::Program;

/// What `clientInfo.name` begins with, and the seconds after which that client gives a tool up by default.
const KNOWN: [(&str, u64); 6] = [
    // Event streams were cut after about five minutes whatever was configured; on stdio it waits for hours.
    // github.com/anthropics/claude-code issue 20335 (HTTP), and its variable MCP_TOOL_TIMEOUT.
    ("claude-code", 300),
    // "No result received ... after waiting 4 minutes", Claude Desktop 1.11187: anthropics/claude-code issue 65643.
    ("claude-ai", 240),
    // `tool_timeout_sec` is 60 when it is not set: farion1231/cc-switch pull request 580, on Codex's configuration.
    ("codex-mcp-client", 60),
    // Enforced 60 s on tool calls from 0.2.1 on: google-gemini/gemini-cli issue 7324.
    ("gemini-cli-mcp-client", 60),
    // 60 s in the editor: cline/cline issue 12576; its command line was mended to the same in 12546.
    ("Cline", 60),
    // 60 s whatever is configured: github/copilot-cli issue 1535.
    ("github-copilot-developer", 60),
];

/// How long a call is held for this client.
pub(super) fn patience(program: Option<&Program>, policy: &Policy) -> Duration {
    let gateway = &policy.gateway;
    let known = program.and_then(|program| KNOWN.iter().find(|(name, _)| program.name.starts_with(name)));
    let limit = known.map_or(gateway.call_limit_unknown, |(_, seconds)| {
        Duration::from_secs(*seconds).saturating_sub(gateway.call_limit_margin)
    });
    limit.min(gateway.call_limit_ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_client_is_answered_before_it_gives_up_and_an_unknown_one_early() {
        let policy = Policy::default();
        let named = |name: &str| Program { name: name.to_owned(), version: "1".to_owned() };
        assert_eq!(patience(Some(&named("claude-ai")), &policy), Duration::from_secs(235), "5 s before its 4 minutes");
        assert_eq!(patience(Some(&named("codex-mcp-client-2")), &policy), Duration::from_secs(55), "by how it begins");
        for stranger in [None, Some(named("somebody"))] {
            assert_eq!(patience(stranger.as_ref(), &policy), Duration::from_secs(25), "ruling 22");
        }
    }
}
