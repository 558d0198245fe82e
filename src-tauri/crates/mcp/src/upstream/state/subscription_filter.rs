//! The filter of a subscription, as it is sent and as it is acknowledged (2026; protocol.md §2.7).
//!
//! A filter names lists and resources of one server. Which agent asked for what is in `subscription_leases.rs`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::wire::view::JsonFields;

/// Which changes a `subscriptions/listen` request asks for, or a server accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionFilter {
    /// Changes of the tool list.
    pub tools: bool,
    /// Changes of the prompt list.
    pub prompts: bool,
    /// Changes of the resource list.
    pub resources: bool,
    /// Updates of these resources, by the URIs of the server.
    pub uris: BTreeSet<String>,
}

impl SubscriptionFilter {
    /// Whether it asks for anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.tools |= other.tools;
        self.prompts |= other.prompts;
        self.resources |= other.resources;
        self.uris.extend(other.uris.iter().cloned());
    }

    /// The part of this filter that `other` includes.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            prompts: self.prompts && other.prompts,
            resources: self.resources && other.resources,
            uris: self.uris.intersection(&other.uris).cloned().collect(),
        }
    }

    pub(crate) fn params(&self) -> Value {
        let mut wanted = serde_json::Map::new();
        for (name, is) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if is {
                wanted.insert(name.into(), true.into());
            }
        }
        if !self.uris.is_empty() {
            wanted.insert("resourceSubscriptions".into(), json!(self.uris));
        }
        json!({ "notifications": wanted })
    }

    pub(crate) fn read(acknowledged: &JsonFields<'_>) -> Self {
        let Some(filter) = acknowledged.object_or_none("notifications") else { return Self::default() };
        let is = |name: &str| filter.flag(name) == Some(true);
        let uris = filter.list("resourceSubscriptions").unwrap_or_default();
        Self {
            tools: is("toolsListChanged"),
            prompts: is("promptsListChanged"),
            resources: is("resourcesListChanged"),
            uris: uris.into_iter().filter_map(|uri| serde_json::from_str(uri.get()).ok()).collect(),
        }
    }
}
