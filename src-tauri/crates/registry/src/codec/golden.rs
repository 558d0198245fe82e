//! The stored encodings, frozen: what a registry of today holds must read back and be written the same, byte for byte.
//!
//! `tests/golden/encodings.txt` has one stored body a line; `accepted.txt` lists what of them may be missing, null, another
//! word or of another type. Everything else is refused. Neither file is edited without a migration.

mod fixtures;

use std::collections::BTreeMap;

use domain::agent::control_token::ControlToken;
use domain::budget::window::{CountingSettings, Window};
use domain::client::profile::ToolListCost;
use domain::ids::{AgentId, HandleId, RequestKey, ServerId};
use domain::ports::CallIntent;
use domain::rule::Rule;
use domain::server::Server;
use domain::server::halt::Halt;
use domain::task::TaskHandle;
use domain::task::cancel::plan::BulkPlan;
use domain::task::input_request::InputRequest;
use domain::tokens::{Count, Exactness};
use serde_json::{Value, json};

use fixtures::{
    ada, at, bare_task, call_intents, control_tokens, halts, meters, plans, requests, rules, servers, tasks, windows,
};

const ENCODINGS: &str = include_str!("../../tests/golden/encodings.txt");
const ACCEPTED: &str = include_str!("../../tests/golden/accepted.txt");

type ReadBack = Box<dyn Fn(&str) -> Result<bool, String>>;

/// One stored body: its name, its text, and whether a text reads back as the value it was made of.
struct Stored {
    name: String,
    text: String,
    /// Reads a text; `Ok(true)` when it is the value itself.
    read: ReadBack,
}

/// How each kind is written and read.
mod bodies {
    use super::*;
    use crate::codec::{
        self, CallIntentDef, ControlTokenDef, HaltDef, InputRequestDef, MeterDef, PlanDef, RuleDef, ServerDef, TaskDef,
        WindowDef,
    };

    fn parse(text: &str) -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    pub(super) fn task(task: &TaskHandle) -> String {
        codec::encode::<TaskDef>(task).expect("encodes")
    }

    pub(super) fn read_task(of: &TaskHandle, text: &str) -> Result<TaskHandle, String> {
        let (id, server) = (of.id.to_string(), of.server.to_string());
        let agent = of.agent.map(|agent| agent.to_string());
        let columns = codec::task::TaskColumns {
            id: &id,
            server: &server,
            agent: agent.as_deref(),
            tool: of.tool.as_deref(),
            version: of.version,
            created: of.created,
            changed: of.changed,
            seen: None,
        };
        codec::task::read(&columns, parse(text)?, BTreeMap::new()).map_err(|error| error.to_string())
    }

    pub(super) fn request(request: &InputRequest) -> String {
        codec::encode::<InputRequestDef>(request).expect("encodes")
    }

    pub(super) fn read_request(of: &InputRequest, text: &str) -> Result<InputRequest, String> {
        codec::request::read(of.key.as_str(), of.opened, parse(text)?).map_err(|error| error.to_string())
    }

    pub(super) fn server(server: &Server) -> String {
        codec::encode::<ServerDef>(server).expect("encodes")
    }

    pub(super) fn read_server(of: &Server, text: &str) -> Result<Server, String> {
        let session = of.negotiated.as_ref().and_then(|spoken| spoken.session.clone());
        let id = of.id.to_string();
        codec::server::read(&id, &of.name, of.created, session, parse(text)?).map_err(|error| error.to_string())
    }

    pub(super) fn rule(rule: &Rule) -> String {
        codec::encode::<RuleDef>(rule).expect("encodes")
    }

    pub(super) fn read_rule(of: &Rule, text: &str) -> Result<Rule, String> {
        codec::rule::read(&codec::rule::scope(&of.scope), parse(text)?).map_err(|error| error.to_string())
    }

    pub(super) fn halt(halt: &Halt) -> String {
        codec::encode::<HaltDef>(halt).expect("encodes")
    }

    pub(super) fn read_halt(of: &Halt, text: &str) -> Result<Halt, String> {
        let halt = codec::decode::<HaltDef>(parse(text)?).map_err(|error| error.to_string())?;
        Ok(Halt { id: of.id, ..halt })
    }

    pub(super) fn plan(plan: &BulkPlan) -> String {
        codec::encode::<PlanDef>(plan).expect("encodes")
    }

    pub(super) fn read_plan(of: &BulkPlan, text: &str) -> Result<BulkPlan, String> {
        let plan = codec::decode::<PlanDef>(parse(text)?).map_err(|error| error.to_string())?;
        Ok(BulkPlan { id: of.id, tasks: of.tasks.clone(), ..plan })
    }

    pub(super) fn control_token(token: &ControlToken) -> String {
        codec::encode::<ControlTokenDef>(token).expect("encodes")
    }

    pub(super) fn read_control_token(of: &ControlToken, text: &str) -> Result<ControlToken, String> {
        let token = codec::decode::<ControlTokenDef>(parse(text)?).map_err(|error| error.to_string())?;
        Ok(ControlToken { id: of.id, digest: of.digest, revoked: of.revoked, ..token })
    }

    pub(super) fn window(window: &Window) -> String {
        codec::encode::<WindowDef>(window).expect("encodes")
    }

    pub(super) fn read_window(of: &Window, text: &str) -> Result<Window, String> {
        let (id, agent) = (of.id.to_string(), of.agent.to_string());
        let columns =
            codec::window::WindowColumns { id: &id, agent: &agent, began: of.began, last: of.last, ended: of.ended };
        codec::window::read(&columns, parse(text)?).map_err(|error| error.to_string())
    }

    pub(super) fn meter(meter: &CountingSettings) -> String {
        codec::encode_part::<MeterDef>(meter).expect("encodes")
    }

    pub(super) fn read_meter(text: &str) -> Result<CountingSettings, String> {
        codec::decode_part::<MeterDef>(parse(text)?).map_err(|error| error.to_string())
    }

    pub(super) fn call_intent(intent: &CallIntent) -> String {
        codec::encode::<CallIntentDef>(intent).expect("encodes")
    }

    pub(super) fn read_call_intent(of: &CallIntent, text: &str) -> Result<CallIntent, String> {
        codec::call_intent::read(of.id, parse(text)?).map_err(|error| error.to_string())
    }
}

fn stored<T: PartialEq + 'static>(
    kind: &str,
    values: Vec<T>,
    write: fn(&T) -> String,
    read: fn(&T, &str) -> Result<T, String>,
) -> Vec<Stored> {
    let one = |(index, value): (usize, T)| Stored {
        name: format!("{kind}-{index}"),
        text: write(&value),
        read: Box::new(move |text| read(&value, text).map(|found| found == value)),
    };
    values.into_iter().enumerate().map(one).collect()
}

fn all() -> Vec<Stored> {
    let mut all = stored("task", tasks(), bodies::task, bodies::read_task);
    all.extend(stored("request", requests(), bodies::request, bodies::read_request));
    all.extend(stored("server", servers(), bodies::server, bodies::read_server));
    all.extend(stored("rule", rules(), bodies::rule, bodies::read_rule));
    all.extend(stored("halt", halts(), bodies::halt, bodies::read_halt));
    all.extend(stored("plan", plans(), bodies::plan, bodies::read_plan));
    all.extend(stored("control", control_tokens(), bodies::control_token, bodies::read_control_token));
    all.extend(stored("window", windows(), bodies::window, bodies::read_window));
    all.extend(stored("meter", meters(), bodies::meter, |_, text| bodies::read_meter(text)));
    all.extend(stored("call_intent", call_intents(), bodies::call_intent, bodies::read_call_intent));
    all
}

/// All paths of a JSON value but its root, as JSON pointers.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.replace('/', "~1"), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, value) in inner {
        let path = format!("{at}/{name}");
        paths(value, &path, found);
        found.push(path);
    }
}

/// The value with one thing changed; `None` where the change does not apply.
fn changed(body: &Value, path: &str, how: &str) -> Option<Value> {
    let mut body = body.clone();
    let (parent, name) = path.rsplit_once('/')?;
    match (how, body.pointer_mut(parent)?) {
        ("missing", Value::Object(fields)) => {
            fields.shift_remove(name)?;
        }
        ("missing", Value::Array(items)) => {
            items.remove(name.parse().ok()?);
        }
        ("word", _) => match body.pointer_mut(path)? {
            Value::String(word) => *word = "zzz".into(),
            _ => return None,
        },
        ("null", _) => *body.pointer_mut(path)? = Value::Null,
        ("number", _) => *body.pointer_mut(path)? = json!(1.5),
        ("list", _) => *body.pointer_mut(path)? = json!([[]]),
        _ => return None,
    }
    Some(body)
}

/// What a changed body is read as, by name, path and change; what is refused names the field or what it is in.
fn accepted() -> String {
    let mut lines = Vec::new();
    for Stored { name, text, read } in all() {
        let body: Value = serde_json::from_str(&text).expect("a body is JSON");
        let mut found = Vec::new();
        paths(&body, "", &mut found);
        for path in found {
            for how in ["missing", "word", "null", "number", "list"] {
                let Some(bent) = changed(&body, &path, how) else { continue };
                match read(&bent.to_string()) {
                    Ok(same) => lines.push(format!("{name} {path} {how}{}", if same { " same" } else { "" })),
                    Err(why) => assert!(
                        path.ends_with(|end: char| end.is_ascii_digit())
                            || path.split('/').skip(1).any(|part| why.contains(part.get(..4).unwrap_or(part))),
                        "{name} {path} {how}: `{why}` names no field of it"
                    ),
                }
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Compares with a golden file; on a difference the new text is left beside the build, to be read.
fn compare(name: &str, found: &str, golden: &str) {
    if found != golden {
        let beside = std::env::temp_dir().join(name);
        std::fs::write(&beside, found).expect("the text is left");
        let first = found.lines().zip(golden.lines()).find(|(found, golden)| found != golden);
        panic!("stored encodings changed ({}): {first:?}", beside.display());
    }
}

#[test]
fn what_is_stored_is_written_the_same_byte_for_byte() {
    let lines: Vec<String> = all().iter().map(|stored| format!("{} {}", stored.name, stored.text)).collect();
    compare("encodings.txt", &(lines.join("\n") + "\n"), ENCODINGS);
}

#[test]
fn what_was_stored_reads_back_as_it_was() {
    let golden: BTreeMap<&str, &str> = ENCODINGS.lines().filter_map(|line| line.split_once(' ')).collect();
    for Stored { name, read, .. } in all() {
        let text = golden.get(name.as_str()).copied().unwrap_or_default();
        assert_eq!(read(text), Ok(true), "{name}: {text}");
    }
}

#[test]
fn only_what_may_be_missing_or_new_is_accepted() {
    compare("accepted.txt", &accepted(), ACCEPTED);
}

#[test]
fn what_is_refused_shows_no_content() {
    for Stored { name, text, read } in all() {
        let body: Value = serde_json::from_str(&text).expect("a body is JSON");
        let mut found = Vec::new();
        paths(&body, "", &mut found);
        for path in found {
            let mut bent = body.clone();
            match bent.pointer_mut(&path) {
                Some(Value::String(_)) | None => continue,
                Some(other) => *other = "canary, expected `x".into(),
            }
            let refused = read(&bent.to_string()).err().unwrap_or_default();
            let is_word = refused.contains("has the unknown word");
            assert!(is_word || !refused.contains("canary"), "{name} {path}: {refused}");
        }
    }
}

#[test]
fn another_version_of_an_encoding_is_refused() {
    for Stored { name, text, read } in all() {
        let Some(newer) = text.strip_prefix(r#"{"v":1"#).map(|rest| format!(r#"{{"v":2{rest}"#)) else {
            assert!(name.starts_with("meter"), "{name} has a version");
            continue;
        };
        let refused = read(&newer).expect_err("a newer version is not read");
        assert!(refused.contains("`v`") && refused.contains('2'), "{name}: {refused}");
    }
}

#[test]
fn encodings_from_before_their_newest_fields_are_read() {
    let old = r#"{"v":1,"family":"gemini","shelves":[],"sums":{"results":[4,"about"]},"keptOut":[6,"exact"]}"#;
    let window = bodies::read_window(&windows()[0], old).expect("a window with one figure");
    assert_eq!(window.passed, window.sums, "all that was passed stood in the window");
    assert_eq!((window.tool_list, window.unsaid), (ToolListCost::STATED, 0), "as stated, and nothing unsaid");
    let mut body: Value = serde_json::from_str(&bodies::task(&bare_task())).expect("a body is JSON");
    body["tokens"] = json!({ "family": "gemini", "exactness": "about", "arguments": 1, "handle": 2, "interim": 3,
        "result": 4, "delivered": 6 });
    let tokens = bodies::read_task(&bare_task(), &body.to_string()).expect("one figure").tokens.expect("tokens");
    assert_eq!(tokens.in_window, Some(Count { tokens: 4, exactness: Exactness::About }), "the whole result");
    assert_eq!((tokens.delivered_in_window, tokens.unsaid), (6, 0), "all that was delivered");
}

#[test]
fn the_audit_chain_of_a_fixed_history_ends_in_the_same_hash() {
    use super::audit::{self, ChainPlace, EncodedAuditRow, TaskParties};
    use domain::audit::decision_origin::DecisionOrigin;
    use domain::audit::{Actor, AuditEvent, Subject, Verb};
    use domain::digest::hex;
    use verify::chain::{ChainRow, RowText, START};

    /// Verbs of the first goldens; later ones change no hash of these.
    const VERBS: usize = 42;

    let origin = DecisionOrigin::from_text("window 7@99 /usr/bin/taskwarden").expect("an origin");
    let actors = [
        Actor::Person(ada()),
        Actor::Person(ada().through(origin)),
        Actor::Agent(AgentId::from_random(130)),
        Actor::Server(ServerId::from_random(131)),
        Actor::System("budget"),
    ];
    let subjects = [
        Subject::Handle(HandleId::from_random(132)),
        Subject::Request(HandleId::from_random(133), RequestKey::new("k:1")),
        Subject::Server(ServerId::from_random(134)),
        Subject::Agent(AgentId::from_random(135)),
        Subject::Store,
    ];
    let (mut plain, mut salted) = (START, START);
    let mut number = 0;
    for verb in Verb::ALL.into_iter().take(VERBS) {
        for (actor, subject) in actors.iter().zip(subjects.iter().cycle().skip(number % 5)) {
            number += 1;
            let millis = i64::try_from(number).unwrap_or_default() * 1_000;
            let (actor, subject) = (actor.clone(), subject.clone());
            let event = AuditEvent { at: at(millis), actor, verb, subject, note: format!("note {number} é") };
            let counted = u64::try_from(number).unwrap_or_default();
            let (actor, about) = (event.actor.to_string(), audit::subject(&event.subject));
            let origin = event.origin().map(ToString::to_string);
            let fields = ChainRow {
                number: counted,
                layout: 1,
                at: millis,
                actor: &actor,
                verb: verb.word(),
                subject: &about,
                server: "",
                agent: "",
                text: Some(RowText::Plain { note: &event.note, origin: origin.as_deref() }),
                commitment: None,
            };
            plain = fields.hash(&plain).expect("a row of layout 1");
            let parties = TaskParties { server: "", agent: if number % 2 == 0 { "agt_of_task" } else { "" } };
            salted = EncodedAuditRow::linked(
                ChainPlace { previous: salted, number: counted },
                &event,
                parties,
                [number.to_le_bytes()[0]; 16],
            )
            .hash;
        }
    }
    assert_eq!(hex(&plain), include_str!("../../tests/golden/audit_chain.txt").trim(), "{number} rows of layout 1");
    assert_eq!(hex(&salted), include_str!("../../tests/golden/audit_chain_2.txt").trim(), "{number} rows of layout 2");
}
