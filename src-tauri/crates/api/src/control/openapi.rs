//! The `OpenAPI` document of the control API, from the table of control calls, the feed and the types that are serialised.
//!
//! It is made when it is asked for and never checked in, so it cannot be older than the table. What each status means is
//! said here once, for all calls.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::feed::{ControlChanges, ControlFeedNote};
use super::table::{ControlEntry, ControlVisitor, each_control_call};
use crate::error::ApiError;

/// The statuses that a call can be answered with, besides 200.
const REFUSALS: [(&str, &str); 10] = [
    ("400", "The body cannot be read, or makes no sense as it is written."),
    ("401", "The token is missing, unknown, revoked, or its time is over."),
    ("403", "The request has an `Origin`: pages in a browser are refused."),
    ("404", "It does not exist, or is not in the reach of the token."),
    ("409", "Understood and declined: a plan or `expect` no longer fits, or nothing matches."),
    ("413", "The body is too large."),
    ("422", "The idempotency key was used for another call."),
    ("429", "More than the token may end; `Retry-After` says when it fits again."),
    ("500", "It was tried and did not work."),
    ("503", "The core shuts down."),
];

/// The document, as text that is the same for the same version.
#[must_use]
pub fn document() -> String {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let mut gathered = Gathered { generator, paths: Map::new() };
    let error = gathered.generator.subschema_for::<ApiError>();
    each_control_call(&mut gathered);
    gathered.feed();
    let Gathered { mut generator, paths } = gathered;
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Taskwarden control API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Calls of supervisor programs with a control token. They only make things safer.",
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"controlToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"controlToken": {"type": "http", "scheme": "bearer", "description": "`twc_…`"}},
            "responses": {"Refused": {
                "description": "What was wrong, and what to do next.",
                "content": {"application/json": {"schema": error}},
            }},
            "schemas": generator.take_definitions(true),
        },
    });
    let mut text = format!("{document:#}");
    text.push('\n');
    text
}

struct Gathered {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

/// The statuses that the feed can be answered with, besides 200.
const FEED_REFUSALS: [(&str, &str); 7] = [
    ("400", "`Last-Event-ID` is not the id of an event."),
    ("401", "The token is missing, unknown, revoked, or its time is over."),
    ("403", "The request has an `Origin`: pages in a browser are refused."),
    ("404", "The token may not read."),
    ("429", "As many feeds are open as may be; `Retry-After` says when to try again."),
    ("500", "The registry cannot be read."),
    ("503", "The core shuts down."),
];

impl Gathered {
    /// The feed, which is no call: a stream of events.
    fn feed(&mut self) {
        let changes = self.generator.subschema_for::<ControlChanges>();
        let note = self.generator.subschema_for::<ControlFeedNote>();
        let stream = json!({
            "description": "Server-sent events. `data` is JSON: of `changed` what changed in reach, of `readAgain` why \
                everything must be read again, of `ended` why the feed ends. `id` is the place for `Last-Event-ID`; in a \
                silence it comes alone.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "x-event-data": {
                "changed": changes, "readAgain": note.clone(), "ended": note,
            }}},
        });
        let refused = FEED_REFUSALS.iter().map(|(status, why)| ((*status).to_owned(), refusal(why)));
        let responses: Map<String, Value> = std::iter::once(("200".to_owned(), stream)).chain(refused).collect();
        let operation = json!({
            "operationId": "feed",
            "summary": "Tells that something in reach changed, so that you look again.",
            "parameters": [{
                "name": "Last-Event-ID",
                "in": "header",
                "required": false,
                "description": "The id of the last event that came; without it the feed begins now.",
                "schema": {"type": "string"},
            }],
            "responses": responses,
        });
        self.paths.insert("/feed".to_owned(), json!({"get": operation}));
    }
}

fn refusal(why: &str) -> Value {
    json!({
        "description": why,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ApiError"}}},
    })
}

impl ControlVisitor for Gathered {
    fn call<I: JsonSchema, O: JsonSchema>(&mut self, entry: &'static ControlEntry) {
        let input: Schema = self.generator.subschema_for::<I>();
        let output: Schema = self.generator.subschema_for::<O>();
        let ok = json!({"description": "Done.", "content": {"application/json": {"schema": output}}});
        let mut responses = Map::from_iter([("200".to_owned(), ok)]);
        for (status, why) in REFUSALS {
            if status == "422" && !entry.acts {
                continue;
            }
            responses.insert(status.to_owned(), refusal(why));
        }
        let mut operation = json!({
            "operationId": entry.name,
            "summary": entry.about,
            "requestBody": {"required": true, "content": {"application/json": {"schema": input}}},
            "responses": responses,
        });
        if entry.acts
            && let Some(fields) = operation.as_object_mut()
        {
            let key = json!([{
                "name": "Idempotency-Key",
                "in": "header",
                "required": false,
                "description": "A repeat with the same key and body within 24 hours gets the first answer.",
                "schema": {"type": "string", "maxLength": 200},
            }]);
            fields.insert("parameters".to_owned(), key);
        }
        self.paths.insert(format!("/{}", entry.name), json!({"post": operation}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::table::CONTROL_CALLS;

    /// The values of all `$ref` in the document.
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|inner| references(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn the_document_has_the_feed_and_each_call_of_the_table_and_nothing_else() {
        let document: Value = serde_json::from_str(&document()).expect("it is JSON");
        let paths = document["paths"].as_object().expect("paths");
        let calls = CONTROL_CALLS.iter().map(|call| format!("/{}", call.name));
        let named: Vec<String> = calls.chain(["/feed".to_owned()]).collect();
        assert!(paths["/feed"]["get"]["responses"]["200"]["content"]["text/event-stream"].is_object());
        assert_eq!(paths.keys().collect::<Vec<_>>(), named.iter().collect::<Vec<_>>());
        for call in CONTROL_CALLS {
            let operation = &paths[&format!("/{}", call.name)]["post"];
            assert_eq!(operation["parameters"].is_array(), call.acts, "`{}` takes a key when it acts", call.name);
        }
    }

    #[test]
    fn the_document_promises_whole_handles_and_names_no_paper_of_ours() {
        let text = document();
        for unknown in ["ruling", "decision 0", "a unique beginning", "OneTask\""] {
            assert!(!text.contains(unknown), "a reader of the document does not know `{unknown}`");
        }
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let named = &document["components"]["schemas"]["OneControlTask"]["description"];
        assert!(named.as_str().is_some_and(|text| text.contains("whole handle")), "{named}");
    }

    #[test]
    fn each_reference_of_the_document_leads_somewhere() {
        let document: Value = serde_json::from_str(&document()).expect("it is JSON");
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "there are references to look at");
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            assert!(document.pointer(pointer).is_some(), "`{reference}` is declared");
        }
    }
}
