//! How a browser becomes the person's: a one-time code for a session (ruling 27).
//!
//! A code counts once, for minutes. Wrong tries cost it nothing, because any local process can make them: it is long
//! enough that guessing is hopeless at any rate. A
//! session is two secrets, both needed: a cookie that no script reads, and a word that only the page knows. Cookies of
//! a loopback address go to every port of it, so a server that brings a person to a page of its own would get the
//! cookie; the word stays with our page. Everything is in memory and ends with the core. `http.rs` serves this.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use api::{Ability, ApiError, Caller, Code as ErrorCode};
use domain::policy::Hosting;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::random;

/// Letters of a code: none that is taken for another. 32 of them, so that a random byte gives one fairly.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 60 random bits: a million guesses a second for five minutes find one code in four thousand million.
const CODE_LETTERS: usize = 12;
/// Letters between two dashes, as a person reads them.
const GROUP_LETTERS: usize = 4;

/// The two secrets of a session, as text. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proof {
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
    /// What the page asks for.
    pub(crate) code: String,
    /// How long it counts.
    pub(crate) minutes: u64,
}

/// Codes and sessions of one core.
pub(crate) struct SignIn {
    hosting: Hosting,
    /// Where the browser's door is, once it is open.
    address: OnceLock<SocketAddr>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    code: Option<Code>,
    sessions: VecDeque<Session>,
}

struct Code {
    text: String,
    until: Instant,
}

struct Session {
    proof: Proof,
    until: Instant,
}

impl SignIn {
    /// No code, no session.
    pub(crate) fn new(hosting: &Hosting) -> Self {
        Self { hosting: hosting.clone(), address: OnceLock::new(), state: Mutex::new(State::default()) }
    }

    /// The browser's door is open there.
    pub(crate) fn opened_at(&self, address: SocketAddr) {
        let _ = self.address.set(address);
    }

    /// A new code and where to type it, for a person.
    pub(crate) fn invite(&self, caller: &Caller) -> Result<Invitation, ApiError> {
        caller.require(Ability::Decide)?;
        let Some(address) = self.address.get().copied() else {
            return Err(ApiError::new(
                ErrorCode::Refused,
                "this core shows no window in the browser",
                "Stop it and run `taskwarden serve`; `--listen 127.0.0.1:0` takes a free port.",
            ));
        };
        Ok(self.invitation(address))
    }

    /// A new code for the door at this address.
    pub(crate) fn invitation(&self, address: SocketAddr) -> Invitation {
        let minutes = self.hosting.code_span.as_secs() / 60;
        Invitation { url: format!("http://{address}/"), code: self.new_code(), minutes }
    }

    /// How long a session counts.
    pub(crate) fn session_span(&self) -> Duration {
        self.hosting.browser_session_span
    }

    /// A new code, written as a person reads it. An earlier one no longer counts.
    fn new_code(&self) -> String {
        let text: String = random::key().iter().take(CODE_LETTERS).map(|byte| letter(*byte)).collect();
        let until = Instant::now() + self.hosting.code_span;
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

    /// Exchanges a code for a session. `None` for a wrong, used, late or void one: which of them is nobody's business.
    pub(crate) fn redeem(&self, typed: &str) -> Option<Proof> {
        let typed = normal(typed);
        let mut state = self.state.lock();
        state.code.take_if(|code| code.until <= Instant::now());
        state.code.take_if(|code| same(&typed, &code.text))?;
        let proof = Proof { cookie: secret(), word: secret() };
        while state.sessions.len() >= self.hosting.browser_sessions_max {
            state.sessions.pop_front();
        }
        let until = Instant::now() + self.hosting.browser_session_span;
        state.sessions.push_back(Session { proof: proof.clone(), until });
        Some(proof)
    }

    /// Until when these two are a session.
    pub(crate) fn session(&self, cookie: &str, word: &str) -> Option<Instant> {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.sessions.retain(|session| session.until > now);
        let mut found = None;
        // Every session is compared, so that the time tells nothing.
        for session in &state.sessions {
            if same(cookie, &session.proof.cookie) & same(word, &session.proof.word) {
                found = Some(session.until);
            }
        }
        found
    }
}

/// 256 random bits as text.
fn secret() -> String {
    random::key().iter().flat_map(|byte| [letter(*byte), letter(byte >> 3)]).collect()
}

fn letter(byte: u8) -> char {
    LETTERS.get(usize::from(byte & 31)).copied().map_or('0', char::from)
}

/// A code as it was drawn: without what people put between letters, and with the letters they take for others.
fn normal(typed: &str) -> String {
    let letters = typed.chars().filter(char::is_ascii_alphanumeric).take(CODE_LETTERS + 1);
    letters
        .map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}

/// Equality that takes the same time wherever the two differ.
fn same(given: &str, kept: &str) -> bool {
    let differ = given.bytes().zip(kept.bytes()).fold(0_u8, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    given.len() == kept.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign_in() -> SignIn {
        SignIn::new(&Hosting::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_counts_once_and_not_after_its_time() {
        let door = sign_in();
        assert_eq!(door.redeem("0000-0000"), None, "there is no code yet");
        let code = door.new_code();
        let proof = door.redeem(&code.to_lowercase().replace('-', " ")).expect("typed as people type");
        assert!(door.session(&proof.cookie, &proof.word).is_some(), "both secrets are a session");
        assert_eq!(door.redeem(&code), None, "it was used");
        let late = door.new_code();
        tokio::time::advance(Hosting::default().code_span).await;
        assert_eq!(door.redeem(&late), None, "it is too late");
        let first = door.new_code();
        let second = door.new_code();
        assert_eq!(door.redeem(&first), None, "a newer one took its place");
        assert!(door.redeem(&second).is_some(), "and a try at the old one did not harm it");
    }

    #[test]
    fn wrong_tries_of_somebody_else_cost_the_code_nothing() {
        let door = sign_in();
        let code = door.new_code();
        for _ in 0..1_000 {
            assert_eq!(door.redeem("guess"), None, "wrong");
        }
        assert!(door.redeem(&code).is_some(), "the person's own code still counts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_needs_both_secrets_and_ends_after_its_time() {
        let door = sign_in();
        let (a, b) = (door.redeem(&door.new_code()), door.redeem(&door.new_code()));
        let (a, b) = (a.expect("one"), b.expect("another"));
        assert_eq!(door.session(&a.cookie, "1"), None, "a stolen cookie is not enough");
        assert_eq!(door.session(&a.cookie, &b.word), None, "the two belong together");
        assert_eq!(door.session("", ""), None, "nothing is no secret");
        assert!(door.session(&b.cookie, &b.word).is_some(), "several browsers may be signed in");
        tokio::time::advance(Hosting::default().browser_session_span).await;
        assert_eq!(door.session(&a.cookie, &a.word), None, "the day is over");
        assert_eq!(format!("{a:?}"), "Proof(…)", "no log shows them");
    }

    #[test]
    fn the_oldest_browser_goes_when_there_are_too_many() {
        let door = sign_in();
        let signed: Vec<Proof> =
            (0..=Hosting::default().browser_sessions_max).filter_map(|_| door.redeem(&door.new_code())).collect();
        let first = signed.first().expect("one");
        let last = signed.last().expect("one");
        assert_eq!(door.session(&first.cookie, &first.word), None, "the first is out");
        assert!(door.session(&last.cookie, &last.word).is_some(), "the last is in");
    }
}
