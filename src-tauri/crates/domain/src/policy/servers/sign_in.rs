//! The limits of signing in to servers with OAuth.
//!
//! The exchange itself is in the MCP crate (`oauth.rs`); what a sign-in is, in `docs/sign-in.md`.

use std::time::Duration;

use super::super::{BadPolicy, DAY, KIB, MINUTE, SECOND};

/// How long things take, and how large they may be, when a person signs in to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInPolicy {
    /// How long a sign-in waits for the browser. setup.md §3.3 (2): five minutes.
    pub browser_wait: Duration,
    /// How long finding out where to sign in may take, and exchanging a code or a token. Judgement: some requests, each
    /// of which the library gives up after 30 s.
    pub exchange_limit: Duration,
    /// A token is renewed after this part of its lifetime, in percent. setup.md §3.3 (4): 80 %.
    pub renew_percent: u32,
    /// The renewal is earlier by up to this part of the lifetime, in percent, so that servers of one issuer do not renew
    /// at once. Judgement.
    pub renew_jitter_percent: u32,
    /// A token that was renewed because the server refused the one before is not renewed again for that reason within
    /// this time. setup.md §3.3 (5): 10 s.
    pub renew_rest: Duration,
    /// A renewal that failed for a reason that may pass is tried again after this. Judgement.
    pub renew_again: Duration,
    /// How long a core that ends waits for a renewal that is under way. Judgement: a token that the issuer rotated and nobody
    /// kept costs a person a sign-in.
    pub stop_grace: Duration,
    /// Lifetimes count as no longer than this. Judgement: a longer one means no end.
    pub lifetime_max: Duration,
    /// Longest access token. Judgement: servers limit all headers of a request to 8 to 32 KiB.
    pub token_bytes: usize,
    /// Longest address that a browser comes back to, and longest challenge that is kept. Judgement: some parameters.
    pub callback_bytes: usize,
    /// How long a browser may take to send its request. Judgement: it comes from this machine.
    pub callback_limit: Duration,
    /// Browsers and other programs that are connected to one waiting sign-in at once. Judgement.
    pub callback_connections: usize,
    /// Permissions (scopes) that are asked for, at most. Judgement.
    pub scopes_max: usize,
    /// Longest document of a server about signing in that is read. Judgement: those seen have 1 KiB.
    pub document_bytes: usize,
    /// How long signing out waits for the server to forget the token. Judgement: signing out here does not depend on it.
    pub revoke_limit: Duration,
}

impl Default for SignInPolicy {
    fn default() -> Self {
        Self {
            browser_wait: 5 * MINUTE,
            exchange_limit: MINUTE,
            renew_percent: 80,
            renew_jitter_percent: 5,
            renew_rest: 10 * SECOND,
            renew_again: 15 * SECOND,
            stop_grace: 5 * SECOND,
            lifetime_max: 365 * DAY,
            token_bytes: 16 * KIB,
            callback_bytes: 16 * KIB,
            callback_limit: 5 * SECOND,
            callback_connections: 8,
            scopes_max: 64,
            document_bytes: 64 * KIB,
            revoke_limit: 5 * SECOND,
        }
    }
}

impl SignInPolicy {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule((1..=100).contains(&self.renew_percent), "sign_in.renew_percent", "must be between 1 and 100")?;
        rule(
            self.renew_jitter_percent < self.renew_percent,
            "sign_in.renew_jitter_percent",
            "must be below renew_percent",
        )?;
        rule(self.callback_connections > 0, "sign_in.callback_connections", "must be above zero")?;
        rule(self.scopes_max > 0, "sign_in.scopes_max", "must be above zero")
    }
}
