//! Agents' requests on a connection: raw both ways, with what is said on the way (statements 60-62).
//!
//! `tests/fixtures/wire/forward-4.2.txt` holds a message for each row of protocol.md §4.2 that a typed SDK loses parts
//! of: what goes out is what came in, but for the keys that are the link's; what comes back is byte for byte.

use domain::ports::{Abilities, CallListener, CallObserver, CallRequest};
use domain::task::payload::Payload;
use tokio::sync::mpsc;

use super::*;
use crate::upstream::forwarder::Forwarding;
use crate::upstream::state::subscription_filter::SubscriptionFilter;
use crate::upstream::transport::request_params::OutgoingParams;
use crate::upstream::{Broadcast, RequestEvent};
use crate::wire::raw_json::member;

const GOLDEN: &str = include_str!("../../../../../../tests/fixtures/wire/forward-4.2.txt");

fn forwarding(method: &str, params: Option<&str>) -> Forwarding {
    Forwarding {
        method: method.to_owned(),
        params: params.map(|params| RawValue::from_string(params.to_owned()).expect("JSON")),
        declares: Payload::new(r#"{"sampling":{"tools":{}}}"#),
        heard: None,
        wants_progress: false,
        limit: None,
    }
}

/// The params as they would stand on the wire.
fn on_the_wire(sent: &OutgoingRequest, version: Option<&str>) -> String {
    OutgoingParams::of(sent, version).as_str().to_owned()
}

/// The members of `_meta` that are the link's.
const STAMPS: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

/// The params without what the link put in.
fn unstamped(params: &str) -> String {
    let meta = member(params, "_meta").map(|meta| crate::wire::raw_json::with_members(meta, &[], &STAMPS));
    match meta {
        Some(meta) if member(params, "_meta").is_some() && meta != "{}" => {
            crate::wire::raw_json::with_members(params, &[("_meta", meta.into())], &[])
        }
        Some(_) | None => crate::wire::raw_json::with_members(params, &[], &["_meta"]),
    }
}

#[tokio::test(start_paused = true)]
async fn every_row_of_the_losses_of_a_typed_sdk_passes_both_ways_byte_for_byte() {
    let lines: Vec<&str> = GOLDEN.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert!(lines.len() >= 3 * 22, "three lines for each row of the table, {} are here", lines.len());
    for row in lines.chunks(3) {
        let [title, params, result] = row else { panic!("rows have three lines: {row:?}") };
        let method = title.split(':').next().expect("a method");
        let answers = (*result).to_owned();
        let seen: Arc<Mutex<Option<OutgoingRequest>>> = Arc::default();
        let sees = Arc::clone(&seen);
        let rig = Rig::modern(move |sent| {
            *sees.lock() = Some(sent.clone());
            Reply::Raw(answers.clone())
        });
        let answer = rig.forward.request(forwarding(method, Some(params))).await.expect("an answer");
        match answer {
            Answer::Result(raw) => assert_eq!(raw.get(), *result, "{title}: the result comes back as it was"),
            Answer::Error(raw) => assert_eq!(raw.get(), *result, "{title}: the error comes back as it was"),
        }
        let sent = seen.lock().take().expect("it was sent");
        assert_eq!(unstamped(&on_the_wire(&sent, Some(MODERN))), *params, "{title}: nothing of the params is lost");
        assert_eq!(on_the_wire(&sent, None), *params, "{title}: in the older eras nothing is added");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_of_itself_stays_behind_and_the_rest_of_meta_goes_on() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let sees = Arc::clone(&seen);
    let rig = Rig::modern(move |sent| {
        sees.lock().push(on_the_wire(sent, Some(MODERN)));
        sees.lock().push(on_the_wire(sent, None));
        Reply::Result(json!({}))
    });
    let params = r#"{"name":"p","_meta":{"traceparent":"00-1","io.modelcontextprotocol/clientInfo":{"name":"agent"},"progressToken":"theirs","vendor/x":1.0,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/logLevel":"info"}}"#;
    rig.forward.request(forwarding("prompts/get", Some(params))).await.expect("an answer");
    let seen = seen.lock().clone();
    let [modern, legacy] = seen.as_slice() else { panic!("one request") };
    let sent: Value = serde_json::from_str(modern).expect("JSON");
    let meta = &sent["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "taskwarden", "who asks is the gateway");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({"sampling": {"tools": {}}}), "as given");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], MODERN, "the version agreed there");
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "info", "a wish for log messages is the agent's");
    assert!(modern.contains(r#""vendor/x":1.0"#) && modern.contains(r#""traceparent":"00-1""#), "the rest: {modern}");
    assert!(!modern.contains("theirs"), "the agent's token means nothing there");
    assert_eq!(legacy, r#"{"name":"p","_meta":{"traceparent":"00-1","vendor/x":1.0}}"#, "an older server is told less");
}

#[tokio::test(start_paused = true)]
async fn progress_and_logs_of_a_request_reach_who_asked_raw_and_before_the_answer() {
    let rig = Rig::modern(|_| Reply::Hold);
    let (to, mut heard) = mpsc::channel(8);
    let forward = Arc::clone(&rig.forward);
    let asking = aside(async move {
        let forwarding = Forwarding { heard: Some(to), wants_progress: true, ..forwarding("prompts/get", None) };
        forward.request(forwarding).await
    });
    let sent = rig.link.nth("prompts/get", 1).await;
    assert_eq!(sent.params["_meta"]["progressToken"], sent.tag.0, "the token is the link's tag");
    let progress = json!({"progressToken": sent.tag.0, "progress": 1, "vendor": {"x": 2.50}});
    rig.notifies("notifications/progress", progress.clone()).await;
    let log = InboundMessage::Notification {
        method: "notifications/message".into(),
        params: raw(&json!({"level": "info", "data": 1})),
        on: Some(sent.tag),
    };
    rig.says(log).await;
    let Some(RequestEvent::Progress(told)) = heard.recv().await else { panic!("progress comes first") };
    assert_eq!(told.get(), progress.to_string(), "with unknown members");
    let Some(RequestEvent::Log(told)) = heard.recv().await else { panic!("then the log message") };
    assert_eq!(told.get(), r#"{"level":"info","data":1}"#, "raw");
    rig.link.release(sent.tag, result(json!({"ok": true}))).await;
    assert!(matches!(asking.await.expect("it ends"), Ok(Answer::Result(_))), "and the answer last");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_everybody_reaches_all_readers() {
    let rig = Rig::legacy(|_| Reply::Hold);
    let (mut one, mut other) = (rig.forward.unsolicited(), rig.forward.unsolicited());
    rig.notifies("notifications/resources/updated", json!({"uri": "x:1"})).await;
    rig.notifies("notifications/message", json!({"level": "info", "data": "hello"})).await;
    rig.notifies("notifications/tools/list_changed", json!({})).await;
    for reader in [&mut one, &mut other] {
        let mut methods = Vec::new();
        for _ in 0..3 {
            let Broadcast::Said { method, .. } = reader.next().await else { panic!("three things are said") };
            methods.push(method.to_string());
        }
        let wanted = ["notifications/resources/updated", "notifications/message", "notifications/tools/list_changed"];
        assert_eq!(methods, wanted, "in order");
    }
    rig.says(InboundMessage::StreamBack).await;
    assert!(matches!(one.next().await, Broadcast::Missed), "a stream that came back may have missed something");
    rig.closes().await;
    assert!(matches!(one.next().await, Broadcast::Over), "the end is told");
}

#[tokio::test(start_paused = true)]
async fn one_subscription_carries_what_all_agents_asked_for_and_each_is_told_what_was_accepted() {
    let rig = Rig::modern(|_| Reply::Hold);
    let uris = |uri: &str| std::collections::BTreeSet::from([uri.to_owned()]);
    let mut one =
        rig.forward.listen(SubscriptionFilter { tools: true, uris: uris("x:1"), ..SubscriptionFilter::default() });
    let first = rig.link.nth("subscriptions/listen", 1).await;
    assert_eq!(first.params["notifications"], json!({"toolsListChanged": true, "resourceSubscriptions": ["x:1"]}));
    let ack = |tag, filter: Value| InboundMessage::Notification {
        method: "notifications/subscriptions/acknowledged".into(),
        params: raw(&json!({ "notifications": filter })),
        on: Some(tag),
    };
    rig.says(ack(first.tag, json!({"toolsListChanged": true}))).await;
    let accepted = one.accepted().await;
    assert!(accepted.tools && accepted.uris.is_empty(), "what the server took, no more: {accepted:?}");
    let mut other = rig.forward.listen(SubscriptionFilter { prompts: true, ..SubscriptionFilter::default() });
    let second = rig.link.nth("subscriptions/listen", 2).await;
    let both = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["x:1"]});
    assert_eq!(second.params["notifications"], both, "the union of both");
    rig.says(ack(second.tag, both)).await;
    assert!(other.accepted().await.prompts, "the second is told as well");
    rig.link.until("the older stream is closed", |wire| wire.cancelled.contains(&first.tag).then_some(())).await;
    drop((one, other));
    rig.link.until("nobody listens any more", |wire| wire.cancelled.contains(&second.tag).then_some(())).await;
}

struct Notes(Mutex<Vec<(String, String)>>);

impl CallObserver for Notes {
    fn heard(&self, method: &str, params: Payload) {
        self.0.lock().push((method.to_owned(), params.as_str().to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_agent_goes_out_with_all_that_the_agent_wrote_and_its_listener_hears() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let sees = Arc::clone(&seen);
    let mut rig = Rig::modern(move |sent| match &*sent.method {
        "tools/list" => Reply::Result(json!({"tools": []})),
        _ => {
            sees.lock().push(on_the_wire(sent, Some(MODERN)));
            Reply::Hold
        }
    });
    let notes = Arc::new(Notes(Mutex::default()));
    let agent_params = r#"{"vendor":{"n":1.0},"name":"srv__dig","arguments":{"b":1e2,"a":1},"task":{"ttl":5},"requestState":"old","_meta":{"x/y":[1],"progressToken":7}}"#;
    let request = CallRequest {
        agent_params: Some(Payload::new(agent_params)),
        abilities: Abilities { sampling: true, ..Abilities::default() },
        listener: Some(CallListener(Arc::clone(&notes) as _)),
        ..call(1, "dig", r#"{"b":1e2,"a":1}"#)
    };
    let upstream = Arc::clone(&rig.upstream);
    let calling = aside(async move { upstream.call(request).await });
    let sent = rig.link.nth("tools/call", 1).await;
    let wire = seen.lock().pop().expect("it was sent");
    let start = r#"{"vendor":{"n":1.0},"name":"dig","arguments":{"b":1e2,"a":1},"_meta":{"x/y":[1],"#;
    assert!(wire.starts_with(start), "order and spelling stay, ours replace theirs in place: {wire}");
    assert!(!wire.contains("requestState") && !wire.contains("\"task\""), "what is not for the server stays: {wire}");
    let meta: Value = serde_json::from_str(member(&wire, "_meta").expect("meta")).expect("JSON");
    assert_eq!(meta["progressToken"], sent.tag.0, "our token");
    assert!(
        meta["io.modelcontextprotocol/clientCapabilities"]["sampling"].is_object(),
        "what the agent can do: {meta}"
    );
    assert!(meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object(), "and what people can");
    let progress = json!({"progressToken": sent.tag.0, "progress": 0.5, "vendor": true});
    rig.notifies("notifications/progress", progress.clone()).await;
    assert!(matches!(rig.heard().await, UpstreamEvent::Progress(..)), "the engine hears of it too");
    assert_eq!(*notes.0.lock(), [("notifications/progress".to_owned(), progress.to_string())], "raw");
    rig.link.release(sent.tag, result(json!({"content": []}))).await;
    calling.await.expect("it ends").expect("a reply");
}

#[tokio::test(start_paused = true)]
async fn what_only_an_agent_can_answer_is_asked_on_its_own_connection_and_answered_verbatim() {
    let can = Abilities { sampling: true, ..Abilities::default() };
    let mut rig = Rig::legacy_of(can, |_| Reply::Hold);
    let params = json!({"messages": [], "maxTokens": 5.0, "vendor": {"z": 1, "a": 2}});
    rig.asks("\"s-1\"", "sampling/createMessage", params.clone(), None).await;
    let UpstreamEvent::Question(_, question) = rig.heard().await else { panic!("a question") };
    assert_eq!(question.ask, domain::task::input_request::Ask::Sampling, "its kind");
    let whole = question.whole.expect("it is kept for the agent");
    assert!(whole.as_str().ends_with(&format!("\"params\":{params}}}")), "as it came: {}", whole.as_str());
    let said = r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","n":1.50}"#;
    let connection = rig.id;
    let answer = |token: &str, action, content: Option<&str>| domain::ports::AnswerToSend {
        door: domain::task::input_request::AskDoor::Live {
            connection,
            token: token.to_owned(),
            digest: question.digest.clone(),
        },
        action,
        content: content.map(Payload::new),
    };
    let forwarded = answer("\"s-1\"", domain::task::input_request::AnswerAction::Forwarded, Some(said));
    rig.upstream.answer(None, vec![forwarded]).await.expect("the server takes it");
    let (token, responded) = rig.link.until("it is answered", |wire| wire.responded.last().cloned()).await;
    let said: Value = serde_json::from_str(said).expect("JSON");
    assert_eq!((token.as_str(), &responded["result"]), ("\"s-1\"", &said), "the agent's own words");
    rig.asks("\"s-2\"", "sampling/createMessage", params, None).await;
    let UpstreamEvent::Question(..) = rig.heard().await else { panic!("a question") };
    let declined = answer("\"s-2\"", domain::task::input_request::AnswerAction::Decline, None);
    rig.upstream.answer(None, vec![declined]).await.expect("the server takes it");
    let error = rig.link.until("it is refused", |wire| wire.responded.get(1).cloned()).await.1;
    assert_eq!(error["error"]["code"], -1, "a refusal of sampling is an error");
    rig.asks("\"r-1\"", "roots/list", json!({}), None).await;
    let refused = rig.link.until("roots are refused", |wire| wire.responded.get(2).cloned()).await.1;
    assert_eq!(refused["error"]["code"], -32601, "what the agent did not declare is refused at once");
}
