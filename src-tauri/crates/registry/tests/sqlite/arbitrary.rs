//! Any task and any server, for properties.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::budget::window::{CarriedTools, ListedTools, TokenSource, Window};
use domain::client::profile::{PROFILES, ToolListCost};
use domain::ids::{
    AgentId, ConnectionId, HandleId, HostId, JobKey, PersonId, RequestKey, ServerId, SessionKey, UpstreamTaskId,
    WindowId,
};
use domain::rule::{LimitAction, LimitKind, TokenLimit};
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
    self, Audience, Escalation, HoldReason, Home, Origin, OverLimit, Parent, ParentWhy, ResultForm, ResultHold,
    TaskHandle, Told, UsualDuration,
};
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Family, TaskTokens};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::arbitrary_settings::run_limits;

pub(crate) fn text() -> BoxedStrategy<String> {
    // All of Unicode, with control characters, quotes and zero bytes.
    prop_oneof![".{0,12}", "[\\x00-\\x1f\"\\\\']{0,4}", any::<String>().prop_map(|t| t.chars().take(40).collect())]
        .boxed()
}

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_millis)
}

pub(crate) fn span() -> impl Strategy<Value = Duration> {
    (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn decider() -> impl Strategy<Value = Decider> {
    let agent = any::<u128>().prop_map(|id| Decider::Agent(AgentId::from_random(id)));
    let kind = select(vec![LimitKind::Tokens, LimitKind::Time, LimitKind::Progress, LimitKind::Calls]);
    prop_oneof![person().prop_map(Decider::Person), agent, kind.prop_map(Decider::Limit)]
}

pub(crate) fn person() -> impl Strategy<Value = PersonId> {
    text().prop_map(PersonId::new)
}

fn rpc_error() -> impl Strategy<Value = RpcError> {
    (any::<i64>(), text()).prop_map(|(code, message)| RpcError { code, message })
}

fn outcome() -> BoxedStrategy<Outcome> {
    prop_oneof![
        any::<u64>().prop_map(|bytes| Outcome::Ok(ResultRef { bytes })),
        any::<u64>().prop_map(|bytes| Outcome::ToolError(ResultRef { bytes })),
        any::<u64>().prop_map(|bytes| Outcome::FailedWithResult(ResultRef { bytes })),
        rpc_error().prop_map(Outcome::Error),
        Just(Outcome::NotFetched),
        Just(Outcome::Unavailable),
    ]
    .boxed()
}

fn status() -> BoxedStrategy<TaskStatus> {
    prop_oneof![
        Just(TaskStatus::Working),
        Just(TaskStatus::InputRequired),
        outcome().prop_map(TaskStatus::Completed),
        of(rpc_error()).prop_map(TaskStatus::Failed),
        Just(TaskStatus::Cancelled),
        text().prop_map(TaskStatus::Other),
    ]
    .boxed()
}

fn ttl() -> BoxedStrategy<Ttl> {
    prop_oneof![Just(Ttl::Unsaid), Just(Ttl::Unlimited), span().prop_map(Ttl::For)].boxed()
}

fn task() -> BoxedStrategy<TaskView> {
    (text(), status(), of(text()), of(time()), of(time()), time(), ttl(), of(time()), of(span()))
        .prop_map(|(id, status, message, created, updated, first_seen, ttl, expires, hint)| TaskView {
            id: UpstreamTaskId::new(id),
            status,
            message,
            created,
            updated,
            first_seen,
            ttl,
            expires,
            hint,
        })
        .boxed()
}

fn view() -> BoxedStrategy<ServerView> {
    let host = || any::<u128>().prop_map(HostId::from_random);
    prop_oneof![
        (time(), host(), any::<u32>()).prop_map(|(since, host, round)| ServerView::Awaiting { since, host, round }),
        (time(), host(), any::<u32>()).prop_map(|(since, host, round)| ServerView::OwnCall { since, host, round }),
        (time(), any::<u32>(), any::<bool>()).prop_map(|(since, round, has_state)| ServerView::Asking {
            since,
            round,
            has_state
        }),
        (time(), select(GateReason::ALL.to_vec())).prop_map(|(since, reason)| ServerView::Gated { since, reason }),
        text().prop_map(|why| ServerView::NotSent { why }),
        (time(), text()).prop_map(|(since, why)| ServerView::Unanswered { since, why }),
        outcome().prop_map(ServerView::Direct),
        rpc_error().prop_map(ServerView::Refused),
        task().prop_map(ServerView::Task),
    ]
    .boxed()
}

fn contact() -> BoxedStrategy<Contact> {
    let miss = prop_oneof![
        text().prop_map(Miss::Unreachable),
        Just(Miss::UnknownTask),
        (text(), text()).prop_map(|(path, why)| Miss::Unreadable { path, why }),
        rpc_error().prop_map(Miss::Refused),
    ];
    let gone = prop_oneof![
        Just(GoneWhy::Unknown),
        Just(GoneWhy::Expired),
        text().prop_map(GoneWhy::ProcessEnded),
        text().prop_map(GoneWhy::OutOfReach),
        Just(GoneWhy::EndedByPerson { by: PersonId::new("ada"), act: ServerAct::Restart }),
        Just(GoneWhy::Replaced),
        Just(GoneWhy::ServerRemoved),
    ];
    let needs = prop_oneof![text().prop_map(Needs::SignIn), text().prop_map(Needs::Upgrade)];
    prop_oneof![
        time().prop_map(|seen| Contact::Fresh { seen }),
        (time(), any::<u32>(), miss).prop_map(|(since, failures, last)| Contact::Silent { since, failures, last }),
        (time(), time(), gone).prop_map(|(at, seen, why)| Contact::Gone { at, seen, why }),
        (time(), needs).prop_map(|(since, needs)| Contact::Blocked { since, needs }),
    ]
    .boxed()
}

fn delivery() -> BoxedStrategy<Delivery> {
    prop_oneof![
        Just(Delivery::Recorded),
        (time(), any::<u32>()).prop_map(|(at, attempts)| Delivery::Sent { at, attempts }),
        time().prop_map(|at| Delivery::Acknowledged { at }),
        (time(), text()).prop_map(|(at, why)| Delivery::Refused { at, why }),
    ]
    .boxed()
}

fn intent() -> BoxedStrategy<Intent> {
    let wish = || {
        (decider(), time(), of(text()), delivery(), of(time()))
            .prop_map(|(by, at, reason, delivery, sent)| CancelRequest { by, at, reason, delivery, sent })
    };
    prop_oneof![
        Just(Intent::None),
        wish().prop_map(Intent::Cancel),
        wish().prop_map(Intent::Revoked),
        (person(), time()).prop_map(|(by, at)| Intent::Unwatched { by, at }),
    ]
    .boxed()
}

fn ask() -> BoxedStrategy<Ask> {
    // Whole numbers only: JSON readers round the last digit of fractions.
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    let schema = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            btree_map(text(), inner, 0..4).prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    });
    prop_oneof![
        (text(), schema).prop_map(|(message, schema)| Ask::Form { message, schema }),
        (text(), text(), of(text())).prop_map(|(message, url, elicitation)| Ask::Visit { message, url, elicitation }),
        Just(Ask::Sampling),
        Just(Ask::Roots),
        text().prop_map(Ask::Unsupported),
    ]
    .boxed()
}

fn request() -> BoxedStrategy<InputRequest> {
    let door = prop_oneof![
        text().prop_map(|key| AskDoor::Listed { key }),
        (any::<u32>(), text()).prop_map(|(round, key)| AskDoor::Round { round, key }),
        (any::<u128>(), text(), text()).prop_map(|(connection, token, digest)| AskDoor::Live {
            connection: ConnectionId::from_random(connection),
            token,
            digest,
        }),
    ];
    let action = prop_oneof![
        Just(AnswerAction::Accept),
        Just(AnswerAction::Decline),
        Just(AnswerAction::Dismiss),
        Just(AnswerAction::Forwarded),
    ];
    let answered = (decider(), time(), action, of(time()), delivery())
        .prop_map(|(by, at, action, not_before, delivery)| RecordedAnswer { by, at, action, not_before, delivery });
    let answered = answered.boxed();
    let state = prop_oneof![
        Just(RequestState::Open),
        answered.clone().prop_map(RequestState::Answered),
        answered.prop_map(RequestState::Confirmed),
        (time(), text()).prop_map(|(at, why)| RequestState::Withdrawn { at, why }),
    ];
    (text(), ask(), door, time(), state)
        .prop_map(|(key, ask, door, opened, state)| InputRequest {
            key: RequestKey::new(key),
            ask,
            door,
            opened,
            state,
        })
        .boxed()
}

fn requests() -> BoxedStrategy<BTreeMap<RequestKey, InputRequest>> {
    vec(request(), 0..4).prop_map(|all| all.into_iter().map(|request| (request.key.clone(), request)).collect()).boxed()
}

/// Any number that a server can say, also the ones JSON has no word for. Not NaN: it does not equal itself.
fn real() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("a NaN equals nothing", |number| !number.is_nan())
}

fn told() -> impl Strategy<Value = BTreeSet<Told>> {
    btree_set((0..Told::ALL.len()).prop_map(|index| Told::ALL[index]), 0..Told::ALL.len())
}

fn exactness() -> impl Strategy<Value = Exactness> {
    prop_oneof![Just(Exactness::Exact), Just(Exactness::About), Just(Exactness::AtMost)]
}

pub(crate) fn family() -> impl Strategy<Value = Family> {
    (0..Family::ALL.len()).prop_map(|index| Family::ALL[index])
}

pub(crate) fn limit() -> impl Strategy<Value = TokenLimit> {
    let at =
        prop_oneof![Just(LimitAction::Warn), Just(LimitAction::Ask), Just(LimitAction::Hold), Just(LimitAction::Stop)];
    (any::<u64>(), at).prop_map(|(tokens, at)| TokenLimit { tokens, at })
}

/// What a task costs, and that it went past its limit.
fn weight() -> BoxedStrategy<Weight> {
    let figures = (any::<u64>(), any::<u64>(), any::<u64>(), of(any::<u64>()), any::<u64>(), any::<u64>());
    let in_window = (of(count()), any::<u64>());
    let tokens = (family(), exactness(), figures, in_window).prop_map(|(family, exactness, figures, in_window)| {
        let (in_window, delivered_in_window) = in_window;
        let (arguments, handle, interim, result, delivered, unsaid) = figures;
        TaskTokens {
            arguments,
            handle,
            interim,
            result,
            delivered,
            unsaid,
            exactness,
            in_window,
            delivered_in_window,
            ..TaskTokens::new(family)
        }
    });
    let over = (any::<u64>(), limit(), time(), of((person(), time())))
        .prop_map(|(tokens, limit, at, settled)| OverLimit { tokens, limit, at, settled });
    (of(tokens), of(over)).boxed()
}

type Weight = (Option<TaskTokens>, Option<OverLimit>);

fn count() -> impl Strategy<Value = Count> {
    (any::<u64>(), exactness()).prop_map(|(tokens, exactness)| Count { tokens, exactness })
}

/// Any window, as it is kept: without what came in lately.
pub(crate) fn any_window() -> impl Strategy<Value = Window> {
    let listed = || (btree_map(text().prop_map(Arc::from), count(), 0..4), count());
    let shelf = (of(text()), listed(), listed()).prop_map(|(session, (tools, own), carried)| ListedTools {
        session: session.map(Into::into),
        tools,
        own,
        carried: CarriedTools { tools: carried.0, own: carried.1 },
    });
    let shelves = btree_map(of(any::<u128>().prop_map(ServerId::from_random)), shelf, 0..3);
    let source = (2..TokenSource::ALL.len()).prop_map(|index| TokenSource::ALL[index]);
    let sums = || btree_map(source.clone(), count(), 0..4);
    let tool_list = (any::<u16>(), any::<bool>()).prop_map(|(percent, searched)| ToolListCost { percent, searched });
    let sums = (sums(), sums(), tool_list);
    let who = (any::<u128>(), any::<u128>(), family());
    let times = (time(), time(), of(time()));
    let out = (count(), any::<u64>());
    (who, times, shelves, sums, out).prop_map(|(who, (began, last, ended), shelves, sums, (kept_out, unsaid))| Window {
        passed: sums.1,
        tool_list: sums.2,
        id: WindowId::from_random(who.0),
        agent: AgentId::from_random(who.1),
        family: who.2,
        began,
        last,
        ended,
        shelves,
        sums: sums.0,
        kept_out,
        unsaid,
        lately: VecDeque::new(),
    })
}

/// What passes between a task and its agent: given, undelivered, orphaned, cancelled; the hold and what it costs; the
/// parent; the rest.
type Dealings = (
    (Option<Timestamp>, Option<Timestamp>, Option<Timestamp>, Option<Timestamp>),
    (Option<ResultHold>, Weight),
    Option<Parent>,
    (Option<u128>, Option<String>, Option<String>, Option<String>, u32, Option<Duration>),
);

fn any_dealings() -> BoxedStrategy<Dealings> {
    let form = prop_oneof![
        Just(ResultForm::Whole),
        Just(ResultForm::Slices),
        any::<u64>().prop_map(|tokens| ResultForm::Trimmed { tokens }),
    ];
    let verdict =
        prop_oneof![
            time().prop_map(|at| task::HoldVerdict::ByLimit { at }),
            (person(), time(), form).prop_map(|(by, at, form)| task::HoldVerdict::Deliver { by, at, form }),
            (person(), time(), of(text()), any::<bool>())
                .prop_map(|(by, at, reason, shown)| task::HoldVerdict::Withhold { by, at, reason, shown }),
        ];
    let reason = prop_oneof![
        Just(HoldReason::Review),
        (any::<u64>(), any::<u64>()).prop_map(|(tokens, limit)| HoldReason::TooLarge { tokens, limit }),
        (any::<u64>(), any::<u64>()).prop_map(|(tokens, free)| HoldReason::DoesNotFit { tokens, free }),
        (any::<u64>(), any::<u64>(), 0..PROFILES.len()).prop_map(|(tokens, shown, line)| HoldReason::WouldBeCut {
            tokens,
            shown,
            program: &PROFILES[line],
        }),
    ];
    let hold = (of(person()), time(), reason, of(verdict)).prop_map(|(by, at, why, verdict)| ResultHold {
        by,
        at,
        why,
        verdict,
    });
    let why = prop_oneof![Just(ParentWhy::Trace), Just(ParentWhy::OpenTask)];
    let parent = (any::<u128>(), why).prop_map(|(id, why)| Parent { id: HandleId::from_random(id), why });
    let moments = (of(time()), of(time()), of(time()), of(time()));
    let rest = (of(any::<u128>()), of(text()), of(text()), of(text()), 1..u32::MAX, of(any::<Duration>()));
    (moments, (of(hold), weight()), of(parent), rest).boxed()
}

pub(crate) fn any_handle() -> impl Strategy<Value = TaskHandle> {
    let origin =
        prop_oneof![Just(Origin::Started), Just(Origin::Agent), Just(Origin::Discovered), Just(Origin::Adopted),];
    let audience = prop_oneof![
        Just(Audience::People),
        Just(Audience::Agent),
        time().prop_map(|people_at| Audience::AgentThenPeople { people_at }),
        Just(Audience::Both),
    ];
    let progress =
        (of(real()), of(real()), of(text())).prop_map(|(done, total, message)| Progress { done, total, message });
    let usual = (any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>())
        .prop_map(|(samples, median_ms, p90_ms, p95_ms)| UsualDuration { samples, median_ms, p90_ms, p95_ms });
    let why = prop_oneof![Just(DueWhy::Agreed), Just(DueWhy::Usual)];
    let due = (time(), why).prop_map(|(at, why)| Due { at, why });
    let home = (any::<u32>(), of(text()))
        .prop_map(|(generation, session)| Home { generation, session: session.map(SessionKey::new) });
    let who = (any::<u128>(), any::<u128>(), of(any::<u128>()), origin, of(text()), of(text()));
    let truths = (home, view(), contact(), intent(), audience, requests());
    let figures = (
        of(progress),
        of(usual),
        of(due),
        of(time()),
        any::<u64>(),
        any::<bool>(),
        told(),
        (time(), time(), of(time())),
    );
    let limits = run_limits().boxed();
    let parts = (who.boxed(), truths.boxed(), figures.boxed(), any_dealings(), limits);
    parts.prop_map(|(who, truths, figures, dealings, run_limits)| {
        let (id, server, agent, origin, tool, digest) = who;
        let (home, view, contact, intent, audience, requests) = truths;
        let (progress, usual, due, paused_since, paused_ms, contradicted, told, (created, changed, ended)) = figures;
        let ((given, undelivered, orphaned, cancelled_for_agent), (hold, (tokens, over_limit)), parent, rest) =
            dealings;
        let (seat, failed, trace, job, attempt, agent_ttl) = rest;
        TaskHandle {
            id: HandleId::from_random(id),
            server: ServerId::from_random(server),
            agent: agent.map(AgentId::from_random),
            origin,
            tool: tool.map(Into::into),
            arguments_digest: digest.map(Into::into),
            home,
            view,
            contact,
            intent,
            audience,
            requests: requests.into(),
            shared: task::SharedQuestions {
                stored: [(RequestKey::new("k"), [HandleId::from_random(id.wrapping_add(1))].into())].into(),
                elsewhere: [task::QuestionRef { task: HandleId::from_random(id), key: RequestKey::new("k/1") }].into(),
            },
            more_questions: attempt / 2,
            progress,
            usual,
            due,
            paused_since,
            paused_ms,
            stepped_ms: -i64::from(attempt),
            frozen_since: paused_since,
            contradicted,
            told,
            seat: seat.map(AgentId::from_random),
            given,
            undelivered,
            orphaned,
            hold,
            tokens,
            over_limit,
            run_limits,
            cancelled_for_agent,
            failed_for_agent: failed.map(Into::into),
            end_shown: ended,
            escalation: Escalation::default(),
            loss_cause: None,
            parent,
            trace: trace.map(Into::into),
            job: job.map(JobKey::new),
            attempt,
            agent_ttl,
            version: 0,
            created,
            changed,
            ended,
        }
    })
}

pub(crate) fn any_server() -> impl Strategy<Value = Server> {
    let address = prop_oneof![
        (text(), vec(text(), 0..3), btree_map(text(), text(), 0..3), vec(text(), 0..3), of(text())).prop_map(
            |(command, args, env, secret_env, cwd)| ServerAddress::Stdio { command, args, env, secret_env, cwd }
        ),
        (text(), vec(text(), 0..3)).prop_map(|(url, secret_headers)| ServerAddress::Http { url, secret_headers }),
    ];
    let era = || prop_oneof![Just(Era::Modern), Just(Era::Legacy), Just(Era::LegacySse)];
    let dialect = prop_oneof![Just(Dialect::Extension2026), Just(Dialect::Experimental2025), Just(Dialect::NoTasks)];
    let consent = (person(), time(), text()).prop_map(|(by, at, fingerprint)| Consent { by, at, fingerprint });
    let verdict = (text(), era()).prop_map(|(fingerprint, era)| EraVerdict { fingerprint, era });
    let negotiated = (era(), dialect, text(), text(), text(), any::<bool>(), any::<bool>(), of(text())).prop_map(
        |(era, dialect, protocol_version, server_name, server_version, can_list, can_cancel, session)| Negotiated {
            era,
            dialect,
            protocol_version,
            server_name,
            server_version,
            can_list,
            can_cancel,
            session: session.map(SessionKey::new),
        },
    );
    (any::<u128>(), "[a-z0-9._-]{1,40}", address, of(consent), any::<u32>(), of(verdict), of(negotiated), time())
        .prop_map(|(id, name, address, consent, generation, verdict, negotiated, created)| Server {
            id: ServerId::from_random(id),
            name,
            address,
            consent,
            generation,
            verdict,
            negotiated,
            created,
        })
}
