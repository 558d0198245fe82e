//! What is remembered of a server's tools, so that a person sees what changed since somebody last looked.
//!
//! Two versions of each tool at most: as a person last saw it, and as last listed. However often a server changes its
//! tools, it never has more than that. Nothing here lists tools, and no call is refused for a change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::audit::AuditEvent;
use crate::digest::sha256_hex;
use crate::ids::{PersonId, ServerId};
use crate::policy::{ToolMemoryPolicy, plain_text};
use crate::time::Timestamp;

/// One version of a tool's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolVersion {
    /// Hex SHA-256 of the canonical definition.
    pub digest: Arc<str>,
    /// The canonical definition; `None` where it is longer than what is kept.
    pub text: Option<Arc<str>>,
}

/// A tool in the versions that are remembered of it; at least one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedTool {
    pub name: Arc<str>,
    /// As a person last saw it; `None` when the server did not have it then.
    pub seen: Option<ToolVersion>,
    /// As last listed; `None` when it is not listed any more.
    pub listed: Option<ToolVersion>,
}

/// How a tool differs from what a person last saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChange {
    Added,
    Removed,
    Changed,
}

impl ToolChange {
    const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// When somebody last looked at the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsSeen {
    pub at: Timestamp,
    /// `None` while nobody has: then it is when the tools were first listed.
    pub by: Option<PersonId>,
}

/// What is remembered of the tools of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMemory {
    pub seen: ToolsSeen,
    pub tools: BTreeMap<Arc<str>, RememberedTool>,
    /// Listed tools beyond the limit, which are not compared.
    pub left_out: u64,
    /// Digest of the list of which the audit log has a row; `None` where that is the list of now.
    pub told: Option<String>,
}

/// A change of what is remembered, to be stored as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolMemoryUnit {
    pub server: ServerId,
    pub seen: ToolsSeen,
    pub left_out: u64,
    /// Digest of the list of which the audit log has a row; `None` where that is the list of now.
    pub told: Option<String>,
    /// Tools whose versions changed.
    pub put: Vec<RememberedTool>,
    /// Tools of which nothing is remembered any more.
    pub forget: Vec<Arc<str>>,
    /// What is said of it in the audit log.
    pub audit: Vec<AuditEvent>,
}

impl RememberedTool {
    /// How it differs from what a person last saw.
    #[must_use]
    pub fn change(&self) -> Option<ToolChange> {
        match (&self.seen, &self.listed) {
            (None, Some(_)) => Some(ToolChange::Added),
            (Some(_), None) => Some(ToolChange::Removed),
            (Some(seen), Some(listed)) => (seen.digest != listed.digest).then_some(ToolChange::Changed),
            (None, None) => None,
        }
    }
}

impl ToolMemory {
    /// What is remembered after these tools were listed, by name and canonical definition. What a server lists for the
    /// first time counts as seen: there is nothing to compare it with.
    #[must_use]
    pub fn listed<'a>(
        before: Option<&Self>,
        tools: impl IntoIterator<Item = (&'a str, &'a str)>,
        now: Timestamp,
        limits: &ToolMemoryPolicy,
    ) -> Self {
        let mut next = before.cloned().unwrap_or_else(|| Self {
            seen: ToolsSeen { at: now, by: None },
            tools: BTreeMap::new(),
            left_out: 0,
            told: None,
        });
        next.left_out = 0;
        let mut earlier = BTreeMap::new();
        for tool in next.tools.values_mut() {
            if let Some(listed) = tool.listed.take() {
                earlier.insert(Arc::clone(&tool.name), listed);
            }
        }
        // By name, so that a server that shuffles its list does not change what is compared. Of several tools with one
        // name the first counts, which is the one that agents are offered.
        let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, text) in tools {
            by_name.entry(name).or_insert(text);
        }
        let tools = by_name;
        let mut room = limits.bytes_per_server;
        for (place, (name, text)) in tools.into_iter().enumerate() {
            if place >= limits.tools_per_server {
                next.left_out = next.left_out.saturating_add(1);
                continue;
            }
            let fits = text.len() <= limits.definition_bytes.min(room);
            if fits {
                room = room.saturating_sub(text.len());
            }
            let version = version_of(text, fits, earlier.get(name));
            let entry = next.tools.entry(Arc::from(name)).or_insert_with_key(|name| RememberedTool {
                name: Arc::clone(name),
                seen: before.is_none().then(|| version.clone()),
                listed: None,
            });
            match &mut entry.seen {
                Some(seen) if seen.digest == version.digest => {
                    if seen.text.is_none() {
                        seen.text = version.text;
                    }
                    entry.listed = Some(seen.clone());
                }
                Some(_) | None => entry.listed = Some(version),
            }
        }
        next.tools.retain(|_, tool| tool.seen.is_some() || tool.listed.is_some());
        let told = before.map(|before| before.told.clone().unwrap_or_else(|| before.digest()));
        next.told = told.filter(|told| *told != next.digest());
        next
    }

    /// What is remembered after a person looked: every tool as it is listed now.
    #[must_use]
    pub fn seen_by(&self, by: PersonId, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.seen = ToolsSeen { at: now, by: Some(by) };
        next.told = None;
        next.tools.retain(|_, tool| tool.listed.is_some());
        for tool in next.tools.values_mut() {
            tool.seen.clone_from(&tool.listed);
        }
        next
    }

    /// The tools that differ from what a person last saw.
    pub fn changes(&self) -> impl Iterator<Item = (&RememberedTool, ToolChange)> {
        self.tools.values().filter_map(|tool| Some((tool, tool.change()?)))
    }

    /// The tools that differ from what a person last saw, by name; the first of each kind, and how many more there are.
    #[must_use]
    pub fn changes_note(&self, limits: &ToolMemoryPolicy) -> String {
        let mut parts = Vec::new();
        for kind in [ToolChange::Changed, ToolChange::Added, ToolChange::Removed] {
            let of_kind = self.changes().filter(|(_, change)| *change == kind);
            let mut names: Vec<String> = of_kind.map(|(tool, _)| plain_text(&tool.name, limits.named_chars)).collect();
            let more = names.len().saturating_sub(limits.named);
            names.truncate(limits.named);
            if more > 0 {
                names.push(format!("and {more} more"));
            }
            if !names.is_empty() {
                parts.push(format!("{}: {}", kind.word(), names.join(", ")));
            }
        }
        match (parts.is_empty(), &self.seen.by) {
            (false, _) => parts.join("; "),
            (true, Some(_)) => "as a person last saw them".into(),
            (true, None) => "as they were first listed".into(),
        }
    }

    /// Names what is listed now, so that a person marks as seen what was shown and nothing else.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut all = String::new();
        for tool in self.tools.values() {
            let digest = tool.listed.as_ref().map_or("-", |listed| &*listed.digest);
            // The length keeps two lists of names apart that run together.
            let _ = writeln!(all, "{} {} {digest}", tool.name.len(), tool.name);
        }
        sha256_hex(all)
    }

    /// What must be stored to come here from what was remembered before; `None` when it is the same.
    #[must_use]
    pub fn unit_since(&self, before: Option<&Self>, server: ServerId) -> Option<ToolMemoryUnit> {
        if before == Some(self) {
            return None;
        }
        let known = |name: &Arc<str>| before.and_then(|before| before.tools.get(name));
        let put = self.tools.values().filter(|tool| known(&tool.name) != Some(tool)).cloned().collect();
        let gone = before.into_iter().flat_map(|before| before.tools.keys());
        let forget = gone.filter(|name| !self.tools.contains_key(*name)).cloned().collect();
        let (seen, left_out, told) = (self.seen.clone(), self.left_out, self.told.clone());
        Some(ToolMemoryUnit { server, seen, left_out, told, put, forget, audit: Vec::new() })
    }
}

/// This version; the one before is shared where nothing changed.
fn version_of(text: &str, keep: bool, earlier: Option<&ToolVersion>) -> ToolVersion {
    let digest: Arc<str> = Arc::from(sha256_hex(text));
    match earlier {
        Some(earlier) if earlier.digest == digest && earlier.text.is_some() == keep => earlier.clone(),
        Some(_) | None => ToolVersion { digest, text: keep.then(|| Arc::from(text)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn limits() -> ToolMemoryPolicy {
        ToolMemoryPolicy {
            tools_per_server: 3,
            definition_bytes: 10,
            bytes_per_server: 15,
            ..ToolMemoryPolicy::default()
        }
    }

    fn changes(memory: &ToolMemory) -> Vec<(&str, ToolChange)> {
        memory.changes().map(|(tool, change)| (&*tool.name, change)).collect()
    }

    #[test]
    fn what_is_listed_first_is_seen_and_later_differences_stay_until_a_person_looks() {
        let limits = limits();
        let first = ToolMemory::listed(None, [("a", "1"), ("b", "1")], NOW, &limits);
        assert_eq!(changes(&first), [], "there is nothing to compare it with");
        let second = ToolMemory::listed(Some(&first), [("b", "2"), ("c", "1")], NOW, &limits);
        let expected = [("a", ToolChange::Removed), ("b", ToolChange::Changed), ("c", ToolChange::Added)];
        assert_eq!(changes(&second), expected);
        let again = ToolMemory::listed(Some(&second), [("c", "1"), ("b", "2")], NOW, &limits);
        assert_eq!(again.unit_since(Some(&second), ServerId::from_random(1)), None, "the order says nothing");
        let back = ToolMemory::listed(Some(&second), [("a", "1"), ("b", "1")], NOW, &limits);
        assert_eq!(changes(&back), [], "a change that was taken back is none");
        let looked = second.seen_by(PersonId::new("ada"), NOW);
        assert_eq!((changes(&looked), looked.seen.by.is_some()), (Vec::new(), true));
        assert_ne!(second.digest(), back.digest(), "another list has another name");
    }

    #[test]
    fn a_list_that_the_audit_log_does_not_have_is_compared_with_the_one_that_it_has() {
        let limits = limits();
        let list = |before, text| ToolMemory::listed(before, [("a", text)], NOW, &limits);
        let first = list(None, "1");
        assert_eq!(first.told, None, "what comes first is no change");
        let second = list(Some(&first), "2");
        assert_eq!(second.told, Some(first.digest()));
        let third = list(Some(&second), "3");
        assert_eq!(third.told, Some(first.digest()), "no row was written meanwhile");
        assert_eq!(list(Some(&third), "1").told, None, "a change that was taken back needs no row");
        let told = ToolMemory { told: None, ..third.clone() };
        assert_eq!(list(Some(&told), "3").told, None);
        assert!(told.unit_since(Some(&third), ServerId::from_random(1)).is_some(), "that there is a row is kept");
        assert_eq!(third.seen_by(PersonId::new("ada"), NOW).told, None, "the row of the look tells it");
    }

    #[test]
    fn a_server_that_changes_everything_each_time_is_remembered_in_bounded_space() {
        let limits = limits();
        let mut memory = ToolMemory::listed(None, [("a", "1")], NOW, &limits);
        for round in 0..50 {
            let names: Vec<String> = (0..20).map(|n| format!("tool-{round}-{n:02}")).collect();
            let listed = names.iter().map(|name| (name.as_str(), "0123456789"));
            let next = ToolMemory::listed(Some(&memory), listed, NOW, &limits);
            let unit = next.unit_since(Some(&memory), ServerId::from_random(1)).expect("it changed");
            assert!(unit.put.len() <= 4 && unit.forget.len() <= 3, "a listing writes a bounded number of rows");
            memory = next;
        }
        assert_eq!(memory.tools.len(), 4, "the one that was seen, and three of the last listing");
        assert_eq!(memory.left_out, 17);
        let kept = memory.tools.values().filter_map(|tool| tool.listed.as_ref()?.text.as_ref()).map(|text| text.len());
        assert_eq!(kept.sum::<usize>(), 10, "a second definition has no room");
    }

    #[test]
    fn changes_are_named_by_kind_with_short_plain_names() {
        let limits = ToolMemoryPolicy { tools_per_server: 9, named: 2, named_chars: 8, ..ToolMemoryPolicy::default() };
        let first = ToolMemory::listed(None, [("a", "1"), ("b", "1")], NOW, &limits);
        assert_eq!(first.changes_note(&limits), "as they were first listed");
        let looked = first.seen_by(PersonId::new("ada"), NOW);
        assert_eq!(looked.changes_note(&limits), "as a person last saw them");
        let evil = "\u{202e}\u{1b}[31mred and long";
        let next = [("b", "2"), ("c", "1"), ("d", "1"), ("e", "1"), (evil, "1")];
        let note = ToolMemory::listed(Some(&first), next, NOW, &limits).changes_note(&limits);
        assert!(note.starts_with("changed: b; added: ") && note.ends_with("and 2 more; removed: a"), "{note}");
        assert!(!note.contains('\u{202e}') && !note.contains('\u{1b}') && note.len() < 80, "{note}");
    }

    #[test]
    fn of_tools_with_one_name_the_first_is_compared() {
        let limits = limits();
        let first = ToolMemory::listed(None, [("a", "1"), ("a", "2")], NOW, &limits);
        let same = ToolMemory::listed(Some(&first), [("a", "1")], NOW, &limits);
        assert_eq!(changes(&same), [], "agents were offered this one all the time");
        let swapped = ToolMemory::listed(Some(&first), [("a", "2"), ("a", "1")], NOW, &limits);
        assert_eq!(changes(&swapped), [("a", ToolChange::Changed)], "now they are offered the other one");
    }

    #[test]
    fn a_definition_that_is_too_long_to_keep_is_still_compared() {
        let limits = limits();
        let first = ToolMemory::listed(None, [("a", "a long definition")], NOW, &limits);
        assert_eq!(first.tools["a"].listed.as_ref().and_then(|listed| listed.text.clone()), None);
        let second = ToolMemory::listed(Some(&first), [("a", "a long definitioN")], NOW, &limits);
        assert_eq!(changes(&second), [("a", ToolChange::Changed)]);
    }
}
