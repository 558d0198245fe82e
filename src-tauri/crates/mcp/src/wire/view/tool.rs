//! One entry of `tools/list`.
//!
//! Text is plain and capped, the schema stays as it came. Header annotations and arguments are checked in
//! `upstream/tool_cache/`.

use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::ToolFacts;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{JsonFields, Misread};

/// `execution.taskSupport` of 2025.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    Forbidden,
    Optional,
    Required,
}

/// A tool as listed.
#[derive(Debug, Clone)]
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Value,
    pub(crate) support: TaskSupport,
    pub(crate) destructive_hint: Option<bool>,
    pub(crate) read_only_hint: Option<bool>,
    /// The entry as it came; what a model reads of the tool is more than the fields above.
    raw: Box<RawValue>,
}

impl ToolEntry {
    /// For the port. `task_support` is the word for people.
    pub(crate) fn facts(&self, task_support: &'static str) -> ToolFacts {
        ToolFacts {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            definition: canonical(&self.raw),
            task_support,
            destructive_hint: self.destructive_hint,
            read_only_hint: self.read_only_hint,
        }
    }
}

/// The entry in the form in which the order of members and spaces say nothing.
fn canonical(raw: &RawValue) -> Arc<str> {
    let value: Option<Value> = serde_json::from_str(raw.get()).ok();
    let text = value.and_then(|value| serde_json_canonicalizer::to_string(&value).ok());
    text.map_or_else(|| Arc::from(raw.get()), Arc::from)
}

/// Reads the entry at `path`.
pub(crate) fn tool(raw: &RawValue, path: String, policy: &Policy) -> Result<ToolEntry, Misread> {
    let fields = JsonFields::of(raw, path)?;
    let name = fields.required_text("name")?;
    if name.len() > policy.server_text_cap_chars {
        return Err(Misread::new(fields.path("name"), "is too long"));
    }
    let annotations = fields.object_or_none("annotations");
    let hint = |name: &str| annotations.as_ref().and_then(|hints| hints.flag(name));
    let titled = annotations.as_ref().and_then(|hints| hints.words("title", policy));
    let support = fields.object_or_none("execution").and_then(|execution| execution.text("taskSupport"));
    Ok(ToolEntry {
        name,
        title: fields.words("title", policy).or(titled),
        description: fields.words("description", policy),
        input_schema: fields.value("inputSchema").unwrap_or_else(|| json!({"type": "object"})),
        support: match support.as_deref() {
            Some("optional") => TaskSupport::Optional,
            Some("required") => TaskSupport::Required,
            Some(_) | None => TaskSupport::Forbidden,
        },
        destructive_hint: hint("destructiveHint"),
        read_only_hint: hint("readOnlyHint"),
        raw: raw.to_owned(),
    })
}
