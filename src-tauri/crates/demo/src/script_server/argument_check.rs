//! Checks arguments against the schemas of the tools.
//!
//! Errors name the JSON path and the rule, never the value, because arguments may be secret.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::script_server::script::ToolCard;
use mcp::server::rpc_error::RequestError;

/// A tool whose schema is no JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input schema of the tool `{0}` is not a JSON Schema")]
pub struct BadTool(pub &'static str);

/// The compiled schemas.
pub(super) struct ArgumentChecks(HashMap<&'static str, Validator>);

impl ArgumentChecks {
    pub(super) fn of(tools: &[ToolCard]) -> Result<Self, BadTool> {
        let compile = |tool: &ToolCard| {
            let compiled = jsonschema::validator_for(&tool.input_schema).map_err(|_| BadTool(tool.name))?;
            Ok((tool.name, compiled))
        };
        tools.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The arguments, if they fit.
    pub(super) fn check(
        &self,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, RequestError> {
        let arguments = Value::Object(arguments);
        if let Some(wrong) = self.0.get(tool).and_then(|schema| schema.iter_errors(&arguments).next()) {
            let place = wrong.instance_path().to_string();
            let place = if place.is_empty() { "/".to_owned() } else { place };
            return Err(RequestError::params(format!(
                "`arguments` do not fit the tool at `{place}`: {}",
                wrong.masked()
            )));
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(RequestError::params("`arguments` must be an object")),
        }
    }
}
