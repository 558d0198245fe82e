//! Signs a browser in: exchanges a one-time code for a session (ruling 27).
//!
//! A code works once, for minutes. Wrong attempts do not void it, because any local process can make them; `code_tries.rs`
//! limits them. A session needs two secrets: a cookie that no script can read, and a word that
//! only the page knows. Cookies of a loopback address are sent to every port of it, so a server that lures a person to
//! its own page would get the cookie, but not the word. Of both only the digest is kept. Times are from the boot clock:
//! suspend counts, and setting the wall clock changes nothing. Codes end with the core, sessions do not
//! (`session_records.rs`, decision 0035); `http.rs` serves them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::{Ability, ApiError, BrowserSession, BrowserSessions, Caller, Code as ErrorCode};
use domain::agent::TokenDigest;
use domain::policy::{HostPolicy, plain_text};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::http::code_tries::CodeTries;
use crate::os::random;

/// Letters of a code: none that looks like another, and 32 of them, so that a random byte picks one evenly.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 60 random bits: a million guesses a second for five minutes find one code in four thousand million.
const CODE_LETTERS: usize = 12;
/// Letters of a session's id, which a person copies; it opens nothing.
const ID_LETTERS: usize = 8;
/// Letters between two dashes, as a person reads them.
const GROUP_LETTERS: usize = 4;

/// The two secrets of a new session, as text, and its id. `Debug` shows nothing of them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Names the session; it opens nothing.
    pub(crate) id: String,
    /// Goes into the cookie.
    pub(crate) cookie: String,
    /// Goes to the page, which sends it in a header.
    pub(crate) word: String,
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proof(…)")
    }
}

/// Where the window is in the browser, and the code that opens it once. Not for logs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Invitation {
    /// The address; the code is not in it (ruling 27).
    pub(crate) url: String,
    /// The address with the code in its fragment, which browsers never send: opening it signs in.
    pub(crate) link: String,
    /// The code that the page asks for where the link is not opened.
    pub(crate) code: String,
    /// How long the code is valid.
    pub(crate) minutes: u64,
}

/// Time since a fixed moment; in production since the computer started.
pub(crate) type Elapsed = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The session of a request that was let in.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    /// Names the session; it opens nothing.
    pub(crate) id: String,
    /// Cancelled when the session ends in any way.
    ended: CancellationToken,
}

/// Codes and sessions of one core.
pub(crate) struct SignIn {
    hosting: HostPolicy,
    elapsed: Elapsed,
    /// The address of the listener, once it is open.
    address: OnceLock<SocketAddr>,
    state: Mutex<State>,
}

/// Why a code opened nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeRefusal {
    /// Wrong, used, expired or replaced, without saying which.
    Invalid,
    /// Wrong like `Invalid`, after too many others.
    TooManyTries { again_in: Duration },
}

#[derive(Default)]
struct State {
    code: Option<Code>,
    tries: CodeTries,
    sessions: VecDeque<Session>,
}

struct Code {
    text: String,
    until: Duration,
}

struct Session {
    kept: KeptSession,
    ended: CancellationToken,
}

/// A session without its secrets. Times are milliseconds of the boot clock, negative before the computer started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptSession {
    pub(crate) id: String,
    /// What the secret of the cookie hashes to.
    pub(crate) cookie: TokenDigest,
    /// What the word of the page hashes to.
    pub(crate) word: TokenDigest,
    pub(crate) browser: String,
    pub(crate) since: i64,
    pub(crate) used: i64,
    pub(crate) until: i64,
}

impl Drop for Session {
    /// Whatever takes a session out of the list closes its feeds.
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl SignIn {
    /// Starts without a code and without sessions.
    pub(crate) fn new(hosting: &HostPolicy, elapsed: Elapsed) -> Self {
        Self { hosting: hosting.clone(), elapsed, address: OnceLock::new(), state: Mutex::new(State::default()) }
    }

    /// Records where the listener is open.
    pub(crate) fn opened_at(&self, address: SocketAddr) {
        let _ = self.address.set(address);
    }

    /// A new code and the address to enter it at, for a person.
    pub(crate) fn invite(&self, caller: &Caller) -> Result<Invitation, ApiError> {
        caller.require(Ability::ManageTokens)?;
        let Some(address) = self.address.get().copied() else {
            return Err(ApiError::new(
                ErrorCode::Refused,
                "this core does not serve a window in the browser",
                "Stop it and run `taskwarden serve`; `--listen 127.0.0.1:0` takes a free port.",
            ));
        };
        Ok(self.invitation(address))
    }

    /// A new code for the listener at this address.
    pub(crate) fn invitation(&self, address: SocketAddr) -> Invitation {
        let minutes = self.hosting.code_span.as_secs() / 60;
        let (url, code) = (format!("http://{address}/"), self.new_code());
        Invitation { link: format!("{url}#code={code}"), url, code, minutes }
    }

    /// How long a session is valid.
    pub(crate) fn session_span(&self) -> Duration {
        self.hosting.browser_session_span
    }

    /// A new code, grouped for reading. It replaces an earlier one.
    fn new_code(&self) -> String {
        let text: String = random::key().iter().take(CODE_LETTERS).map(|byte| letter(*byte)).collect();
        let until = (self.elapsed)() + self.hosting.code_span;
        let shown = text.chars().enumerate().fold(String::new(), |mut shown, (at, letter)| {
            if at > 0 && at.is_multiple_of(GROUP_LETTERS) {
                shown.push('-');
            }
            shown.push(letter);
            shown
        });
        self.state.lock().code = Some(Code { text, until });
        shown
    }

    /// Exchanges a code for a session of the browser that calls itself `browser`.
    ///
    /// # Errors
    /// When the code is not the one that counts.
    pub(crate) fn redeem(&self, typed: &str, browser: &str) -> Result<Proof, CodeRefusal> {
        let typed = normalized(typed);
        let now = (self.elapsed)();
        let mut state = self.state.lock();
        state.code.take_if(|code| code.until <= now);
        if state.code.take_if(|code| same(&typed, &code.text)).is_none() {
            if let Some(again_in) = state.tries.wait(now, &self.hosting) {
                return Err(CodeRefusal::TooManyTries { again_in });
            }
            state.tries.was_wrong(now, &self.hosting);
            return Err(CodeRefusal::Invalid);
        }
        let letters = random::key();
        let id = letters.iter().take(ID_LETTERS).map(|byte| letter(*byte).to_ascii_lowercase()).collect();
        let proof = Proof { id, cookie: secret(), word: secret() };
        let now = millis(now);
        let kept = KeptSession {
            id: proof.id.clone(),
            cookie: TokenDigest::of(&proof.cookie),
            word: TokenDigest::of(&proof.word),
            browser: plain_text(browser, self.hosting.browser_name_chars).replace(['\n', '\t'], " "),
            since: now,
            used: now,
            until: now.saturating_add(millis(self.hosting.browser_session_span)),
        };
        state.add(kept, self.hosting.browser_sessions_max);
        Ok(proof)
    }

    /// Takes a session of an earlier core in again; one that is over is left out.
    pub(crate) fn restore(&self, kept: KeptSession) {
        if kept.until > self.now() {
            self.state.lock().add(kept, self.hosting.browser_sessions_max);
        }
    }

    /// The sessions that count now, oldest first.
    pub(crate) fn kept(&self) -> Vec<KeptSession> {
        let now = self.now();
        let mut state = self.state.lock();
        state.drop_expired(now);
        state.sessions.iter().map(|session| session.kept.clone()).collect()
    }

    /// Milliseconds of the boot clock.
    pub(crate) fn now(&self) -> i64 {
        millis((self.elapsed)())
    }

    /// The session that has these two secrets.
    pub(crate) fn session(&self, cookie: &str, word: &str) -> Option<SignedIn> {
        let now = self.now();
        let (cookie, word) = (TokenDigest::of(cookie), TokenDigest::of(word));
        let mut state = self.state.lock();
        state.drop_expired(now);
        let mut found = None;
        // Every session is compared, so that the time reveals nothing.
        for Session { kept, ended } in &mut state.sessions {
            if (cookie == kept.cookie) & (word == kept.word) {
                kept.used = now;
                found = Some(SignedIn { id: kept.id.clone(), ended: ended.clone() });
            }
        }
        found
    }

    /// Returns when the session has ended; until then it counts as used. Cancel-safe.
    pub(crate) async fn ended(&self, session: SignedIn) {
        while let Some(left) = self.keep_using(&session.id) {
            tokio::select! {
                () = session.ended.cancelled() => return,
                () = tokio::time::sleep(left.min(self.hosting.browser_session_check)) => {}
            }
        }
    }

    /// Marks a session as used and gives its remaining time; `None` when it is over.
    fn keep_using(&self, id: &str) -> Option<Duration> {
        let now = self.now();
        let mut state = self.state.lock();
        state.drop_expired(now);
        let session = &mut state.sessions.iter_mut().find(|session| session.kept.id == id)?.kept;
        session.used = now;
        Some(span(now, session.until))
    }
}

impl State {
    fn add(&mut self, kept: KeptSession, most: usize) {
        while self.sessions.len() >= most {
            self.sessions.pop_front();
        }
        self.sessions.push_back(Session { kept, ended: CancellationToken::new() });
    }

    fn drop_expired(&mut self, now: i64) {
        self.sessions.retain(|session| session.kept.until > now);
    }
}

impl BrowserSessions for SignIn {
    fn list(&self) -> Vec<BrowserSession> {
        let now = self.now();
        let listed = self.kept().into_iter().map(|session| BrowserSession {
            id: session.id,
            browser: session.browser,
            age: span(session.since, now),
            idle: span(session.used, now),
        });
        listed.collect()
    }

    fn revoke(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        let before = state.sessions.len();
        state.sessions.retain(|session| session.kept.id != id);
        state.sessions.len() < before
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The time from one moment to a later one.
fn span(from: i64, to: i64) -> Duration {
    Duration::from_millis(u64::try_from(to.saturating_sub(from)).unwrap_or_default())
}

/// 256 random bits as text.
fn secret() -> String {
    random::key().iter().flat_map(|byte| [letter(*byte), letter(byte >> 3)]).collect()
}

fn letter(byte: u8) -> char {
    LETTERS.get(usize::from(byte & 31)).copied().map_or('0', char::from)
}

/// A typed code in its original form: without separators, and with look-alike letters corrected.
fn normalized(typed: &str) -> String {
    let letters = typed.chars().filter(char::is_ascii_alphanumeric).take(CODE_LETTERS + 1);
    letters
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}

/// Compares in constant time, so that the time does not reveal where two secrets differ.
fn same(given: &str, kept: &str) -> bool {
    let differ = given.bytes().zip(kept.bytes()).fold(0_u8, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    given.len() == kept.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that the test moves.
    #[derive(Clone, Default)]
    struct Boot(Arc<Mutex<Duration>>);

    impl Boot {
        fn advance(&self, by: Duration) {
            *self.0.lock() += by;
        }
    }

    fn with_clock() -> (SignIn, Boot) {
        let boot = Boot::default();
        let read = boot.clone();
        (SignIn::new(&HostPolicy::default(), Arc::new(move || *read.0.lock())), boot)
    }

    fn new_sign_in() -> SignIn {
        with_clock().0
    }

    fn is_out(sign_in: &SignIn, proof: &Proof) -> bool {
        sign_in.session(&proof.cookie, &proof.word).is_none()
    }

    #[test]
    fn a_code_works_once_and_not_after_it_expired() {
        let (sign_in, boot) = with_clock();
        assert_eq!(sign_in.redeem("0000-0000", "Firefox"), Err(CodeRefusal::Invalid), "there is no code yet");
        let code = sign_in.new_code();
        let proof = sign_in.redeem(&code.to_lowercase().replace('-', " "), "Firefox").expect("typed as people type");
        assert!(sign_in.session(&proof.cookie, &proof.word).is_some(), "both secrets are a session");
        assert_eq!(sign_in.redeem(&code, "Firefox"), Err(CodeRefusal::Invalid), "it was used");
        let late = sign_in.new_code();
        boot.advance(HostPolicy::default().code_span);
        assert_eq!(sign_in.redeem(&late, "Firefox"), Err(CodeRefusal::Invalid), "it is too late");
        let first = sign_in.new_code();
        let second = sign_in.new_code();
        assert_eq!(sign_in.redeem(&first, "Firefox"), Err(CodeRefusal::Invalid), "a newer one took its place");
        assert!(sign_in.redeem(&second, "Firefox").is_ok(), "and a try at the old one did not harm it");
    }

    #[test]
    fn a_person_signs_in_while_another_program_guesses() {
        let (sign_in, boot) = with_clock();
        let hosting = HostPolicy::default();
        let code = sign_in.new_code();
        for _ in 0..hosting.code_tries_max {
            assert_eq!(sign_in.redeem("guess", "Firefox"), Err(CodeRefusal::Invalid), "wrong");
        }
        let limited = |again_in| Err(CodeRefusal::TooManyTries { again_in });
        for _ in 0..1_000 {
            assert_eq!(sign_in.redeem("guess", "Firefox"), limited(hosting.code_tries_span), "it has to wait");
        }
        boot.advance(Duration::from_secs(20));
        let left = hosting.code_tries_span.saturating_sub(Duration::from_secs(20));
        assert_eq!(sign_in.redeem("guess", "Firefox"), limited(left), "still");
        assert!(sign_in.redeem(&code, "Firefox").is_ok(), "the person's own code counts");
        boot.advance(left);
        assert_eq!(sign_in.redeem("guess", "Firefox"), Err(CodeRefusal::Invalid), "the wait is over");
    }

    #[test]
    fn a_session_needs_both_secrets_and_ends_after_its_time() {
        let (sign_in, boot) = with_clock();
        let (a, b) = (sign_in.redeem(&sign_in.new_code(), "Firefox"), sign_in.redeem(&sign_in.new_code(), "Firefox"));
        let (a, b) = (a.expect("one"), b.expect("another"));
        assert!(sign_in.session(&a.cookie, "1").is_none(), "a stolen cookie is not enough");
        assert!(sign_in.session(&a.cookie, &b.word).is_none(), "the two belong together");
        assert!(sign_in.session("", "").is_none(), "nothing is no secret");
        assert!(sign_in.session(&b.cookie, &b.word).is_some(), "several browsers may be signed in");
        boot.advance(HostPolicy::default().browser_session_span);
        assert!(sign_in.session(&a.cookie, &a.word).is_none(), "the day is over");
        assert_eq!(format!("{a:?}"), "Proof(…)", "no log shows them");
    }

    #[test]
    fn the_oldest_browser_goes_when_there_are_too_many() {
        let sign_in = new_sign_in();
        let signed: Vec<Proof> = (0..=HostPolicy::default().browser_sessions_max)
            .filter_map(|_| sign_in.redeem(&sign_in.new_code(), "Firefox").ok())
            .collect();
        let first = signed.first().expect("one");
        let last = signed.last().expect("one");
        assert!(sign_in.session(&first.cookie, &first.word).is_none(), "the first is out");
        assert!(sign_in.session(&last.cookie, &last.word).is_some(), "the last is in");
    }
    #[test]
    fn what_a_browser_says_it_is_is_cut_and_plain() {
        let (sign_in, boot) = with_clock();
        let said = format!("Fire\u{202e}fox\n\u{1b}[31m{}", "x".repeat(1_000));
        let code = sign_in.new_code();
        sign_in.redeem(&code, &said).expect("a session");
        boot.advance(Duration::from_secs(60));
        let listed = sign_in.list();
        let session = listed.first().expect("one");
        assert!(session.browser.starts_with("Firefox [31mx"), "nothing acts on a terminal: {:?}", session.browser);
        assert!(session.browser.chars().count() <= HostPolicy::default().browser_name_chars + 1, "it is cut");
        assert_eq!((session.age, session.idle), (Duration::from_secs(60), Duration::from_secs(60)));
        assert!(sign_in.revoke(&session.id) && !sign_in.revoke(&session.id), "it ends once");
        assert!(sign_in.list().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_feed_ends_soon_after_a_suspend_that_outlasts_its_session() {
        let (sign_in, boot) = with_clock();
        let proof = sign_in.redeem(&sign_in.new_code(), "Firefox").expect("a session");
        let session = sign_in.session(&proof.cookie, &proof.word).expect("signed in");
        let feed = sign_in.ended(session);
        tokio::pin!(feed);
        assert!(futures::poll!(feed.as_mut()).is_pending(), "it is open");
        // The computer was suspended: timers stopped, the boot clock did not.
        boot.advance(HostPolicy::default().browser_session_span);
        let limit = HostPolicy::default().browser_session_check * 2;
        assert!(tokio::time::timeout(limit, feed).await.is_ok(), "it is looked at again");
        assert!(is_out(&sign_in, &proof), "and the browser is signed out");
    }

    #[tokio::test(start_paused = true)]
    async fn a_feed_ends_at_once_when_its_session_is_revoked() {
        let sign_in = new_sign_in();
        let proof = sign_in.redeem(&sign_in.new_code(), "Firefox").expect("a session");
        let session = sign_in.session(&proof.cookie, &proof.word).expect("signed in");
        let id = session.id.clone();
        let feed = sign_in.ended(session);
        tokio::pin!(feed);
        assert!(futures::poll!(feed.as_mut()).is_pending(), "it is open");
        assert!(sign_in.revoke(&id));
        assert!(futures::poll!(feed.as_mut()).is_ready(), "no time passes");
        assert!(is_out(&sign_in, &proof));
    }
}
