//! Golden messages of both generations, and the promise that nothing a server writes makes a view panic.
//!
//! `tests/fixtures/wire/client-*.txt`: the first line names the origin, then pairs of lines: a reader with a whole
//! JSON-RPC message, and what was read. Run with `BLESS=1` to write the second lines anew; then read them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use domain::ids::UpstreamTaskId;
use domain::policy::Policy;
use domain::ports::CallReply;
use domain::task::input_request::Ask;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::status::{Outcome, TaskStatus, Ttl};
use domain::time::Timestamp;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{experimental2025, extension2026};
use crate::wire::message::Answer;
use crate::wire::view::{JsonFields, Misread, ServerError, ServerHello, SightingTimes, ask, tool};

/// Everything a message of a server can be read as.
const READERS: [&str; 16] = [
    "hello",
    "tools",
    "ask",
    "fault",
    "call-2025",
    "call-2025-augmented",
    "get-2025",
    "list-2025",
    "push-2025",
    "completed-2025",
    "failed-2025",
    "call-2026",
    "get-2026",
    "push-2026",
    "ack-2026",
    "listen-2026",
];

fn glimpse(door: ObservationDoor) -> SightingTimes {
    SightingTimes { door, begun: Timestamp::EPOCH, seen: Timestamp::EPOCH }
}

/// The `taskId` of the message, as if that had been asked for.
fn asked(result: &RawValue) -> UpstreamTaskId {
    let outer = JsonFields::of(result, "$").ok();
    let inner = outer.as_ref().and_then(|outer| outer.object_or_none("task"));
    let id = outer.and_then(|outer| outer.text("taskId")).or_else(|| inner.and_then(|inner| inner.text("taskId")));
    UpstreamTaskId::new(id.unwrap_or_default())
}

fn read(reader: &str, message: &RawValue) -> Result<String, Misread> {
    let policy = Policy::default();
    let nothing = RawValue::from_string("null".into()).expect("JSON");
    let fields = JsonFields::of(message, "$")?;
    let member = |name: &str| fields.get(name).unwrap_or(&nothing);
    let (result, error) = (member("result"), member("error"));
    let params = || JsonFields::of(member("params"), "$.params");
    Ok(match reader {
        "hello" => format!("{:?}", ServerHello::read(result, &policy)),
        "tools" => {
            let page = JsonFields::of(result, "$.result")?;
            let entries = page.list("tools")?.into_iter().map(|raw| tool(raw, "$.result.tools[…]".into(), &policy));
            let tools = entries.collect::<Result<Vec<_>, _>>()?;
            let words: Vec<String> = tools.iter().map(|tool| format!("{} {:?}", tool.name, tool.support)).collect();
            words.join(", ")
        }
        "ask" => {
            let method = fields.required_text("method")?;
            let params = params().ok();
            let related = params.as_ref().and_then(|params| experimental2025::related_task(params, &policy));
            format!(
                "{} related={:?}",
                asked_words(&ask(&method, params.as_ref(), &policy)),
                related.map(|id| id.as_str().to_owned())
            )
        }
        "fault" => {
            let fault = ServerError::read(error, &policy);
            format!("{} `{}` missing={:?}", fault.error.code, fault.error.message, fault.missing())
        }
        "call-2025" | "call-2025-augmented" => reply(experimental2025::read_call(
            &result.get().into(),
            reader.ends_with("augmented"),
            glimpse(ObservationDoor::Create),
            &policy,
        )?),
        "get-2025" => seen(
            &experimental2025::read_task(result, &asked(result), &policy)?
                .seen(glimpse(ObservationDoor::Poll), &policy),
        ),
        "list-2025" => {
            let (listed, unread) = experimental2025::read_list(result, glimpse(ObservationDoor::List), &policy)?;
            let tasks: Vec<String> =
                listed.tasks.iter().map(|(id, task)| format!("{} {}", id.as_str(), seen(task))).collect();
            format!("[{}] next={:?} unread={unread}", tasks.join("; "), listed.next)
        }
        "push-2025" => {
            let (id, task) = experimental2025::read_pushed(&params()?, glimpse(ObservationDoor::Push), &policy)?;
            format!("{} {}", id.as_str(), seen(&task))
        }
        "completed-2025" | "failed-2025" => {
            let word = if reader == "failed-2025" {
                TaskStatus::Failed(None)
            } else {
                TaskStatus::Completed(Outcome::NotFetched)
            };
            let answer = match fields.get("error") {
                Some(raw) => Answer::Error(raw.to_owned()),
                None => Answer::Result(result.to_owned()),
            };
            let (status, payload) = experimental2025::outcome(&word, &answer, &policy);
            format!("{} payload={}", status_words(&status), payload.map_or(0, |payload| payload.bytes()))
        }
        "call-2026" => {
            reply(extension2026::read_call(&result.get().into(), glimpse(ObservationDoor::Create), &policy)?)
        }
        "get-2026" => seen(&extension2026::read_task(result, &asked(result), glimpse(ObservationDoor::Poll), &policy)?),
        "push-2026" => {
            let (id, task) = extension2026::read_pushed(&params()?, glimpse(ObservationDoor::Push), &policy)?;
            format!("{} {}", id.as_str(), seen(&task))
        }
        "ack-2026" => extension2026::read_ack(result).map(|()| "acknowledged".to_owned())?,
        "listen-2026" => format!("{} accepted", extension2026::accepted(&params()?).len()),
        other => panic!("no reader `{other}`"),
    })
}

fn reply(reply: CallReply) -> String {
    match reply {
        CallReply::Result { payload, is_error } => format!("result isError={is_error} payload={}", payload.as_str()),
        CallReply::Error { error, .. } => format!("error {}", error.code),
        CallReply::NeedsInput { questions, state, .. } => {
            format!("asks {} state={:?}", questions_words(&questions), state.map(|state| state.as_str().to_owned()))
        }
        CallReply::Task { id, seen: task } => format!("task {} {}", id.as_str(), seen(&task)),
    }
}

fn questions_words(questions: &std::collections::BTreeMap<domain::ids::RequestKey, Ask>) -> String {
    let words: Vec<String> = questions.iter().map(|(key, ask)| format!("{key}: {}", asked_words(ask))).collect();
    format!("{{{}}}", words.join(", "))
}

fn asked_words(ask: &Ask) -> String {
    match ask {
        Ask::Form { message, schema } => format!("form `{message}` {schema}"),
        Ask::Visit { message, url, elicitation } => format!("visit `{message}` {url} {elicitation:?}"),
        Ask::Sampling => "sampling".into(),
        Ask::Roots => "roots".into(),
        Ask::Unsupported(what) => format!("unsupported `{what}`"),
    }
}

fn status_words(status: &TaskStatus) -> String {
    match status {
        TaskStatus::Completed(outcome) => format!("completed {outcome:?}"),
        TaskStatus::Failed(error) => format!("failed {error:?}"),
        other => other.word().to_owned(),
    }
}

fn seen(task: &Observation) -> String {
    let mut text = status_words(&task.status);
    let ttl = match task.ttl {
        Ttl::Unsaid => "unsaid".into(),
        Ttl::Unlimited => "unlimited".into(),
        Ttl::For(span) => format!("{span:?}"),
    };
    let _ = write!(text, " ttl={ttl} hint={:?} created={:?} updated={:?}", task.hint, task.created, task.updated);
    let _ = write!(text, " message={:?}", task.message);
    match &task.outstanding {
        None => text.push_str(" questions=unsaid"),
        Some(questions) => {
            let _ = write!(text, " questions={}", questions_words(questions));
        }
    }
    let _ = write!(text, " payload={:?}", task.payload.as_ref().map(|payload| payload.as_str()));
    text
}

#[test]
fn golden_messages_are_read_as_they_were() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/wire");
    let bless = std::env::var_os("BLESS").is_some();
    let mut rows = 0;
    for entry in std::fs::read_dir(&folder).expect("the fixtures are there").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("client-") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a fixture is text");
        assert!(text.starts_with("# origin: "), "{name} names its origin");
        let mut blessed = String::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            blessed += &format!("{line}\n");
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            rows += 1;
            let (reader, message) = line.split_once(' ').expect("reader and message");
            assert!(READERS.contains(&reader), "{name}: no reader `{reader}`");
            let message: &RawValue = serde_json::from_str(message).expect("a message is JSON");
            let found = match read(reader, message) {
                Ok(found) => format!("=> {found}"),
                Err(misread) => format!("=> {misread}"),
            };
            let expected = lines.next_if(|next| next.starts_with("=>"));
            blessed += &format!("{found}\n");
            assert!(bless || expected == Some(found.as_str()), "{name}: {line}\n   now {found}\nbefore {expected:?}");
        }
        if bless {
            std::fs::write(entry.path(), blessed).expect("the fixture can be written");
        }
    }
    assert!(rows >= 40, "the fixtures were found: {rows} rows");
}

/// JSON that a hostile server might make of the fields we read.
fn hostile() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "result",
        "params",
        "error",
        "task",
        "tasks",
        "taskId",
        "status",
        "ttl",
        "ttlMs",
        "pollInterval",
        "pollIntervalMs",
        "createdAt",
        "lastUpdatedAt",
        "statusMessage",
        "inputRequests",
        "requestState",
        "resultType",
        "method",
        "mode",
        "message",
        "requestedSchema",
        "url",
        "code",
        "data",
        "requiredCapabilities",
        "notifications",
        "taskIds",
        "tools",
        "name",
        "inputSchema",
        "execution",
        "capabilities",
        "extensions",
        "serverInfo",
        "_meta",
        "isError",
        "content",
        "io.modelcontextprotocol/related-task",
    ]);
    let word = prop::sample::select(vec![
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
        "task",
        "complete",
        "elicitation/create",
        "url",
        "2026-11-21T03:25:00Z",
        "t",
        "",
    ]);
    let number = prop::sample::select(vec![
        json!(-1),
        json!(0),
        json!(1e300),
        json!(-1e300),
        json!(0.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(-32602),
    ]);
    let leaf = prop_oneof![
        4 => word.prop_map(Value::from),
        2 => number,
        1 => ".*".prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 80, 8, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            5 => prop::collection::vec((name.clone(), inner), 0..8)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

/// A message that is nearly right: a task with each field taken from anywhere.
fn nearly_a_task() -> impl Strategy<Value = Value> {
    (hostile(), hostile(), hostile(), hostile(), hostile(), hostile()).prop_map(|(status, ttl, poll, asks, end, at)| {
        let task = json!({"taskId": "t", "status": status, "ttl": ttl, "ttlMs": ttl, "pollInterval": poll,
            "inputRequests": asks, "result": end, "error": end, "createdAt": at, "lastUpdatedAt": at, "statusMessage": at});
        let mut result = task.clone();
        result["task"] = task.clone();
        result["tasks"] = json!([task]);
        json!({"result": result, "params": task, "error": end, "method": "elicitation/create"})
    })
}

#[test]
fn a_hint_or_a_ttl_that_is_no_span_says_nothing_and_a_very_long_one_is_cut() {
    let longest = Some(Duration::from_millis(u64::try_from(i64::MAX).expect("it is positive")));
    let spans = [
        ("-1e308", None),
        ("-1e400", None),
        ("-1", None),
        ("-9223372036854775808", None),
        (r#""5000""#, None),
        (r#""-1""#, None),
        ("true", None),
        ("[5000]", None),
        ("{}", None),
        ("-0", Some(Duration::ZERO)),
        ("-0.0", Some(Duration::ZERO)),
        ("1e-400", Some(Duration::ZERO)),
        ("60000.0", Some(Duration::from_secs(60))),
        ("9223372036854775808", longest),
        ("1e308", longest),
        ("1e400", longest),
    ];
    for (text, span) in spans {
        for name in ["", "Ms"] {
            let task = format!(r#"{{"taskId":"t","status":"working","ttl{name}":{text},"pollInterval{name}":{text}}}"#);
            let message = RawValue::from_string(format!(r#"{{"result":{task},"params":{task}}}"#)).expect("JSON");
            let ttl = span.map_or_else(|| "unsaid".to_owned(), |span| format!("{span:?}"));
            for reader in ["get-2025", "push-2025", "get-2026", "push-2026"] {
                let found = read(reader, &message).expect("the task is read all the same");
                assert!(found.contains(&format!("ttl={ttl} hint={span:?} ")), "{reader} {text}: {found}");
            }
        }
    }
}

#[test]
fn a_result_type_that_is_no_word_is_named_as_the_place_that_cannot_be_read() {
    for word in ["-0", "1e400", "9223372036854775808", "-1e308", "true", "[]", r#""9223372036854775808""#, r#""""#] {
        let task = format!(r#"{{"resultType":{word},"taskId":"t","status":"working"}}"#);
        let message = RawValue::from_string(format!(r#"{{"result":{task}}}"#)).expect("JSON");
        for reader in ["call-2026", "get-2026", "ack-2026"] {
            let misread = read(reader, &message).expect_err("nobody knows what it is");
            assert_eq!(misread.path, "$.result.resultType", "{reader} {word}");
        }
        assert!(read("get-2025", &message).is_ok(), "the older generation has no such member: {word}");
    }
}

proptest! {
    #[test]
    fn nothing_a_server_writes_makes_a_reader_panic(message in prop_oneof![hostile(), nearly_a_task()]) {
        let message = RawValue::from_string(message.to_string()).expect("JSON");
        for reader in READERS {
            // Only a panic fails: any answer and any refusal will do, as long as the place is named.
            if let Err(misread) = read(reader, &message) {
                prop_assert!(misread.path.starts_with('$'), "{} at {}", reader, misread.path);
            }
        }
    }

    #[test]
    fn absurd_spans_are_absent_or_representable(text in "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?") {
        let raw = RawValue::from_string(format!("{{\"ttl\":{text}}}")).expect("JSON");
        let fields = JsonFields::of(&raw, "$").expect("an object");
        if let Some(span) = fields.millis("ttl") {
            prop_assert!(i64::try_from(span.as_millis()).is_ok(), "{} became {:?}", text, span);
            prop_assert!(!text.starts_with('-') || span.is_zero(), "{} became {:?}", text, span);
        }
    }
}
