//! YAML, as Goose and Continue have it. Anchors are resolved for reading.

use std::str::FromStr as _;

use serde_json::{Map, Value};
use yaml_edit::{Document, ScalarType, YamlFile, YamlValue};

pub(super) fn parse(text: &str) -> Result<Value, String> {
    let file = YamlFile::from_str(text).map_err(|_| "it is not valid YAML".to_owned())?;
    let mut documents = file.documents();
    let document: Document = match (documents.next(), documents.next()) {
        (Some(document), None) => document,
        (None, _) => return Ok(Value::Object(Map::new())),
        (Some(_), Some(_)) => return Err("it holds several YAML documents".into()),
    };
    let found = YamlValue::from_document(&document)
        .map_err(|_| "its YAML has a key that stands twice, or an anchor that cannot be resolved".to_owned())?;
    match value(&found)? {
        // A file of comments alone.
        Value::Null => Ok(Value::Object(Map::new())),
        found => Ok(found),
    }
}

fn value(node: &YamlValue) -> Result<Value, String> {
    Ok(match node {
        YamlValue::Scalar(scalar) => match scalar.scalar_type() {
            ScalarType::Null => Value::Null,
            ScalarType::Boolean => scalar.to_bool().map_or(Value::Null, Value::Bool),
            ScalarType::Integer => scalar.to_i64().map_or_else(|| Value::from(scalar.value()), Value::from),
            ScalarType::Float => scalar.to_f64().map_or_else(|| Value::from(scalar.value()), Value::from),
            _ => Value::String(scalar.value().to_owned()),
        },
        YamlValue::Sequence(items) => Value::Array(items.iter().map(value).collect::<Result<_, _>>()?),
        YamlValue::Mapping(pairs) => {
            let pair = |(key, node): (&String, &YamlValue)| Ok((key.clone(), value(node)?));
            Value::Object(pairs.iter().map(pair).collect::<Result<Map<_, _>, String>>()?)
        }
        YamlValue::Set(_) | YamlValue::OrderedMapping(_) | YamlValue::Pairs(_) | YamlValue::Tagged(..) => {
            return Err("its YAML has tags, which Taskwarden does not read".into());
        }
    })
}
