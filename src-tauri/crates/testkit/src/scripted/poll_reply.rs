//! What a scripted task answers to a poll, and how that becomes an observation.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::ids::{RequestKey, UpstreamTaskId};
use domain::ports::UpstreamError;
use domain::task::input_request::Ask;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::{Payload, ResultRef};
use domain::task::status::{Outcome, RpcError, TaskStatus, Ttl};
use domain::time::Timestamp;

use super::ScriptedServer;

/// What a 2026 read says is outstanding, by key.
pub type Outstanding = BTreeMap<RequestKey, Ask>;

/// What one poll of a task brings.
#[derive(Debug, Clone, PartialEq)]
pub enum PollReply {
    /// It works, with this message.
    Working(Option<String>),
    /// It waits for answers to these.
    Asks(Outstanding),
    /// It waits for input that comes on a live connection.
    Waits,
    /// It is finished with this result.
    Completed(String),
    /// It is finished with this tool error.
    ToolError(String),
    /// It is finished, and the payload is not to be had yet.
    NotFetched,
    /// It failed with this error.
    Failed(RpcError),
    /// It was cancelled.
    Cancelled,
    /// The read fails.
    Error(UpstreamError),
}

impl PollReply {
    /// A reply that says it works, without a message.
    #[must_use]
    pub fn working() -> Self {
        Self::Working(None)
    }

    /// It works, and says so.
    #[must_use]
    pub fn says(message: &str) -> Self {
        Self::Working(Some(message.to_owned()))
    }

    /// It is finished with a small result.
    #[must_use]
    pub fn done() -> Self {
        Self::Completed(r#"{"content":[]}"#.to_owned())
    }

    /// It waits for a form under each of these keys.
    #[must_use]
    pub fn asks(keys: &[&str]) -> Self {
        Self::Asks(keys.iter().map(|key| (RequestKey::new(*key), form())).collect())
    }
}

/// A form with one field.
#[must_use]
pub fn form() -> Ask {
    Ask::Form {
        message: "Go on?".to_owned(),
        schema: serde_json::json!({"type": "object", "properties": {"name": {"type": "string"}}}),
    }
}

impl ScriptedServer {
    /// The observation of a look that is not an error.
    pub(crate) fn sighting(&self, task: &UpstreamTaskId, look: &PollReply, begun: Timestamp) -> Observation {
        let (created, hint, ttl) = {
            let state = self.state.lock();
            let known = state.tasks.get(task);
            let ttl = known.and_then(|task| task.ttl).map_or(Ttl::Unsaid, Ttl::For);
            (known.map(|task| task.created), known.and_then(|task| task.hint), ttl)
        };
        let stored = |text: &str| ResultRef { bytes: u64::try_from(text.len()).unwrap_or(u64::MAX) };
        let (status, payload) = match look {
            PollReply::Working(_) | PollReply::Error(_) => (TaskStatus::Working, None),
            PollReply::Asks(_) | PollReply::Waits => (TaskStatus::InputRequired, None),
            PollReply::Completed(text) => (TaskStatus::Completed(Outcome::Ok(stored(text))), Some(text.clone())),
            PollReply::ToolError(text) => (TaskStatus::Completed(Outcome::ToolError(stored(text))), Some(text.clone())),
            PollReply::NotFetched => (TaskStatus::Completed(Outcome::NotFetched), None),
            PollReply::Failed(error) => {
                let said = serde_json::json!({"code": error.code, "message": error.message});
                (TaskStatus::Failed(Some(error.clone())), Some(said.to_string()))
            }
            PollReply::Cancelled => (TaskStatus::Cancelled, None),
        };
        let message = match look {
            PollReply::Working(message) => message.clone(),
            _ => None,
        };
        let lists = self.state.lock().negotiated.era == domain::server::Era::Modern;
        let outstanding = match look {
            PollReply::Asks(keys) => Some(keys.clone()),
            _ if status.is_terminal() || !lists => None,
            _ => Some(BTreeMap::new()),
        };
        let raw = outstanding.as_ref().filter(|keys: &&BTreeMap<_, _>| !keys.is_empty()).map(|keys| {
            let keys: Vec<&str> = keys.keys().map(RequestKey::as_str).collect();
            let text = serde_json::json!({ "inputRequests": keys }).to_string();
            domain::raw_message::RawText::of(&text, &domain::policy::Policy::default())
        });
        Observation {
            door: ObservationDoor::Poll,
            begun,
            seen: self.clock.now(),
            status,
            message,
            created,
            updated: None,
            ttl,
            hint,
            outstanding,
            asks_raw: BTreeMap::new(),
            task_raw: None,
            payload: payload.map(Payload::new),
            raw,
        }
    }

    /// What a read of the task brings now; moves the task on.
    pub(crate) fn next_poll(&self, task: &UpstreamTaskId) -> Result<PollReply, UpstreamError> {
        let mut state = self.state.lock();
        if let Some(error) = state.read_failures.pop_front() {
            return Err(error);
        }
        let known = state.tasks.get_mut(task).ok_or(UpstreamError::UnknownTask)?;
        let Some(look) = known.looks.front().cloned() else { return Ok(PollReply::working()) };
        let stays = known.looks.len() == 1 || matches!(look, PollReply::Asks(_) | PollReply::Waits);
        if !stays {
            known.looks.pop_front();
        }
        match look {
            PollReply::Error(error) => Err(error),
            other => Ok(other),
        }
    }

    /// Takes answers under keys: when all that is asked is answered, the task goes on.
    pub(crate) fn take_answers(
        &self,
        task: &UpstreamTaskId,
        keys: &[(RequestKey, domain::task::input_request::AnswerAction)],
    ) {
        let mut state = self.state.lock();
        let Some(known) = state.tasks.get_mut(task) else { return };
        for (key, action) in keys {
            // The first answer counts; later ones are ignored (protocol.md §2.6).
            known.answered.entry(key.clone()).or_insert(*action);
        }
        let satisfied = match known.looks.front() {
            Some(PollReply::Asks(asked)) => asked.keys().all(|key| known.answered.contains_key(key)),
            Some(PollReply::Waits) => true,
            _ => false,
        };
        if satisfied {
            known.looks.pop_front();
            if known.looks.is_empty() {
                known.looks.push_back(PollReply::working());
            }
        }
    }

    /// Ends the task as cancelled, unless it is over.
    pub(crate) fn obey_cancel(&self, task: &UpstreamTaskId) {
        if let Some(known) = self.state.lock().tasks.get_mut(task) {
            known.looks = std::collections::VecDeque::from([PollReply::Cancelled]);
        }
    }

    /// How long a request takes.
    pub(crate) fn latency(&self) -> Duration {
        self.state.lock().takes
    }
}
