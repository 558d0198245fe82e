//! One value of every shape that is stored: each variant of each enum, empty and full.

mod escalations;
mod limits;
mod plans;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::budget::window::{CarriedTools, CountingSettings, ListedTools, TokenSource, Window};
use domain::client::profile::{self, ToolListCost};
use domain::ids::{
    AgentId, ConnectionId, HaltId, HandleId, HostId, JobKey, PersonId, RequestKey, ServerId, SessionKey,
    UpstreamTaskId, WindowId,
};
use domain::ports::CallIntent;
use domain::rule::{LimitAction, LimitKind, TokenLimit};
use domain::server::halt::{ConfirmedTool, Halt, HaltEffect, HaltOrder, HaltSubject, RecoveryStage, RecoveryStep};
use domain::server::{Consent, Dialect, Era, EraVerdict, Negotiated, Server, ServerAct, ServerAddress};
use domain::task::decider::Decider;
use domain::task::input_request::{AnswerAction, Ask, AskDoor, InputRequest, RecordedAnswer, RequestState};
use domain::task::observation::Progress;
use domain::task::payload::ResultRef;
use domain::task::status::{
    CancelRequest, Contact, Delivery, Due, DueWhy, GateReason, GoneWhy, Intent, Miss, Needs, Outcome, RpcError,
    ServerView, TaskStatus, TaskView, Ttl,
};
use domain::task::{
    Audience, Escalation, HoldReason, HoldVerdict, Home, InputRequests, Origin, OverLimit, Parent, ParentWhy,
    QuestionRef, ResultForm, ResultHold, SharedQuestions, TaskHandle, TaskRunLimits, Told, UsualDuration,
};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use serde_json::{Value, json};

pub(crate) use limits::rules;
pub(crate) use plans::{control_tokens, plans};

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn ada() -> PersonId {
    PersonId::new("ada")
}

pub(crate) fn bare_task() -> TaskHandle {
    TaskHandle {
        id: HandleId::from_random(1),
        server: ServerId::from_random(2),
        agent: Some(AgentId::from_random(3)),
        origin: Origin::Started,
        tool: Some("index_folder".into()),
        arguments_digest: None,
        home: Home { generation: 4, session: None },
        seat: None,
        view: ServerView::NotSent { why: "no".into() },
        contact: Contact::Fresh { seen: at(5) },
        intent: Intent::None,
        audience: Audience::People,
        requests: InputRequests::default(),
        shared: SharedQuestions::default(),
        more_questions: 0,
        progress: None,
        usual: None,
        due: None,
        paused_since: None,
        paused_ms: 6,
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
        run_limits: TaskRunLimits::default(),
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
        version: 7,
        created: at(8),
        changed: at(9),
        ended: None,
    }
}

pub(crate) fn full_task() -> TaskHandle {
    TaskHandle {
        origin: Origin::Agent,
        arguments_digest: Some("00ff".into()),
        home: Home { generation: 4, session: Some(SessionKey::new("ses \"1\"")) },
        seat: Some(AgentId::from_random(11)),
        shared: SharedQuestions {
            stored: [(RequestKey::new("k"), [HandleId::from_random(12), HandleId::from_random(13)].into())].into(),
            elsewhere: [QuestionRef { task: HandleId::from_random(14), key: RequestKey::new("k/1") }].into(),
        },
        more_questions: 3,
        progress: Some(Progress { done: Some(0.5), total: Some(f64::INFINITY), message: Some("half\n".into()) }),
        usual: Some(UsualDuration { samples: 1, median_ms: 2, p90_ms: 3, p95_ms: u64::MAX }),
        due: Some(Due { at: at(-1), why: DueWhy::Agreed }),
        paused_since: Some(at(20)),
        frozen_since: None,
        contradicted: true,
        told: Told::ALL.into_iter().collect(),
        given: Some(at(21)),
        undelivered: Some(at(22)),
        orphaned: Some(at(23)),
        hold: Some(ResultHold { by: Some(ada()), at: at(24), why: HoldReason::Review, verdict: None }),
        tokens: Some(TaskTokens {
            family: Family::Claude47,
            exactness: Exactness::About,
            arguments: 1,
            handle: 2,
            interim: 3,
            result: Some(4),
            in_window: Some(Count { tokens: 5, exactness: Exactness::AtMost }),
            delivered: 6,
            delivered_in_window: 7,
            unsaid: 8,
        }),
        over_limit: Some(OverLimit {
            tokens: 9,
            limit: TokenLimit { tokens: 8, at: LimitAction::Ask },
            at: at(25),
            settled: Some((ada(), at(26))),
        }),
        run_limits: limits::run_limits(),
        cancelled_for_agent: Some(at(27)),
        failed_for_agent: Some("it failed".into()),
        end_shown: Some(at(28)),
        loss_cause: Some(at(44)),
        parent: Some(Parent { id: HandleId::from_random(15), why: ParentWhy::Trace }),
        trace: Some("0af7".into()),
        job: Some(JobKey::new("job")),
        attempt: 2,
        agent_ttl: Some(Duration::new(1, 999_999_999)),
        ended: Some(at(28)),
        ..bare_task()
    }
}

pub(crate) fn rpc_error() -> RpcError {
    RpcError { code: -32_601, message: "no such \u{1F600} method".into() }
}

pub(crate) fn task_view(status: TaskStatus, ttl: Ttl) -> TaskView {
    TaskView {
        id: UpstreamTaskId::new("up-1"),
        status,
        message: Some("counting".into()),
        created: Some(at(30)),
        updated: None,
        first_seen: at(31),
        ttl,
        expires: Some(at(32)),
        hint: Some(Duration::from_millis(1_500)),
    }
}

pub(crate) fn outcomes() -> Vec<Outcome> {
    let bytes = ResultRef { bytes: 33 };
    vec![
        Outcome::Ok(bytes),
        Outcome::ToolError(bytes),
        Outcome::FailedWithResult(bytes),
        Outcome::Error(rpc_error()),
        Outcome::NotFetched,
        Outcome::Unavailable,
    ]
}

pub(crate) fn views() -> Vec<ServerView> {
    let host = HostId::from_random(34);
    let mut views = vec![
        ServerView::Awaiting { since: at(35), host, round: 1 },
        ServerView::OwnCall { since: at(35), host, round: 2 },
        ServerView::Asking { since: at(35), round: 3, has_state: true },
        ServerView::NotSent { why: "refused".into() },
        ServerView::Unanswered { since: at(35), why: "lost".into() },
        ServerView::Refused(rpc_error()),
    ];
    views.extend(outcomes().into_iter().map(ServerView::Direct));
    let mut statuses = vec![
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Failed(None),
        TaskStatus::Failed(Some(rpc_error())),
        TaskStatus::Cancelled,
        TaskStatus::Other("paused".into()),
    ];
    statuses.extend(outcomes().into_iter().map(TaskStatus::Completed));
    views.extend(statuses.into_iter().map(|status| ServerView::Task(task_view(status, Ttl::Unsaid))));
    for ttl in [Ttl::Unlimited, Ttl::For(Duration::from_secs(60))] {
        views.push(ServerView::Task(task_view(TaskStatus::Working, ttl)));
    }
    views
}

pub(crate) fn contacts() -> Vec<Contact> {
    let misses = [
        Miss::Unreachable("down".into()),
        Miss::UnknownTask,
        Miss::Unreadable { path: "/status".into(), why: "no word".into() },
        Miss::Refused(rpc_error()),
    ];
    let gone = [
        GoneWhy::Unknown,
        GoneWhy::Expired,
        GoneWhy::ProcessEnded("signal 9".into()),
        GoneWhy::Replaced,
        GoneWhy::ServerRemoved,
        GoneWhy::EndedByPerson { by: PersonId::new("ann"), act: ServerAct::Restart },
        GoneWhy::EndedByPerson { by: PersonId::new("ann"), act: ServerAct::End },
        GoneWhy::EndedByPerson { by: PersonId::new("ann"), act: ServerAct::Change },
    ];
    let needs = [Needs::SignIn("/login".into()), Needs::Upgrade("tasks".into())];
    let mut contacts: Vec<Contact> =
        misses.into_iter().map(|last| Contact::Silent { since: at(40), failures: 2, last }).collect();
    contacts.extend(gone.into_iter().map(|why| Contact::Gone { at: at(41), seen: at(42), why }));
    contacts.extend(needs.into_iter().map(|needs| Contact::Blocked { since: at(43), needs }));
    contacts
}

pub(crate) fn deliveries() -> Vec<Delivery> {
    vec![
        Delivery::Recorded,
        Delivery::Sent { at: at(50), attempts: 2 },
        Delivery::Acknowledged { at: at(51) },
        Delivery::Refused { at: at(52), why: "too late".into() },
    ]
}

pub(crate) fn deciders() -> Vec<Decider> {
    vec![Decider::Person(ada()), Decider::Agent(AgentId::from_random(53)), Decider::Limit(LimitKind::Tokens)]
}

pub(crate) fn intents() -> Vec<Intent> {
    let wish =
        |by: Decider, delivery| CancelRequest { by, at: at(54), reason: Some("enough".into()), delivery, sent: None };
    let mut intents: Vec<Intent> =
        deliveries().into_iter().map(|way| Intent::Cancel(wish(Decider::Limit(LimitKind::Tokens), way))).collect();
    intents.extend(deciders().into_iter().map(|by| {
        let wish = wish(by, Delivery::Recorded);
        Intent::Revoked(CancelRequest { sent: Some(at(55)), reason: None, ..wish })
    }));
    intents.push(Intent::Unwatched { by: ada(), at: at(56) });
    intents
}

pub(crate) fn holds() -> Vec<ResultHold> {
    let program = profile::of_word("codex").unwrap_or(&profile::UNKNOWN);
    let whys = [
        HoldReason::TooLarge { tokens: 1, limit: 2 },
        HoldReason::DoesNotFit { tokens: 3, free: 4 },
        HoldReason::WouldBeCut { tokens: 5, shown: 6, program },
    ];
    let verdicts = [
        HoldVerdict::ByLimit { at: at(60) },
        HoldVerdict::Deliver { by: ada(), at: at(61), form: ResultForm::Whole },
        HoldVerdict::Deliver { by: ada(), at: at(61), form: ResultForm::Slices },
        HoldVerdict::Deliver { by: ada(), at: at(61), form: ResultForm::Trimmed { tokens: 7 } },
        HoldVerdict::Withhold { by: ada(), at: at(62), reason: Some("secret".into()), shown: true },
        HoldVerdict::Withhold { by: ada(), at: at(62), reason: None, shown: false },
    ];
    let mut holds: Vec<ResultHold> =
        whys.into_iter().map(|why| ResultHold { by: None, at: at(63), why, verdict: None }).collect();
    holds.extend(verdicts.into_iter().map(|verdict| ResultHold {
        by: None,
        at: at(64),
        why: HoldReason::Review,
        verdict: Some(verdict),
    }));
    holds
}

pub(crate) fn tasks() -> Vec<TaskHandle> {
    let bare = bare_task;
    let mut tasks = vec![bare(), full_task()];
    tasks.extend(views().into_iter().map(|view| TaskHandle { view, ..bare() }));
    tasks.extend(contacts().into_iter().map(|contact| TaskHandle { contact, ..bare() }));
    tasks.extend(intents().into_iter().map(|intent| TaskHandle { intent, ..bare() }));
    tasks.extend(holds().into_iter().map(|hold| TaskHandle { hold: Some(hold), ..bare() }));
    for origin in [Origin::Discovered, Origin::Adopted] {
        tasks.push(TaskHandle { origin, ..bare() });
    }
    for audience in [Audience::Agent, Audience::AgentThenPeople { people_at: at(70) }, Audience::Both] {
        tasks.push(TaskHandle { audience, ..bare() });
    }
    for family in Family::ALL {
        tasks.push(TaskHandle { tokens: Some(TaskTokens::new(family)), ..bare() });
    }
    for at_tokens in [LimitAction::Warn, LimitAction::Hold, LimitAction::Stop] {
        let limit = TokenLimit { tokens: 1, at: at_tokens };
        tasks
            .push(TaskHandle { over_limit: Some(OverLimit { tokens: 2, limit, at: at(71), settled: None }), ..bare() });
    }
    let parent = Parent { id: HandleId::from_random(72), why: ParentWhy::OpenTask };
    tasks.push(TaskHandle { parent: Some(parent), due: Some(Due { at: at(73), why: DueWhy::Usual }), ..bare() });
    for (done, total) in [(Some(1e300), None), (Some(-0.0), Some(3.0)), (None, Some(f64::NEG_INFINITY))] {
        tasks.push(TaskHandle { progress: Some(Progress { done, total, message: None }), ..bare() });
    }
    tasks.extend(escalations::escalations().into_iter().map(|escalation| TaskHandle { escalation, ..bare() }));
    for reason in GateReason::ALL {
        tasks.push(TaskHandle { view: ServerView::Gated { since: at(35), reason }, ..bare() });
    }
    tasks.push(TaskHandle { frozen_since: Some(at(74)), ..bare() });
    let contact = Contact::Gone { at: at(41), seen: at(42), why: GoneWhy::OutOfReach("a copy".into()) };
    tasks.push(TaskHandle { contact, ..bare() });
    tasks.push(TaskHandle { stepped_ms: -75, ..bare() });
    tasks
}

pub(crate) fn requests() -> Vec<InputRequest> {
    let request = |ask, door, state| InputRequest { key: RequestKey::new("k"), ask, door, opened: at(80), state };
    let listed = || AskDoor::Listed { key: "k".into() };
    let schema = json!({ "type": "object", "z": [null, true, -1, "x"], "a": {} });
    let visit = |elicitation: Option<&str>| Ask::Visit {
        message: "Sign in".into(),
        url: "https://x.example/".into(),
        elicitation: elicitation.map(Into::into),
    };
    let mut requests: Vec<InputRequest> = [
        Ask::Form { message: "Go on?".into(), schema },
        Ask::Form { message: String::new(), schema: Value::Null },
        visit(None),
        visit(Some("e-1")),
        Ask::Sampling,
        Ask::Roots,
        Ask::Unsupported("x/y".into()),
    ]
    .into_iter()
    .map(|ask| request(ask, listed(), RequestState::Open))
    .collect();
    let live = AskDoor::Live { connection: ConnectionId::from_random(81), token: "t".into(), digest: "d".into() };
    for door in [AskDoor::Round { round: 2, key: "k".into() }, live] {
        requests.push(request(Ask::Roots, door, RequestState::Open));
    }
    let answered = |by, action, delivery, not_before| RecordedAnswer { by, at: at(82), action, not_before, delivery };
    let actions = [AnswerAction::Accept, AnswerAction::Decline, AnswerAction::Dismiss, AnswerAction::Forwarded];
    for action in actions {
        let state = RequestState::Answered(answered(Decider::Person(ada()), action, Delivery::Recorded, Some(at(83))));
        requests.push(request(Ask::Roots, listed(), state));
    }
    for way in deliveries() {
        let state =
            RequestState::Confirmed(answered(Decider::Limit(LimitKind::Tokens), AnswerAction::Accept, way, None));
        requests.push(request(Ask::Roots, listed(), state));
    }
    requests.push(request(Ask::Roots, listed(), RequestState::Withdrawn { at: at(84), why: "gone".into() }));
    requests
}

pub(crate) fn servers() -> Vec<Server> {
    let http =
        ServerAddress::Http { url: "https://x.example/mcp".into(), secret_headers: vec!["Authorization".into()] };
    let stdio = ServerAddress::Stdio {
        command: "/bin/x".into(),
        args: vec!["-a".into(), String::new()],
        env: BTreeMap::from([("B".to_owned(), "2".to_owned()), ("A".to_owned(), "1".to_owned())]),
        secret_env: vec!["TOKEN".into()],
        cwd: Some("/tmp".into()),
    };
    let bare = |address| Server {
        id: ServerId::from_random(90),
        name: "x".into(),
        address,
        consent: None,
        generation: 0,
        verdict: None,
        negotiated: None,
        created: at(91),
    };
    let mut servers = vec![bare(http.clone()), bare(stdio.clone())];
    let dialects = [Dialect::Extension2026, Dialect::Experimental2025, Dialect::NoTasks];
    for (era, dialect) in [Era::Modern, Era::Legacy, Era::LegacySse].into_iter().zip(dialects) {
        servers.push(Server {
            consent: Some(Consent { by: ada(), at: at(92), fingerprint: "f".into() }),
            generation: 3,
            verdict: Some(EraVerdict { fingerprint: "g".into(), era }),
            negotiated: Some(Negotiated {
                era,
                dialect,
                protocol_version: "2026-07-28".into(),
                server_name: "X".into(),
                server_version: "1".into(),
                can_list: true,
                can_cancel: false,
                session: Some(SessionKey::new("s")),
            }),
            ..bare(if era == Era::Modern { http.clone() } else { stdio.clone() })
        });
    }
    servers
}

pub(crate) fn halts() -> Vec<Halt> {
    let (server, tool) = (ServerId::from_random(140), Arc::from("a:b"));
    let order = |subject, effects: &[HaltEffect]| HaltOrder {
        subject,
        effects: effects.iter().copied().collect(),
        at: at(141),
        by: Some(ada().into()),
        reason: "why \"x\"".into(),
        lifted: BTreeMap::new(),
    };
    let file = HaltOrder { by: None, reason: String::new(), ..order(HaltSubject::Everything, &[HaltEffect::Calls]) };
    let bare = Halt::begun(HaltId::from_random(142), vec![file]);
    let orders = vec![
        HaltOrder {
            lifted: HaltEffect::ALL.into_iter().map(|effect| (effect, at(143))).collect(),
            ..order(HaltSubject::Server(server), &HaltEffect::ALL)
        },
        order(HaltSubject::Agent(AgentId::from_random(144)), &[HaltEffect::Running]),
        order(HaltSubject::Tool(server, Arc::clone(&tool)), &[HaltEffect::Requests]),
    ];
    let full = Halt {
        orders,
        closed_at: Some(at(145)),
        steps: RecoveryStage::ALL.map(|stage| RecoveryStep { stage, at: at(146), by: ada() }).to_vec(),
        confirmed: vec![ConfirmedTool { server, tool, digest: "00".into() }],
        ..bare.clone()
    };
    vec![bare, full]
}

pub(crate) fn windows() -> Vec<Window> {
    let count = |tokens, exactness| Count { tokens, exactness };
    let bare = Window {
        tool_list: ToolListCost { percent: 72, searched: true },
        lately: VecDeque::new(),
        ..Window::new(WindowId::from_random(110), AgentId::from_random(111), Family::Gemini, at(112))
    };
    let shelf = ListedTools {
        session: Some("s".into()),
        tools: BTreeMap::from([
            (Arc::from("b \"x\""), count(1, Exactness::Exact)),
            (Arc::from("a"), count(2, Exactness::About)),
        ]),
        own: count(3, Exactness::AtMost),
        carried: CarriedTools::default(),
    };
    let carried = CarriedTools {
        tools: BTreeMap::from([(Arc::from("c"), count(8, Exactness::About))]),
        own: count(9, Exactness::Exact),
    };
    let shelves = BTreeMap::from([
        (None, ListedTools { carried, ..ListedTools::default() }),
        (Some(ServerId::from_random(113)), shelf),
    ]);
    let sums = |tokens| TokenSource::ALL.into_iter().map(|source| (source, count(tokens, Exactness::About))).collect();
    let full = Window {
        ended: Some(at(114)),
        shelves,
        sums: sums(4),
        passed: sums(5),
        kept_out: count(6, Exactness::Exact),
        unsaid: 7,
        ..bare.clone()
    };
    vec![bare, full]
}

pub(crate) fn meters() -> Vec<CountingSettings> {
    let full = CountingSettings {
        model: Some("claude".into()),
        family: Some(Family::Claude47),
        window: Some(1_000),
        program: Some("codex".into()),
    };
    vec![full, CountingSettings { window: Some(1), ..CountingSettings::default() }]
}

pub(crate) fn call_intents() -> Vec<CallIntent> {
    let intent = CallIntent {
        id: HandleId::from_random(120),
        server: ServerId::from_random(121),
        seat: None,
        agent: AgentId::from_random(122),
        tool: "x".into(),
        arguments_digest: "00".into(),
        at: at(123),
        host: HostId::from_random(124),
    };
    vec![intent.clone(), CallIntent { seat: Some(AgentId::from_random(125)), ..intent }]
}
