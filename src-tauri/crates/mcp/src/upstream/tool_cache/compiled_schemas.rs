//! The compiled schemas of one list of tools, bounded together: those that were not used for longest are dropped.
//!
//! A schema is compiled when its tool is first checked, and again when it was dropped meanwhile. Whether it may be
//! compiled at all is decided in `argument_check.rs`. They go with their list.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::policy::Policy;
use jsonschema::Validator;
use serde_json::Value;

use super::argument_check::compile;
use super::schema_cost::compiled_bytes_max;

/// What is compiled now, the schema used last at the end.
#[derive(Default)]
pub(crate) struct CompiledSchemas {
    kept: VecDeque<CompiledSchema>,
    bytes: usize,
}

struct CompiledSchema {
    /// The place of its tool in the list.
    tool: usize,
    /// `None` where it is left to the server.
    validator: Option<Arc<Validator>>,
    /// What it may take at most.
    bytes: usize,
}

impl CompiledSchemas {
    /// The compiled schema of the tool at this place of the list; `None` where its arguments are left to the server. May
    /// take long.
    pub(crate) fn of_tool(&mut self, tool: usize, schema: &Value, policy: &Policy) -> Option<Arc<Validator>> {
        let known = self.kept.iter().position(|compiled| compiled.tool == tool).and_then(|at| self.kept.remove(at));
        let compiled = known.unwrap_or_else(|| {
            let validator = compile(schema, policy).map(Arc::new);
            let bytes = if validator.is_some() { compiled_bytes_max(schema, &policy.shares) } else { 0 };
            self.bytes = self.bytes.saturating_add(bytes);
            CompiledSchema { tool, validator, bytes }
        });
        let validator = compiled.validator.clone();
        self.kept.push_back(compiled);
        // The newest is in use, whatever it takes.
        while self.bytes > policy.shares.compiled_schema_bytes
            && self.kept.len() > 1
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
        validator
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::SharePolicy;
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_with_as_many_patterns_as_may_be_take_together_no_more_than_one_server_may() {
        let policy = Policy::default();
        let SharePolicy { patterns_per_tool, pattern_compiled_bytes, compiled_schema_bytes, .. } = policy.shares;
        let patterns: Vec<_> = (0..patterns_per_tool).map(|nth| json!({"pattern": format!("^{nth}$")})).collect();
        let schema = json!({"properties": {"a": {"anyOf": patterns}}});
        let mut compiled = CompiledSchemas::default();
        for tool in 0..100 {
            // The first is used again and again.
            for used in [tool, 0] {
                assert!(compiled.of_tool(used, &schema, &policy).is_some(), "arguments of each are checked");
            }
            assert!(compiled.bytes <= compiled_schema_bytes, "bounded after {tool} tools");
            let kept: usize = compiled.kept.iter().map(|kept| kept.bytes).sum();
            assert_eq!(compiled.bytes, kept, "as counted");
            assert!(compiled.kept.iter().any(|kept| kept.tool == 0), "what is in use stays");
        }
        assert!(compiled.bytes >= patterns_per_tool * pattern_compiled_bytes, "patterns count with what they may take");
    }
}
