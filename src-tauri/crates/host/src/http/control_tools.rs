//! The control API as MCP tools at `/api/v1/mcp`, for supervisor programs that are agents themselves.
//!
//! Each tool is a call of `api::control` and takes its fields as they are; what it opens follows from the scopes of the
//! token, as over plain HTTP. Definitions and results are short, because a model pays for each word of them. Nothing is
//! kept here: a session has no state, and what a call did is in the registry.

use std::net::SocketAddr;
use std::sync::Arc;

use api::control::{CONTROL_CALLS, ControlCaller, ControlReply};
use domain::policy::ControlTokenPolicy;
use domain::ports::PortFuture;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use mcp::server::{
    Client, HttpEndpoint, Principal, RawResult, Request, ResponseStream, ServerParts, Service, Session, version,
};
use serde_json::{Map, Value, json};

use super::control::ControlCalls;

/// The endpoint of the tools.
pub(super) fn endpoint(
    calls: ControlCalls,
    parts: ServerParts,
    bound: SocketAddr,
    policy: &ControlTokenPolicy,
) -> HttpEndpoint {
    let mut parts = parts;
    parts.policy.serving.body_cap_bytes = policy.body_bytes;
    let list_fresh_ms = u64::try_from(parts.policy.serving.list_fresh.as_millis()).unwrap_or(u64::MAX);
    HttpEndpoint::new(Arc::new(ControlTools { calls, tool_rows: policy.tool_rows, list_fresh_ms }), parts, bound)
}

/// A tool, and the control call that it makes.
struct Tool {
    name: &'static str,
    call: &'static str,
    about: &'static str,
    /// The fields as JSON Schema properties.
    fields: fn() -> Value,
    required: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "list_tasks",
        call: "tasks.list",
        about: "Lists tasks of AI agents in your reach, newest first, and open `alarms` about repeated calls.",
        fields: || {
            json!({
                "open": {"type": "boolean", "description": "only those not over"},
                "phases": {"type": "array", "items": {"type": "string"}},
                "server": {"type": "string"},
                "agent": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "before": {"type": "string", "description": "`next` of a page"},
            })
        },
        required: &[],
    },
    Tool {
        name: "show_task",
        call: "tasks.show",
        about: "Shows one task: phase, times, attempt, and how far a cancel got.",
        fields: || json!({"id": {"type": "string", "description": "hdl_…"}}),
        required: &["id"],
    },
    Tool {
        name: "cancel_tasks",
        call: "tasks.cancel",
        about: "Asks servers to cancel tasks: `ids`, or all open ones that match `filter`. Outcomes: `stopped`, \
                `acknowledged`, `asked` (no word yet), `endedHere` (not sent), `finishedAnyway`, `refused`, `notAsked`.",
        fields: || {
            json!({
                "ids": ids(),
                "filter": {
                    "type": "object",
                    "properties": {
                        "server": {"type": "string"},
                        "agent": {"type": "string"},
                        "tool": {"type": "string"},
                        "phases": {"type": "array", "items": {"type": "string"}},
                    },
                },
                "expect": {"type": "integer", "description": "if another number matches, nothing is asked"},
                "reason": reason(),
            })
        },
        required: &[],
    },
    Tool {
        name: "revoke_tasks",
        call: "tasks.revoke",
        about: "Takes tasks from their agents and asks servers to cancel them. Outcomes as in cancel_tasks. It cannot \
                be undone.",
        fields: || json!({"ids": ids(), "reason": reason()}),
        required: &["ids"],
    },
    Tool {
        name: "halt",
        call: "halts.start",
        about: "Halts the calls and tasks of what is named, or everything if nothing is. Only a person lets work begin \
                again.",
        fields: || {
            json!({
                "reason": reason(),
                "agents": {"type": "array", "items": {"type": "string"}},
                "servers": {"type": "array", "items": {"type": "string"}},
                "tools": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"server": {"type": "string"}, "tool": {"type": "string"}},
                        "required": ["server", "tool"],
                    },
                },
            })
        },
        required: &["reason"],
    },
];

fn ids() -> Value {
    json!({"type": "array", "items": {"type": "string"}, "minItems": 1})
}

fn reason() -> Value {
    json!({"type": "string", "description": "kept in the audit log"})
}

/// What a client shows its model of this server.
const INSTRUCTIONS: &str = "Watches and ends tasks of AI agents with a control token of Taskwarden. Nothing here starts, \
                            approves or resumes work.";

impl Tool {
    fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Whether the token opens it.
    fn is_open_to(&self, caller: &ControlCaller) -> bool {
        CONTROL_CALLS.iter().any(|call| call.name == self.call && caller.may(call.ability))
    }

    fn acts(&self) -> bool {
        CONTROL_CALLS.iter().any(|call| call.name == self.call && call.acts)
    }

    fn definition(&self) -> Value {
        let mut schema = json!({"type": "object", "properties": (self.fields)(), "additionalProperties": false});
        if let (Some(schema), false) = (schema.as_object_mut(), self.required.is_empty()) {
            schema.insert("required".to_owned(), json!(self.required));
        }
        let hints = if self.acts() { json!({"destructiveHint": true}) } else { json!({"readOnlyHint": true}) };
        json!({"name": self.name, "description": self.about, "inputSchema": schema, "annotations": hints})
    }
}

struct ControlTools {
    calls: ControlCalls,
    tool_rows: u32,
    list_fresh_ms: u64,
}

impl Service for ControlTools {
    fn request(
        &self,
        client: Client,
        request: Request,
        _stream: ResponseStream,
    ) -> PortFuture<'_, Result<RawResult, RequestError>> {
        Box::pin(async move {
            let caller = self.caller(&request)?;
            let result = match (request.method.as_str(), &client) {
                ("initialize", Client::Legacy(session)) => json!({
                    "protocolVersion": session.version(),
                    "capabilities": {"tools": {}},
                    "serverInfo": server_info(),
                    "instructions": INSTRUCTIONS,
                }),
                ("server/discover", Client::Modern(_)) => self.cached(json!({
                    "supportedVersions": version::MODERN,
                    "capabilities": {"tools": {}},
                    "instructions": INSTRUCTIONS,
                })),
                ("ping", Client::Legacy(_)) => json!({}),
                ("tools/list", Client::Legacy(_)) => json!({"tools": definitions(&caller, &request)?}),
                ("tools/list", Client::Modern(_)) => self.cached(json!({"tools": definitions(&caller, &request)?})),
                ("tools/call", _) => self.call(caller, &request).await?,
                _ => return Err(RequestError::no_method()),
            };
            written(&client, result)
        })
    }

    fn is_busy(&self, _session: &Session) -> bool {
        false
    }

    /// A session has no state here.
    fn session_over(&self, _session: &Session) {}
}

impl ControlTools {
    /// Whose token the request came with, when it is still in force: a session may outlive it.
    fn caller(&self, request: &Request) -> Result<ControlCaller, RequestError> {
        let token = match request.principal {
            Some(Principal::Supervisor(token)) => self.calls.api.control_caller_with(token),
            Some(Principal::Agent(_)) | None => None,
        };
        token.ok_or_else(|| {
            RequestError::new(RequestErrorKind::Revoked, "this control token is not in force; a person makes another")
        })
    }

    fn cached(&self, mut result: Value) -> Value {
        if let Some(result) = result.as_object_mut() {
            result.insert("ttlMs".to_owned(), json!(self.list_fresh_ms));
            // Which tools there are depends on the token.
            result.insert("cacheScope".to_owned(), json!("private"));
        }
        result
    }

    async fn call(&self, caller: ControlCaller, request: &Request) -> Result<Value, RequestError> {
        let name = request.params.str("name").ok_or_else(|| RequestError::params("`name` must be a string"))?;
        let tool = Tool::named(&name).filter(|tool| tool.is_open_to(&caller)).ok_or_else(|| {
            RequestError::params("there is no such tool for this control token; `tools/list` has those that it opens")
        })?;
        let mut fields = match request.params.value("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(RequestError::params("`arguments` must be an object")),
        };
        let is_list = tool.call == "tasks.list";
        let is_first_page = is_list && !fields.contains_key("before");
        if is_list {
            fields.entry("limit").or_insert_with(|| json!(self.tool_rows));
        }
        let body = Value::Object(fields).to_string();
        let reply = self.calls.make(caller.clone(), tool.call.to_owned(), body, None).await;
        let is_error = reply.status != 200;
        let alarms = if is_first_page && !is_error { self.open_alarms(caller).await } else { Vec::new() };
        let text = if is_error { refusal_text(&reply) } else { short_text(&reply.body, alarms) };
        let mut result = json!({"content": [{"type": "text", "text": text}]});
        if let (Some(result), true) = (result.as_object_mut(), is_error) {
            result.insert("isError".to_owned(), json!(true));
        }
        Ok(result)
    }
}

impl ControlTools {
    /// The newest alarms in reach that are open; none when they cannot be read, because the tasks are what was asked for.
    async fn open_alarms(&self, caller: ControlCaller) -> Vec<Value> {
        let reply = self.calls.make(caller, "alarms.list".to_owned(), String::new(), None).await;
        let mut read: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        let listed = read.get_mut("alarms").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
        let open = listed.into_iter().filter(|alarm| alarm.get("state").is_some_and(|state| state == "open"));
        open.take(usize::try_from(self.tool_rows).unwrap_or(usize::MAX)).collect()
    }
}

/// The definitions of the tools that the token opens.
fn definitions(caller: &ControlCaller, request: &Request) -> Result<Vec<Value>, RequestError> {
    if request.params.get("cursor").is_some_and(|cursor| cursor != "null") {
        return Err(RequestError::params("this `cursor` is not known here"));
    }
    Ok(TOOLS.iter().filter(|tool| tool.is_open_to(caller)).map(Tool::definition).collect())
}

fn server_info() -> Value {
    json!({"name": "taskwarden-control", "title": "Taskwarden control", "version": env!("CARGO_PKG_VERSION")})
}

/// A result in the words of the client's era.
fn written(client: &Client, mut result: Value) -> Result<RawResult, RequestError> {
    if let (Client::Modern(_), Some(members)) = (client, result.as_object_mut()) {
        members.insert("resultType".to_owned(), json!("complete"));
        members.insert("_meta".to_owned(), json!({"io.modelcontextprotocol/serverInfo": server_info()}));
    }
    let raw = serde_json::value::to_raw_value(&result);
    raw.map(RawResult::from)
        .map_err(|_| RequestError::new(RequestErrorKind::Internal, "the result could not be written"))
}

/// Why a call was declined, and what to do, for a model.
fn refusal_text(reply: &ControlReply) -> String {
    let error: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    // `reply.retry_after` is said in words here, because a tool result has no header.
    let again = reply.retry_after.map(|after| format!(" Try again in {} s.", after.as_secs().max(1)));
    format!("{}. {}{}", word("message"), word("hint"), again.unwrap_or_default()).trim().to_owned()
}

/// An answer without the members that say nothing: null, false, empty, and a first attempt. With the alarms, if any.
fn short_text(body: &str, alarms: Vec<Value>) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    let is_list = answer.get("tasks").is_some();
    if let (Some(members), false) = (answer.as_object_mut(), alarms.is_empty()) {
        members.insert("alarms".to_owned(), Value::Array(alarms));
    }
    shorten(&mut answer, is_list);
    answer.to_string()
}

/// The members of a listed task that `show_task` has, and of an alarm those on which nobody can act here.
const LEFT_OUT_OF_LISTS: [&str; 8] =
    ["createdAt", "changedAt", "endedAt", "resultBytes", "raisedAt", "limit", "state", "action"];

fn shorten(value: &mut Value, is_list: bool) {
    match value {
        Value::Object(members) => {
            members.retain(|name, value| {
                let says_nothing = match value {
                    Value::Null | Value::Bool(false) => true,
                    Value::Number(number) => {
                        number.as_u64() == Some(0) || (name == "attempt" && number.as_u64() == Some(1))
                    }
                    _ => false,
                };
                let is_left_out = is_list && LEFT_OUT_OF_LISTS.contains(&name.as_str());
                !(says_nothing || is_left_out)
            });
            members.values_mut().for_each(|value| shorten(value, is_list));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, is_list)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use domain::ports::TokenCounter as _;
    use domain::tokens::Family;

    use super::*;

    #[test]
    fn the_definitions_of_all_tools_cost_a_model_less_than_900_tokens() {
        let all: Vec<Value> = TOOLS.iter().map(Tool::definition).collect();
        let text = json!({"tools": all}).to_string();
        let counted: u64 =
            tokens::FamilyCounter::new().tools(Family::Claude47, &text).values().map(|count| count.tokens).sum();
        assert!(counted > 0, "each is counted");
        assert!(counted < 900, "{counted} tokens: {text}");
    }

    #[test]
    fn each_tool_makes_a_control_call_and_says_whether_it_acts() {
        for tool in TOOLS {
            let call = CONTROL_CALLS.iter().find(|call| call.name == tool.call).expect("its call");
            let hint = if call.acts { "destructiveHint" } else { "readOnlyHint" };
            assert_eq!(tool.definition()["annotations"][hint], true, "`{}`", tool.name);
        }
    }

    #[test]
    fn an_answer_is_shortened_by_what_says_nothing_and_keeps_the_rest() {
        let task = json!({"id": "hdl_1", "agent": null, "attempt": 1, "openRequests": 0, "isError": false,
            "phase": "working", "createdAt": "2026-01-01T00:00:00Z"});
        let list = json!({"tasks": [task], "next": null}).to_string();
        assert_eq!(short_text(&list, Vec::new()), r#"{"tasks":[{"id":"hdl_1","phase":"working"}]}"#);
        let alarm = json!({"id": "alm_1", "agent": "order-bot", "kind": "sameCall", "other": null, "count": 12, "limit": 10,
            "state": "open", "action": "ask", "asks": true, "raisedAt": "2026-01-01T00:00:00Z"});
        let alarms = short_text(r#"{"tasks":[]}"#, vec![alarm]);
        let said = json!({"id": "alm_1", "agent": "order-bot", "kind": "sameCall", "count": 12, "asks": true});
        assert_eq!(alarms, json!({"tasks": [], "alarms": [said]}).to_string());
        let shown = short_text(&task.to_string(), Vec::new());
        assert_eq!(shown, r#"{"id":"hdl_1","phase":"working","createdAt":"2026-01-01T00:00:00Z"}"#);
        assert_eq!(short_text(r#"{"tasks":[]}"#, Vec::new()), r#"{"tasks":[]}"#, "an empty list is said");
    }
}
