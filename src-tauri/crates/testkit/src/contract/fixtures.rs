//! Tasks, questions and commits for the contract, made from few words.

use std::collections::BTreeSet;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, HandleId, HostId, PersonId, RequestKey, ServerId, UpstreamTaskId};
use domain::ports::Commit;
use domain::task::input_request::{Ask, AskDoor, InputRequest, RequestState};
use domain::task::status::{Contact, Intent, Phase, ServerView, TaskStatus, TaskView, Ttl};
use domain::task::{Audience, Escalation, Home, InputRequests, Origin, TaskHandle};
use domain::time::Timestamp;

/// Makes the tasks of one chapter: on one server, with ids of their own.
#[derive(Debug, Clone, Copy)]
pub struct ContractFixtures {
    chapter: u128,
}

impl ContractFixtures {
    /// The cast of a chapter; chapters with different numbers share nothing.
    #[must_use]
    pub const fn of(chapter: u64) -> Self {
        Self { chapter: (chapter as u128) << 64 }
    }

    /// A server of this part.
    #[must_use]
    pub const fn server(self, number: u64) -> ServerId {
        ServerId::from_random(self.chapter | number as u128)
    }

    /// An agent of this part.
    #[must_use]
    pub const fn agent(self, number: u64) -> AgentId {
        AgentId::from_random(self.chapter | number as u128)
    }

    /// An id of this part.
    #[must_use]
    pub const fn id(self, number: u64) -> HandleId {
        HandleId::from_random(self.chapter | number as u128)
    }

    /// A call that was just admitted, on the chapter's first server.
    #[must_use]
    pub fn call(self, number: u64, created: i64) -> TaskHandle {
        let created = Timestamp::from_millis(created);
        TaskHandle {
            id: self.id(number),
            server: self.server(1),
            agent: None,
            origin: Origin::Started,
            tool: Some("index_folder".into()),
            arguments_digest: Some("00ff".into()),
            home: Home { generation: 0, session: None },
            seat: None,
            view: ServerView::Awaiting { since: created, host: HostId::from_random(1), round: 0 },
            contact: Contact::Fresh { seen: created },
            intent: Intent::None,
            audience: Audience::People,
            requests: InputRequests::default(),
            shared: domain::task::SharedQuestions::default(),
            more_questions: 0,
            progress: None,
            usual: None,
            due: None,
            paused_since: None,
            paused_ms: 0,
            stepped_ms: 0,
            frozen_since: None,
            contradicted: false,
            told: BTreeSet::new(),
            given: None,
            undelivered: None,
            orphaned: None,
            hold: None,
            tokens: None,
            over_limit: None,
            run_limits: domain::task::TaskRunLimits::default(),
            cancelled_for_agent: None,
            failed_for_agent: None,
            end_shown: None,
            escalation: Escalation::default(),
            loss_cause: None,
            parent: None,
            trace: None,
            job: None,
            attempt: 1,
            agent_ttl: None,
            version: 0,
            created,
            changed: created,
            ended: None,
        }
    }

    /// A task that works on its server under this id.
    #[must_use]
    pub fn task(self, number: u64, created: i64, upstream: &str) -> TaskHandle {
        let call = self.call(number, created);
        TaskHandle { view: working(upstream, call.created), ..call }
    }

    /// A fact about one of its tasks.
    #[must_use]
    pub fn fact(self, number: u64, verb: Verb, note: &str) -> AuditEvent {
        AuditEvent {
            at: Timestamp::from_millis(1_000),
            actor: Actor::Person(PersonId::new("ada")),
            verb,
            subject: Subject::Handle(self.id(number)),
            note: note.into(),
        }
    }
}

/// What a server says of a task that works.
pub(crate) fn working(upstream: &str, first_seen: Timestamp) -> ServerView {
    ServerView::Task(TaskView {
        id: UpstreamTaskId::new(upstream),
        status: TaskStatus::Working,
        message: Some("counting".into()),
        created: None,
        updated: None,
        first_seen,
        ttl: Ttl::Unlimited,
        expires: None,
        hint: None,
    })
}

/// An open question.
pub(crate) fn question(key: &str, opened: i64) -> InputRequest {
    InputRequest {
        key: RequestKey::new(key),
        ask: Ask::Form { message: "Go on?".into(), schema: serde_json::json!({ "type": "object" }) },
        door: AskDoor::Listed { key: key.into() },
        opened: Timestamp::from_millis(opened),
        state: RequestState::Open,
    }
}

/// A unit that commits a handle and nothing else.
#[must_use]
pub fn commit_of(handle: &TaskHandle, phase: Phase) -> Commit {
    Commit {
        handle: handle.clone(),
        phase,
        tick_at: None,
        deliver_at: None,
        audit: Vec::new(),
        log: Vec::new(),
        payloads: Vec::new(),
        raw: Vec::new(),
        learned_ms: None,
    }
}
