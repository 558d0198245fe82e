//! The sign-in to a server as JSON shows it.
//!
//! No token and no code is in it, but for the address that the browser opens. What a sign-in is stands in
//! `docs/sign-in.md`; how one goes is in `calls/servers/sign_in.rs`.

use domain::ports::{Revocation, SignInFault, TokenFacts};
use engine::{SignInStarted, SignInStatus};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::super::iso;
use super::super::words::words;

words! {
    /// How it is with a sign-in.
    SignInStateDto {
        /// Nobody is signed in, and the server did not ask for it.
        SignedOut = "signedOut",
        /// The server asked for a sign-in that is not there.
        Needed = "needed",
        /// A browser is waited for.
        Waiting = "waiting",
        /// The server gets a token with each request.
        SignedIn = "signedIn",
    }
    /// Whether the issuer forgot a token.
    RevocationDto {
        /// There was none.
        Nothing = "nothing",
        /// It confirmed that the token is good no more.
        Done = "done",
        /// It was not asked, because it offers no way, or did not confirm it.
        NotConfirmed = "notConfirmed",
    }
}

/// The sign-in to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignInDto {
    #[ts(inline)]
    pub state: SignInStateDto,
    /// While a browser is waited for: one came with an address that does not belong to this sign-in, which goes on.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub strayed: bool,
    /// Whom the token is from: a URL.
    pub issuer: Option<String>,
    /// The permissions that came with the token.
    pub scopes: Vec<String>,
    /// Permissions that the server asked for and the token does not have.
    pub missing_scopes: Vec<String>,
    /// Until when the token is good.
    pub until: Option<String>,
    /// Whether it is renewed without a person.
    pub renewed: bool,
    /// Who signed in.
    pub by: Option<String>,
    pub at: Option<String>,
    /// Why a sign-in is needed.
    pub needed: Option<SignInFaultDto>,
    /// Why the last try failed, in this run of the core.
    pub failed: Option<SignInFaultDto>,
}

/// Why there is no sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignInFaultDto {
    pub why: String,
    /// What a person can do.
    pub hint: String,
}

/// A sign-in that waits for the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignInBegunDto {
    /// What the browser opens: `https`, or `http` on this machine.
    pub address: String,
    /// Whose page that is: host and port.
    pub host: String,
    /// For which server: host and port of its address.
    pub server_host: String,
    /// Who gives the token: a URL.
    pub issuer: String,
    /// The permissions that are asked for; empty where the server names none.
    pub scopes: Vec<String>,
    /// When the wait began: a sign-in from before has an earlier `at`.
    pub since: String,
    /// Until when the browser is waited for.
    pub until: String,
}

/// The sign-in to a server at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignInShown {
    /// Null where there is none and none was asked for.
    pub sign_in: Option<SignInDto>,
}

/// A sign-in that a person ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignedOutDto {
    /// Whether the issuer forgot the token, too. Without that it is good there until it expires, and is kept nowhere here.
    #[ts(inline)]
    pub revocation: RevocationDto,
}

impl SignInDto {
    /// `None` where there is nothing to say.
    pub(crate) fn of(status: SignInStatus) -> Option<Self> {
        let SignInStatus { token, by, failed } = status;
        let TokenFacts {
            is_signed_in,
            needed,
            is_waiting,
            stray_answers,
            issuer,
            scopes,
            until,
            is_renewed,
            missing_scopes,
        } = token;
        let state = match (is_waiting, &needed, is_signed_in) {
            (true, _, _) => SignInStateDto::Waiting,
            (false, Some(_), _) => SignInStateDto::Needed,
            (false, None, true) => SignInStateDto::SignedIn,
            (false, None, false) if failed.is_none() => return None,
            (false, None, false) => SignInStateDto::SignedOut,
        };
        let (by, at) = by.map(|(by, at)| (by.to_string(), iso(at))).unzip();
        Some(Self {
            state,
            strayed: stray_answers > 0,
            issuer,
            scopes,
            missing_scopes,
            until: until.map(iso),
            renewed: is_renewed,
            by,
            at,
            needed: needed.map(Into::into),
            failed: failed.map(Into::into),
        })
    }
}

impl From<SignInFault> for SignInFaultDto {
    fn from(SignInFault { why, hint }: SignInFault) -> Self {
        Self { why, hint }
    }
}

impl SignInBegunDto {
    pub(crate) fn of(started: SignInStarted, server_host: String) -> Self {
        let SignInStarted { address, host, issuer, scopes, since, until } = started;
        Self { address, host, server_host, issuer, scopes, since: iso(since), until: iso(until) }
    }
}

impl From<Revocation> for RevocationDto {
    fn from(revocation: Revocation) -> Self {
        match revocation {
            Revocation::Nothing => Self::Nothing,
            Revocation::Done => Self::Done,
            Revocation::NotConfirmed => Self::NotConfirmed,
        }
    }
}
