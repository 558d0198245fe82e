//! Members of an entry in JSON, with or without comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use crate::clients::member_edit::EntryEdit;

pub(super) fn edit(text: &str, options: ParseOptions, edit: &EntryEdit) -> Option<String> {
    let root = CstRootNode::parse(text, &options).ok()?;
    let mut entry = root.object_value()?;
    for key in &edit.place {
        entry = entry.get(key)?.object_value()?;
    }
    for member in &edit.members {
        match (entry.get(&member.name), &member.value) {
            (Some(property), Some(value)) => property.set_value(input(value)),
            (Some(property), None) => property.remove(),
            (None, Some(value)) => {
                entry.append(&member.name, input(value));
            }
            (None, None) => {}
        }
    }
    Some(root.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(pairs) => {
            CstInputValue::Object(pairs.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
