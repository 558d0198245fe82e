//! Which of the tools that a server lists are offered to agents, by their names alone.
//!
//! Pure. Under which name a tool is offered is decided in the gateway; people see and may call every tool (decision 0046).

use std::collections::BTreeSet;

use crate::policy::TOOL_NAME_CHARS;

/// Why a listed tool is not offered to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotOffered {
    /// Its name is not one that MCP allows.
    InvalidName,
    /// An earlier tool of the same list has this name.
    Duplicate,
}

/// How many tools of a list are not offered to agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotOfferedCounts {
    pub invalid_names: u64,
    pub duplicates: u64,
}

/// Whether MCP allows this name for a tool: letters, digits, `_`, `-` and `.`, all of ASCII.
///
/// Programs show names to people, write them into prompts and send them to model providers, which refuse a whole request
/// for one name with other characters.
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.len() <= TOOL_NAME_CHARS && name.bytes().all(fits)
}

/// For each name in the order of the list, why its tool is not offered; `None` where it is.
pub fn not_offered<'n>(names: impl IntoIterator<Item = &'n str>) -> impl Iterator<Item = Option<NotOffered>> {
    let mut earlier = BTreeSet::new();
    names.into_iter().map(move |name| match (is_tool_name(name), earlier.insert(name)) {
        (false, _) => Some(NotOffered::InvalidName),
        (true, false) => Some(NotOffered::Duplicate),
        (true, true) => None,
    })
}

impl NotOfferedCounts {
    /// Counts the tools of a list that are not offered.
    #[must_use]
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut counts = Self::default();
        for why in not_offered(names).flatten() {
            match why {
                NotOffered::InvalidName => counts.invalid_names = counts.invalid_names.saturating_add(1),
                NotOffered::Duplicate => counts.duplicates = counts.duplicates.saturating_add(1),
            }
        }
        counts
    }

    /// How many there are together.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.invalid_names.saturating_add(self.duplicates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_protocol_allows() {
        let longest = "x".repeat(TOOL_NAME_CHARS);
        for name in ["a", "getUser", "DATA_EXPORT_v2", "admin.tools.list", "-", &longest] {
            assert!(is_tool_name(name), "`{name}` is allowed");
        }
        let too_long = "x".repeat(TOOL_NAME_CHARS + 1);
        for name in ["", " ", "a b", "a\nb", "a,b", "a/b", "a\u{202e}b", "a\u{200b}b", "ä", &too_long] {
            assert!(!is_tool_name(name), "{name:?} is not allowed");
        }
    }

    #[test]
    fn of_tools_with_one_name_the_first_is_offered() {
        let names = ["add", "a b", "Add", "add", "a b"];
        let why: Vec<_> = not_offered(names).collect();
        let (invalid, duplicate) = (Some(NotOffered::InvalidName), Some(NotOffered::Duplicate));
        assert_eq!(why, [None, invalid, None, duplicate, invalid]);
        let counts = NotOfferedCounts::of(names);
        assert_eq!((counts.invalid_names, counts.duplicates, counts.total()), (2, 1, 3));
    }
}
