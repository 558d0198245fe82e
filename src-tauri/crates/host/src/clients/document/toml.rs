//! TOML, as Codex has it. A key that stands twice is refused by the parser itself.

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table, Value as Node};

pub(super) fn parse(text: &str) -> Result<Value, String> {
    let document: Document<&str> = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).map_or(1, |before| before.split('\n').count());
        let said = error.message().lines().next().unwrap_or_default().replace(['\n', '\r'], " ");
        format!("it is not valid TOML: {said} in line {line}")
    })?;
    Ok(table(document.as_table()))
}

fn table(table: &Table) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(node) => value(node),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(table).collect()),
    }
}

fn value(node: &Node) -> Value {
    match node {
        Node::String(text) => Value::String(text.value().clone()),
        Node::Integer(number) => Value::from(*number.value()),
        Node::Float(number) => Value::from(*number.value()),
        Node::Boolean(flag) => Value::Bool(*flag.value()),
        Node::Datetime(moment) => Value::String(moment.value().to_string()),
        Node::Array(array) => Value::Array(array.iter().map(value).collect()),
        Node::InlineTable(inner) => {
            let pairs: Map<String, Value> = inner.iter().map(|(key, node)| (key.to_owned(), value(node))).collect();
            Value::Object(pairs)
        }
    }
}
