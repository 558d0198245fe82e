//! Members of an entry in TOML, whether it is a table, an inline table or dotted keys.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value as Node};

use crate::clients::member_edit::EntryEdit;

pub(super) fn edit(text: &str, edit: &EntryEdit) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let mut entry: &mut dyn TableLike = document.as_table_mut();
    for key in &edit.place {
        entry = entry.get_mut(key)?.as_table_like_mut()?;
    }
    for member in &edit.members {
        let name = member.name.as_str();
        match &member.value {
            None => {
                entry.remove(name);
            }
            Some(value) => {
                let mut node = node(value)?;
                match entry.get_mut(name).and_then(Item::as_value_mut) {
                    // What stands around the value, such as a comment behind it, stays.
                    Some(before) => {
                        *node.decor_mut() = before.decor().clone();
                        *before = node;
                    }
                    None => {
                        entry.remove(name);
                        entry.insert(name, Item::Value(node));
                    }
                }
            }
        }
    }
    Some(document.to_string())
}

fn node(value: &Value) -> Option<Node> {
    Some(match value {
        Value::Bool(flag) => Node::from(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Node::from(whole),
            None => Node::from(number.as_f64()?),
        },
        Value::String(text) => Node::from(text.as_str()),
        Value::Array(items) => Node::Array(items.iter().map(node).collect::<Option<Array>>()?),
        Value::Object(pairs) => {
            let mut table = InlineTable::new();
            for (key, value) in pairs {
                table.insert(key, node(value)?);
            }
            Node::InlineTable(table)
        }
        Value::Null => return None,
    })
}
