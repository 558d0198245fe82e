//! What notices read from the core: tasks and servers from the registry, settings and snoozes through the api.
//!
//! Nothing is changed here, because a press on a card proves nobody (ruling 42). When something cannot be read, people
//! are told rather than not.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Api, Caller};
use domain::task::Attention;
use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use domain::time::Timestamp;
use engine::Engine;
use engine::runtime::supervisor::Supervisor;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::hours::Wishes;
use super::item::{self, Around, Item};
use super::words::Local;
use crate::door::Opener;
use crate::person;

/// The core as notices see it.
pub(crate) struct Sources {
    pub(crate) api: Api,
    pub(crate) engine: Engine,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: Policy,
    pub(crate) supervisor: Supervisor,
    /// Shows a place of the window, when there is one.
    pub(crate) opener: Option<Opener>,
}

/// Rows of the inbox that a person does not want to see now.
#[derive(Debug, Default)]
pub(super) struct Snoozed(BTreeMap<String, Timestamp>);

impl Snoozed {
    /// Until when this is snoozed; `None` when a row of it is not.
    pub(super) fn until(&self, item: &Item, now: Timestamp) -> Option<Timestamp> {
        let each = item.inbox.iter().map(|row| self.0.get(row).copied().filter(|until| *until > now));
        // What has no row in the inbox cannot be snoozed.
        each.collect::<Option<Vec<_>>>()?.into_iter().min()
    }
}

#[derive(Deserialize)]
struct Items {
    items: Vec<DeskItem>,
}

#[derive(Deserialize)]
struct DeskItem {
    key: String,
    value: Value,
}

impl Sources {
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The notice of a task as it is now.
    pub(super) async fn item(&self, id: HandleId, attention: Attention, local: &Local) -> Option<Item> {
        let handle = self.registry.handle(id).await.ok()??;
        let server = self.registry.server(handle.server).await.ok()??;
        item::item(&handle, attention, Around { server: &server.name, now: self.now(), local })
    }

    /// What the person set; without it, everything but ends.
    pub(super) async fn wishes(&self) -> Wishes {
        match self.call::<Settings>("settings.change", &json!({})).await {
            Some(settings) => settings.wishes(),
            None => Wishes { waiting: true, problem: true, finished: false, quiet: None, paused_until: None },
        }
    }

    pub(super) async fn snoozed(&self) -> Snoozed {
        let kept: Option<Items> = self.call("desk.list", &json!({ "kind": "snooze" })).await;
        let until = |item: DeskItem| Some((item.key, item.value.get("until")?.as_str()?.parse().ok()?));
        Snoozed(kept.map(|kept| kept.items.into_iter().filter_map(until).collect()).unwrap_or_default())
    }

    /// Whether the person looks at this task at this moment.
    pub(super) fn is_on_screen(&self, id: HandleId) -> bool {
        self.api.is_on_screen(id)
    }

    /// Shows a place of the window.
    pub(super) fn open(&self, place: &str) {
        if let Some(open) = &self.opener {
            open(place);
        }
    }

    /// A call as the person of this core; a failure is only logged, by name.
    async fn call<O: DeserializeOwned>(&self, name: &str, input: &Value) -> Option<O> {
        let caller = Caller::here(person::here());
        match self.api.dispatch(&caller, name, &input.to_string()).await {
            Ok(text) => serde_json::from_str(&text).ok(),
            Err(error) => {
                tracing::info!(call.name = name, code = ?error.code, "a notice could not read what it needs");
                None
            }
        }
    }
}

/// The settings that notices follow.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    notify_waiting: bool,
    notify_problem: bool,
    notify_finished: bool,
    quiet_from: Option<String>,
    quiet_to: Option<String>,
    paused_until: Option<String>,
}

impl Settings {
    fn wishes(&self) -> Wishes {
        let clock =
            |text: &Option<String>| text.as_deref().and_then(|text| jiff::civil::Time::strptime("%H:%M", text).ok());
        Wishes {
            waiting: self.notify_waiting,
            problem: self.notify_problem,
            finished: self.notify_finished,
            quiet: clock(&self.quiet_from).zip(clock(&self.quiet_to)),
            paused_until: self.paused_until.as_deref().and_then(|text| text.parse().ok()),
        }
    }
}
