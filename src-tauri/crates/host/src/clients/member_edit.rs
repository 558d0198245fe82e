//! A change of one member of an object in a file, in the words of no format.

use serde_json::Value;

/// The new value of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberEdit {
    pub(crate) name: String,
    /// `None` removes the member.
    pub(crate) value: Option<Value>,
}

/// Changes of the members of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryEdit {
    /// The keys that lead to the object.
    pub(crate) place: Vec<String>,
    pub(crate) members: Vec<MemberEdit>,
}

#[cfg(test)]
impl MemberEdit {
    pub(crate) fn set(name: &str, value: Value) -> Self {
        Self { name: name.to_owned(), value: Some(value) }
    }

    pub(crate) fn remove(name: &str) -> Self {
        Self { name: name.to_owned(), value: None }
    }
}
