//! What notifications read from the core: tasks and servers from the registry, settings and snoozes through the api.
//!
//! Nothing is changed here, because a press on a card proves nobody (ruling 42). If settings cannot be read, people are
//! notified rather than not.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::calls::alarms::AlarmList;
use api::calls::pauses::PauseList;
use api::dto::alarm::AlarmDto;
use api::dto::pause::PauseDto;
use api::{Api, Caller};
use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{Clock, Registry};
use domain::task::Attention;
use domain::time::Timestamp;
use engine::Engine;
use engine::runtime::supervisor::Supervisor;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::notifications::card_text::LocalTime;
use crate::notifications::quiet_hours::NotificationWishes;
use crate::notifications::subject::{self, NotificationSubject, SubjectContext};
use crate::os::user;
use crate::window::routes::Opener;

/// The parts of the core that notifications read.
pub(crate) struct NotificationSources {
    pub(crate) api: Api,
    pub(crate) engine: Engine,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: Policy,
    pub(crate) supervisor: Supervisor,
    /// Shows a place of the window, when there is one.
    pub(crate) opener: Option<Opener>,
}

/// Snoozed rows of the inbox, with the end of each snooze.
#[derive(Debug, Default)]
pub(crate) struct SnoozedRows(BTreeMap<String, Timestamp>);

impl SnoozedRows {
    /// Until when this is snoozed; `None` when a row of it is not.
    pub(crate) fn until(&self, item: &NotificationSubject, now: Timestamp) -> Option<Timestamp> {
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

impl NotificationSources {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The subject of a task as it is now.
    pub(crate) async fn subject(
        &self,
        id: HandleId,
        attention: Attention,
        local: &LocalTime,
    ) -> Option<NotificationSubject> {
        let handle = self.registry.handle(id).await.ok()??;
        let server = self.registry.server(handle.server).await.ok()??;
        subject::item(&handle, attention, SubjectContext { server: &server.name, now: self.now(), local })
    }

    /// The person's settings; if they cannot be read, everything but finished tasks.
    pub(crate) async fn wishes(&self) -> NotificationWishes {
        match self.call::<Settings>("settings.change", &json!({})).await {
            Some(settings) => settings.wishes(),
            None => {
                NotificationWishes { waiting: true, problem: true, finished: false, quiet: None, paused_until: None }
            }
        }
    }

    /// Alarms that are kept; none if they cannot be read.
    pub(crate) async fn alarms(&self) -> Vec<AlarmDto> {
        Box::pin(self.call::<AlarmList>("alarms.list", &json!({}))).await.map(|list| list.alarms).unwrap_or_default()
    }

    /// Pauses in force with how many calls wait; none if they cannot be read.
    pub(crate) async fn pauses(&self) -> Vec<PauseDto> {
        if self.engine.pauses().is_empty() {
            return Vec::new();
        }
        Box::pin(self.call::<PauseList>("pauses.list", &json!({}))).await.map(|list| list.pauses).unwrap_or_default()
    }

    /// When the next pause begins to ask which of the waiting calls are sent.
    pub(crate) fn next_pause_choice(&self, now: Timestamp) -> Option<Timestamp> {
        let after = self.policy.control.pauses.choice_after;
        self.engine.pauses().iter().map(|pause| pause.choice_due(after)).filter(|due| *due > now).min()
    }

    pub(crate) async fn snoozed(&self) -> SnoozedRows {
        let kept: Option<Items> = self.call("desk.list", &json!({ "kind": "snooze" })).await;
        let until = |item: DeskItem| Some((item.key, item.value.get("until")?.as_str()?.parse().ok()?));
        SnoozedRows(kept.map(|kept| kept.items.into_iter().filter_map(until).collect()).unwrap_or_default())
    }

    /// Whether the window shows this task right now.
    pub(crate) fn is_on_screen(&self, id: HandleId) -> bool {
        self.api.is_on_screen(id)
    }

    /// Shows a place of the window.
    pub(crate) fn open(&self, place: &str) {
        if let Some(open) = &self.opener {
            open(place);
        }
    }

    /// Calls the api as the person of this core; a failure is only logged.
    async fn call<O: DeserializeOwned>(&self, name: &str, input: &Value) -> Option<O> {
        let caller = Caller::here(user::here());
        match self.api.dispatch(&caller, name, &input.to_string()).await {
            Ok(text) => serde_json::from_str(&text).ok(),
            Err(error) => {
                tracing::info!(call.name = name, code = ?error.code, "a notification could not read what it needs");
                None
            }
        }
    }
}

/// The settings that concern notifications.
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
    fn wishes(&self) -> NotificationWishes {
        let clock =
            |text: &Option<String>| text.as_deref().and_then(|text| jiff::civil::Time::strptime("%H:%M", text).ok());
        NotificationWishes {
            waiting: self.notify_waiting,
            problem: self.notify_problem,
            finished: self.notify_finished,
            quiet: clock(&self.quiet_from).zip(clock(&self.quiet_to)),
            paused_until: self.paused_until.as_deref().and_then(|text| text.parse().ok()),
        }
    }
}
