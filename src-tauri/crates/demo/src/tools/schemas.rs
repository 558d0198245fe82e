//! JSON Schemas and annotations that several tools share.

use domain::policy::ServingPolicy;
use serde_json::{Value, json};

/// An input schema: an object with these properties and nothing else.
pub(super) fn schema(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The schema of a folder argument.
pub(super) fn folder_schema(description: &str, limits: &ServingPolicy) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": limits.path_chars_max, "description": description})
}

/// `annotations` of a tool that changes nothing.
pub(super) fn reads_only() -> Value {
    json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
}
