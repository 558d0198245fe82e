//! What the tray, the shortcut and quitting need to know, kept from the frames of one feed.
//!
//! Pure: frames in, text and choices out. It decides nothing about tasks and knows only their inbox rows. `host` words
//! the menu lines; `tray.rs` shows them.

use std::collections::BTreeMap;

use api::dto::{AddressDto, BudgetList, InboxRow, ServerDto, SettingsDto, Totals};
use api::feed::frame::{FeedDelta, FeedFrame, FeedSnapshot};
use host::window::menu_labels;

/// What a frame asks of its reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameEffect {
    /// Something may look different now.
    Changed,
    /// The feed must be opened anew.
    Resubscribe,
}

/// The three icons of the tray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrayFace {
    /// No task is open.
    Idle,
    /// Tasks run, nobody is asked.
    Working,
    /// Somebody is asked.
    NeedsYou,
}

/// The current state.
#[derive(Default)]
pub(crate) struct TrayState {
    settings: Option<SettingsDto>,
    servers: BTreeMap<String, ServerDto>,
    totals: Totals,
    inbox: BTreeMap<String, InboxRow>,
    budgets: BudgetList,
    is_halted: bool,
}

impl TrayState {
    /// Applies a frame. One that cannot be read asks for a new feed.
    pub(crate) fn apply(&mut self, frame: &str) -> FrameEffect {
        match serde_json::from_str(frame) {
            Ok(FeedFrame::Snapshot(snapshot)) => {
                let FeedSnapshot { settings, servers, totals, inbox, budgets, halt, .. } = *snapshot;
                let is_halted = halt.is_in_force();
                *self = Self { settings: Some(settings), totals, budgets, is_halted, ..Self::default() };
                self.put(servers, inbox);
                FrameEffect::Changed
            }
            Ok(FeedFrame::Delta(delta)) => {
                let FeedDelta { settings, servers, gone_servers, totals, inbox, gone_inbox, budgets, halt, .. } =
                    *delta;
                self.is_halted = halt.map_or(self.is_halted, |halt| halt.is_in_force());
                self.budgets = budgets.unwrap_or(std::mem::take(&mut self.budgets));
                self.settings = settings.or(self.settings.take());
                self.totals = totals.unwrap_or(std::mem::take(&mut self.totals));
                self.servers.retain(|name, _| !gone_servers.contains(name));
                self.inbox.retain(|id, _| !gone_inbox.contains(id));
                self.put(servers, inbox);
                FrameEffect::Changed
            }
            Ok(FeedFrame::Resync { .. }) => FrameEffect::Resubscribe,
            Err(why) => {
                tracing::warn!(line = why.line(), column = why.column(), "a frame for the tray cannot be read");
                FrameEffect::Resubscribe
            }
        }
    }

    fn put(&mut self, servers: Vec<ServerDto>, inbox: Vec<InboxRow>) {
        self.servers.extend(servers.into_iter().map(|server| (server.name.clone(), server)));
        self.inbox.extend(inbox.into_iter().map(|row| (row.id.clone(), row)));
    }

    /// The settings, once a frame brought them.
    pub(crate) fn settings(&self) -> Option<&SettingsDto> {
        self.settings.as_ref()
    }

    /// What waits at the moment `now` (ISO 8601 UTC), in the order of the inbox.
    fn waiting(&self, now: &str) -> Vec<&InboxRow> {
        let is_awake = |row: &&InboxRow| row.snoozed_until.as_deref().is_none_or(|until| until <= now);
        let open = self.inbox.values().filter(|row| row.answered_by.is_none());
        let mut rows: Vec<&InboxRow> = open.filter(is_awake).collect();
        rows.sort_by(|one, other| one.before(other));
        rows
    }

    /// The item that came last, for the shortcut.
    pub(crate) fn newest(&self, now: &str) -> Option<&str> {
        self.waiting(now).into_iter().max_by_key(|row| row.opened_at.as_str()).map(|row| row.id.as_str())
    }

    fn items(&self) -> u64 {
        self.totals.inbox.items
    }

    fn working(&self) -> u64 {
        self.totals.figures.working
    }

    /// Which face the tray shows.
    pub(crate) fn face(&self) -> TrayFace {
        match (self.items(), self.working()) {
            (0, 0) => TrayFace::Idle,
            (0, _) => TrayFace::Working,
            _ => TrayFace::NeedsYou,
        }
    }

    /// The counts in words, for the tooltip and the head of the menu: the figures of the status bar.
    pub(crate) fn counts(&self) -> String {
        let counts = match (self.items(), self.working()) {
            (0, 0) => "Nothing working".to_owned(),
            (0, working) => format!("{working} working"),
            (items, 0) => format!("{items} in the inbox"),
            (items, working) => format!("{items} in the inbox, {working} working"),
        };
        if self.is_halted { format!("Work is halted. {counts}") } else { counts }
    }

    /// The fullest window, once it is so full that people are told.
    pub(crate) fn gauge(&self) -> Option<String> {
        menu_labels::gauge(&self.budgets)
    }

    /// The first items of the inbox as lines of a menu, each with its id.
    pub(crate) fn lines(&self, now: &str, most: usize) -> Vec<(String, String)> {
        self.waiting(now).into_iter().take(most).map(|row| (row.id.clone(), menu_labels::item(row))).collect()
    }

    /// Whether work is halted.
    pub(crate) const fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// Whether notifications are paused at this moment.
    pub(crate) fn is_paused(&self, now: &str) -> bool {
        let until = self.settings.as_ref().and_then(|settings| settings.paused_until.as_deref());
        until.is_some_and(|until| until > now)
    }

    /// What quitting ends, in words; `None` when it ends nothing. Servers that this program started end with it.
    pub(crate) fn quit_warning(&self) -> Option<String> {
        let here = self.servers.values().filter(|server| match server.address {
            AddressDto::Stdio { .. } => true,
            AddressDto::Http { .. } => false,
        });
        let here: u64 = here.map(|server| server.figures.open).sum();
        let goes_on = match self.totals.figures.open.saturating_sub(here) {
            0 => String::new(),
            1 => "1 task keeps running on its server. ".to_owned(),
            many => format!("{many} tasks keep running on their servers. "),
        };
        let ends = match here {
            0 => String::new(),
            1 => "1 task ends with Taskwarden, which runs its server. ".to_owned(),
            many => format!("{many} tasks end with Taskwarden, which runs their servers. "),
        };
        let is_free = goes_on.is_empty() && ends.is_empty();
        (!is_free).then(|| format!("{goes_on}{ends}Supervision stops until you reopen Taskwarden."))
    }
}

#[cfg(test)]
mod tests;
