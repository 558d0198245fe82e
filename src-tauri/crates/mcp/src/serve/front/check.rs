//! Checks arguments against the schemas of the tools.
//!
//! An error names the place and the rule, never the value: arguments may be secret. Schemas are ours and are compiled
//! once.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::BadTool;
use crate::serve::desk::ToolCard;
use crate::serve::fault::Fault;

/// The compiled schemas.
pub(super) struct Checks(HashMap<&'static str, Validator>);

impl Checks {
    pub(super) fn of(tools: &[ToolCard]) -> Result<Self, BadTool> {
        let compile = |tool: &ToolCard| {
            let compiled = jsonschema::validator_for(&tool.input_schema).map_err(|_| BadTool(tool.name))?;
            Ok((tool.name, compiled))
        };
        tools.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The arguments, if they fit.
    pub(super) fn check(&self, tool: &'static str, arguments: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
        let arguments = Value::Object(arguments);
        if let Some(wrong) = self.0.get(tool).and_then(|schema| schema.iter_errors(&arguments).next()) {
            let place = wrong.instance_path().to_string();
            let place = if place.is_empty() { "/".to_owned() } else { place };
            return Err(Fault::params(format!("`arguments` do not fit the tool at `{place}`: {}", wrong.masked())));
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(Fault::params("`arguments` must be an object")),
        }
    }
}
