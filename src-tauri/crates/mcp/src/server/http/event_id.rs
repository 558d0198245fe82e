//! Event ids of response streams, by which a client asks for an answer again after its stream broke, even after a
//! restart of the core (decision 0024).
//!
//! An id carries the JSON-RPC id and the service's resume point, signed for its session. Messages before the break are
//! not repeated: only the answer is.

use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::super::session::Session;
use super::super::version;
use crate::server::response_stream::ResumePoint;
use crate::server::signing::SigningKey;
use crate::wire::message::Id;

const PURPOSE: &str = "event 1";
/// The id of an answer: there is nothing to come back for. The TypeScript SDK (1.32) comes back all the same after an
/// answer that is an error, and goes away when it is told that there is no stream.
pub(crate) const END: &str = "end";

#[derive(Serialize, Deserialize)]
struct Carried<'a> {
    /// The JSON text of the JSON-RPC id.
    id: String,
    at: std::borrow::Cow<'a, str>,
}

/// What a client comes back for.
pub(crate) struct Awaited {
    /// The id of the request.
    pub(crate) id: Id,
    /// The service's resume point.
    pub(crate) point: String,
}

/// The event ids of one response stream.
pub(crate) struct EventIds {
    key: SigningKey,
    session: Arc<Session>,
    request: Id,
    point: watch::Receiver<Option<Arc<str>>>,
    /// The point that the client knows.
    said: Option<Arc<str>>,
    retry: Duration,
}

impl EventIds {
    /// The ids of the stream that answers `request`, and where the service says how far it is.
    pub(crate) fn new(key: &SigningKey, session: &Arc<Session>, request: &Id, retry: Duration) -> (Self, ResumePoint) {
        let (to, point) = watch::channel(None);
        let ids =
            Self { key: key.clone(), session: session.clone(), request: request.clone(), point, said: None, retry };
        (ids, ResumePoint::new(to))
    }

    /// Whether the client is told of a point at once, by an event without a message. To clients of versions before
    /// 2025-11-25 such an event may be a broken one; they get the id with the next message.
    fn is_primed(&self) -> bool {
        self.session.version() == version::LEGACY_WITH_TASKS
    }

    /// Resolves when there is a point that the client is to be told at once.
    pub(crate) async fn changed(&mut self) {
        if !self.is_primed() {
            std::future::pending::<()>().await;
        }
        let said = self.said.clone();
        let is_over = self.point.wait_for(|point| point.is_some() && *point != said).await.is_err();
        if is_over {
            std::future::pending::<()>().await;
        }
    }

    /// An event without a message that says where the stream is, when the client does not know.
    pub(crate) fn event(&mut self) -> Option<String> {
        if self.is_primed() { self.fields().map(|fields| format!("{fields}data: \n\n")) } else { None }
    }

    /// The fields that say where the stream is, for a client that does not know: part of an event.
    pub(crate) fn fields(&mut self) -> Option<String> {
        let point = self.point.borrow().clone().filter(|point| self.said.as_ref() != Some(point))?;
        let carried = Carried { id: serde_json::to_string(&self.request).ok()?, at: (&*point).into() };
        let text = serde_json::to_vec(&carried).ok()?;
        let id = self.key.sign(PURPOSE, self.session.id(), &text);
        self.said = Some(point);
        Some(format!("id: {id}\nretry: {}\n", self.retry.as_millis()))
    }

    /// Whether the client got an event id.
    pub(crate) fn is_said(&self) -> bool {
        self.said.is_some()
    }
}

/// Reads an event id of this session.
pub(crate) fn read(key: &SigningKey, session: &Session, id: &str, policy: &Policy) -> Option<Awaited> {
    if id.len() > policy.serving.carried_name_bytes {
        return None;
    }
    let text = key.open(PURPOSE, session.id(), id)?;
    let carried: Carried<'_> = serde_json::from_slice(&text).ok()?;
    Some(Awaited { id: Id::read(&carried.id, policy.rpc_id_cap_bytes)?, point: carried.at.into_owned() })
}

#[cfg(test)]
mod tests {
    use engine::runtime::supervisor::Supervisor;
    use serde_json::Value;

    use super::super::super::session::{SessionStart, SessionTransport};
    use super::*;

    fn session(id: &str, version: &str) -> Arc<Session> {
        let (id, asked) = (id.to_owned(), version.to_owned());
        let opening = SessionStart { id, asked, capabilities: Value::Null, program: None, principal: None };
        Session::open(opening, SessionTransport::Http, Supervisor::new(), &Policy::default().serving)
    }

    fn at(session: &Arc<Session>, point: &'static str) -> EventIds {
        let key = SigningKey::from_bytes(&[7; 32]);
        let (ids, to) = EventIds::new(&key, session, &Id::from("a"), Duration::from_secs(2));
        to.set(point);
        ids
    }

    #[tokio::test]
    async fn an_event_id_brings_its_session_back_to_its_request_and_point() {
        let (own, other) = (session("s", "2025-11-25"), session("t", "2025-11-25"));
        let mut ids = at(&own, "here");
        ids.changed().await;
        let event = ids.event().expect("the client does not know it");
        assert!(event.ends_with("\nretry: 2000\ndata: \n\n"), "an event of the protocol without a message: {event}");
        assert!(ids.event().is_none() && ids.is_said(), "it is said once");
        let id = event.lines().next().and_then(|line| line.strip_prefix("id: ")).expect("an id");
        let key = SigningKey::from_bytes(&[7; 32]);
        let awaited = read(&key, &own, id, &Policy::default()).expect("it opens");
        assert!(awaited.id == Id::from("a") && awaited.point == "here");
        assert!(read(&key, &other, id, &Policy::default()).is_none(), "another session has no such event");
    }

    #[tokio::test]
    async fn an_older_client_gets_the_id_with_a_message_and_no_empty_event() {
        let mut ids = at(&session("s", "2025-06-18"), "here");
        assert!(futures::FutureExt::now_or_never(ids.changed()).is_none(), "its answer stays JSON as long as before");
        assert!(ids.event().is_none());
        assert!(ids.fields().is_some_and(|fields| fields.starts_with("id: ") && !fields.contains("data")));
    }
}
