//! Members of an entry in YAML. What the syntax tree cannot keep as it was fails the proof, and is refused.

use std::str::FromStr as _;

use serde_json::Value;
use yaml_edit::{ScalarValue, YamlFile, YamlValue};

use crate::clients::member_edit::EntryEdit;

pub(super) fn edit(text: &str, edit: &EntryEdit) -> Option<String> {
    let file = YamlFile::from_str(text).ok()?;
    let mut entry = file.document()?.as_mapping()?;
    for key in &edit.place {
        entry = entry.get_mapping(key.as_str())?;
    }
    for member in &edit.members {
        match &member.value {
            None => {
                entry.remove(member.name.as_str());
            }
            Some(value) => entry.set(member.name.as_str(), node(value)),
        }
    }
    Some(file.to_string())
}

fn node(value: &Value) -> YamlValue {
    match value {
        Value::Null => YamlValue::Scalar(ScalarValue::null()),
        Value::Bool(flag) => YamlValue::Scalar(ScalarValue::plain(flag.to_string())),
        Value::Number(number) => YamlValue::Scalar(ScalarValue::plain(number.to_string())),
        Value::String(text) => YamlValue::Scalar(ScalarValue::string(text.as_str())),
        Value::Array(items) => YamlValue::Sequence(items.iter().map(node).collect()),
        Value::Object(pairs) => {
            YamlValue::Mapping(pairs.iter().map(|(key, value)| (key.clone(), node(value))).collect())
        }
    }
}
