//! Requests of a bridge's client without an answer, and what a new core has to be sent again.
//!
//! Keeps the handshake of older clients and every open request as it was written. An answer passes once: not after the
//! client was told something else, and not if it belongs to a repeated handshake. It reads ids and method names and
//! sends nothing.

use std::borrow::Cow;

use domain::policy::ListenerPolicy;
use mcp::gateway::model_text::core_away;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The JSON-RPC error code when the core could not be reached, from the range left to servers.
const UNREACHED: i64 = -32_000;

/// The parts of a message that are read.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

/// A request without an answer.
struct OpenRequest {
    /// The id exactly as it was written.
    id: String,
    /// The request; `None` when there was no room to keep it, so that it cannot be sent again.
    line: Option<Vec<u8>>,
    is_call: bool,
    /// Whether it was, or may have been, sent to a core.
    is_sent: bool,
}

/// The open requests of one client.
pub(crate) struct ForwardedRequests {
    limits: ListenerPolicy,
    /// In the order in which they were sent.
    open: Vec<OpenRequest>,
    kept_bytes: usize,
    /// An older client's `initialize`.
    hello: Option<Hello>,
    initialized: Option<Vec<u8>>,
}

struct Hello {
    id: String,
    line: Vec<u8>,
    is_answered: bool,
}

/// A handshake to repeat to a new core.
pub(crate) struct BridgeHandshake {
    pub(crate) id: String,
    pub(crate) hello: Vec<u8>,
    pub(crate) initialized: Option<Vec<u8>>,
}

/// Requests to send to a new core, and error replies for those that were not kept.
#[derive(Default)]
pub(crate) struct ResendPlan {
    pub(crate) again: Vec<Vec<u8>>,
    pub(crate) lost: Vec<Vec<u8>>,
}

impl ForwardedRequests {
    pub(crate) fn new(limits: &ListenerPolicy) -> Self {
        Self { limits: limits.clone(), open: Vec::new(), kept_bytes: 0, hello: None, initialized: None }
    }

    /// Whether the client waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Notes a line that the client sent.
    pub(crate) fn note_client_line(&mut self, line: &[u8]) {
        if line.trim_ascii_start().first() == Some(&b'[') {
            // A batch of 2025-03-26: each member is a message.
            if let Ok(members) = serde_json::from_slice::<Vec<&RawValue>>(line) {
                for member in members {
                    self.message(member.get().as_bytes());
                }
            }
            return;
        }
        self.message(line);
    }

    fn message(&mut self, line: &[u8]) {
        // An unreadable line is passed on; the core replies with what is wrong.
        let Ok(peek) = serde_json::from_slice::<Peek<'_>>(line) else { return };
        let Some(method) = peek.method.as_deref() else { return };
        let Some(id) = peek.id.map(|id| id.get().to_owned()) else {
            match method {
                "notifications/initialized" => self.initialized = Some(line.to_vec()),
                "notifications/cancelled" => {
                    let named = peek.params.and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok());
                    if let Some(named) = named {
                        self.close(named.request.get());
                    }
                }
                _ => {}
            }
            return;
        };
        if method == "initialize" {
            self.hello = Some(Hello { id: id.clone(), line: line.to_vec(), is_answered: false });
        }
        let has_room = self.open.len() < self.limits.bridge_requests_max
            && self.kept_bytes.saturating_add(line.len()) <= self.limits.bridge_kept_bytes;
        let kept = has_room.then(|| line.to_vec());
        self.kept_bytes = self.kept_bytes.saturating_add(kept.as_ref().map_or(0, Vec::len));
        self.open.push(OpenRequest { id, line: kept, is_call: method == "tools/call", is_sent: false });
    }

    /// Notes a line from the core; true if it is to be passed to the client.
    pub(crate) fn accept_core_line(&mut self, line: &[u8]) -> bool {
        if let Some(id) = answered_id(line) {
            return self.accept_answer(id);
        }
        let Ok(peek) = serde_json::from_slice::<Peek<'_>>(line) else { return true };
        if peek.method.is_some() {
            return true;
        }
        // A reply with a null id reports a line that could not be read.
        let Some(id) = peek.id.map(RawValue::get).filter(|id| *id != "null") else { return true };
        self.accept_answer(id)
    }

    fn accept_answer(&mut self, id: &str) -> bool {
        if let Some(hello) = self.hello.as_mut().filter(|hello| hello.id == id) {
            hello.is_answered = true;
        }
        self.close(id)
    }

    /// The handshake to repeat, if the client already has its answer.
    pub(crate) fn handshake(&self) -> Option<BridgeHandshake> {
        let hello = self.hello.as_ref().filter(|hello| hello.is_answered)?;
        Some(BridgeHandshake { id: hello.id.clone(), hello: hello.line.clone(), initialized: self.initialized.clone() })
    }

    /// Marks all open requests as sent.
    pub(crate) fn mark_sent(&mut self) {
        // Those before one that was sent were sent as well.
        for open in self.open.iter_mut().rev().take_while(|open| !open.is_sent) {
            open.is_sent = true;
        }
    }

    /// What to send to a new core, and error replies for what cannot be sent again.
    pub(crate) fn open_again(&mut self) -> ResendPlan {
        let mut again = ResendPlan::default();
        self.open.retain(|open| match &open.line {
            Some(line) => {
                again.again.push(line.clone());
                true
            }
            None => {
                again.lost.push(unreached(open, &core_away::too_much_open()));
                false
            }
        });
        self.mark_sent();
        again
    }

    /// Answers all open requests with an error.
    pub(crate) fn give_up(&mut self, why: &str) -> Vec<Vec<u8>> {
        self.kept_bytes = 0;
        self.open.drain(..).map(|open| unreached(&open, why)).collect()
    }

    fn close(&mut self, id: &str) -> bool {
        let Some(place) = self.open.iter().position(|open| open.id == id) else { return false };
        let closed = self.open.remove(place);
        self.kept_bytes = self.kept_bytes.saturating_sub(closed.line.map_or(0, |line| line.len()));
        true
    }
}

/// The id in an answer as the core writes it, without reading the rest of a line that may be long. `None` for every
/// other line, which is read.
fn answered_id(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(br#"{"jsonrpc":"2.0","id":"#)?;
    let end = match rest.split_first()? {
        (b'"', text) => {
            let end = text.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            // One with an escape in it is read in full.
            (text.get(end) == Some(&b'"')).then_some(end + 2)?
        }
        _ => rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-').filter(|end| *end > 0)?,
    };
    let (id, rest) = rest.split_at_checked(end)?;
    let is_answer = rest.starts_with(br#","result":"#) || rest.starts_with(br#","error":"#);
    std::str::from_utf8(id).ok().filter(|_| is_answer)
}

/// Whether a line is the answer to the request with this id.
pub(crate) fn answers(line: &[u8], id: &str) -> bool {
    serde_json::from_slice::<Peek<'_>>(line)
        .is_ok_and(|peek| peek.method.is_none() && peek.id.is_some_and(|given| given.get() == id))
}

/// The reply to a line that is too long.
pub(crate) fn too_long() -> Vec<u8> {
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is too long"}}"#.to_vec()
}

fn unreached(open: &OpenRequest, why: &str) -> Vec<u8> {
    let words = match (open.is_call, open.is_sent) {
        (true, true) => core_away::call_unconfirmed(why),
        (true, false) => core_away::call_not_made(why),
        (false, _) => why.to_owned(),
    };
    let message = serde_json::Value::String(words);
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{UNREACHED},"message":{message}}}}}"#, open.id).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> ForwardedRequests {
        ForwardedRequests::new(&ListenerPolicy::default())
    }

    const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"x"}}"#;

    fn texts(lines: Vec<Vec<u8>>) -> Vec<String> {
        lines.into_iter().map(|line| String::from_utf8(line).expect("text")).collect()
    }

    #[test]
    fn a_new_core_gets_the_handshake_and_what_is_unanswered() {
        let mut requests = requests();
        requests.note_client_line(HELLO);
        assert!(requests.handshake().is_none(), "until it is answered it is a request like others");
        assert_eq!(requests.open_again().again, [HELLO], "and is sent again as one");
        assert!(requests.accept_core_line(br#"{"jsonrpc":"2.0","id":0,"result":{}}"#), "its answer is for the client");
        requests.note_client_line(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        requests.note_client_line(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        requests.note_client_line(CALL);
        assert!(requests.accept_core_line(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        let handshake = requests.handshake().expect("the client was greeted");
        assert_eq!((handshake.id.as_str(), handshake.initialized.is_some()), ("0", true));
        assert_eq!(requests.open_again().again, [CALL], "only what has no answer");
    }

    #[test]
    fn an_answer_passes_once() {
        let mut requests = requests();
        requests.note_client_line(CALL);
        let answer = br#"{"jsonrpc":"2.0","id":"7","result":{}}"#;
        assert!(!requests.accept_core_line(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), "a number is not the text");
        assert!(requests.accept_core_line(answer));
        assert!(!requests.accept_core_line(answer), "a second answer is none");
        assert!(
            requests.accept_core_line(br#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
            "requests of the core pass"
        );
        assert!(requests.accept_core_line(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#));
    }

    #[test]
    fn the_id_of_an_answer_is_the_same_whether_the_line_is_read_or_only_its_beginning() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"id":8,"method":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":-7,"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":"a,b","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"a\"b","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"a\\","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","id":7 ,"result":{}}"#,
            r#"{"result":{},"id":7,"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":7"#,
            r#"{"jsonrpc":"2.0","id":""#,
        ] {
            let read = serde_json::from_str::<Peek<'_>>(line).ok().filter(|peek| peek.method.is_none());
            let read = read.and_then(|peek| peek.id).map(RawValue::get);
            if let Some(id) = answered_id(line.as_bytes()) {
                assert_eq!(read.or(Some(id)), Some(id), "{line}");
            }
        }
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Some("7"), "the common one is short");
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","id":"q-7","result":{}}"#), Some("\"q-7\""), "texts as well");
        assert_eq!(answered_id(br#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#), None, "a request is none");
    }

    #[test]
    fn a_client_that_waits_in_vain_is_told_and_a_late_answer_is_dropped() {
        let mut requests = requests();
        requests.note_client_line(CALL);
        let told = texts(requests.give_up("No core."));
        assert_eq!(told.len(), 1);
        assert!(told[0].contains(r#""id":"7""#) && told[0].contains("No core. The call was not made."), "{told:?}");
        assert!(!requests.is_waiting() && !requests.accept_core_line(br#"{"jsonrpc":"2.0","id":"7","result":{}}"#));
    }

    #[test]
    fn a_call_that_a_core_had_is_not_known_to_be_made_or_not() {
        let mut requests = requests();
        requests.note_client_line(CALL);
        assert_eq!(requests.open_again().again, [CALL], "a core is given it");
        let told = texts(requests.give_up("No core."));
        assert!(told[0].contains("No core. It is not known whether the call was made"), "{told:?}");
    }

    #[test]
    fn a_cancelled_request_is_not_asked_again() {
        let mut requests = requests();
        requests.note_client_line(CALL);
        requests
            .note_client_line(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}"#);
        assert!(requests.open_again().again.is_empty(), "the client does not wait for it");
    }

    #[test]
    fn what_there_is_no_room_to_keep_is_answered_when_the_core_is_lost() {
        let limits = ListenerPolicy { bridge_requests_max: 1, ..ListenerPolicy::default() };
        let mut requests = ForwardedRequests::new(&limits);
        requests.note_client_line(CALL);
        requests.note_client_line(br#"[{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}]"#);
        let again = requests.open_again();
        assert_eq!((again.again.len(), again.lost.len()), (1, 1), "the first is asked again, the other is told");
        assert!(texts(again.lost)[0].contains(r#""id":8"#));
        assert!(!requests.accept_core_line(br#"{"jsonrpc":"2.0","id":8,"result":{}}"#), "and not answered twice");
    }
}
