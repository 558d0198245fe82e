//! What the tray, the shortcut and the way out must know, kept from the frames of one feed.
//!
//! Pure: frames in, words and choices out. It decides nothing about tasks and knows of each only what the inbox row
//! says. Texts of servers are cut to one line and lose what could disturb a menu. `tray.rs` shows it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One frame, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Frame {
    Snapshot(Snapshot),
    Delta(Box<Delta>),
    Resync {},
}

#[derive(Deserialize)]
struct Snapshot {
    settings: Settings,
    servers: Vec<Server>,
    totals: Totals,
    inbox: Vec<Waiting>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta {
    servers: Vec<Server>,
    gone_servers: Vec<String>,
    totals: Option<Totals>,
    inbox: Vec<Waiting>,
    gone_inbox: Vec<String>,
    settings: Option<Settings>,
}

/// The settings that the shell itself follows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    pub(crate) global_shortcut: bool,
    pub(crate) autostart: bool,
    pub(crate) close_to_tray: bool,
    pub(crate) paused_until: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    name: String,
    address: Address,
    open_tasks: u64,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Address {
    Stdio {},
    Http {},
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    open: u64,
    by_group: ByGroup,
}

#[derive(Default, Deserialize)]
struct ByGroup {
    moving: u64,
}

/// A row of the inbox.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    id: String,
    kind: Kind,
    server: String,
    tool: Option<String>,
    message: Option<String>,
    opened_at: String,
    deadline: Option<String>,
    snoozed_until: Option<String>,
    answered_by: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Form,
    Url,
    Unsupported,
    Overdue,
    Lost,
    Unconfirmed,
    Blocked,
}

/// What a frame asks of its reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Something may look different now.
    News,
    /// The feed must be opened anew.
    Resubscribe,
}

/// The three faces of the tray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// Nothing runs.
    Idle,
    /// Tasks run, nobody is asked.
    Working,
    /// Somebody is asked.
    NeedsYou,
}

/// What is known now.
#[derive(Default)]
pub(crate) struct Glance {
    settings: Option<Settings>,
    servers: BTreeMap<String, Server>,
    totals: Totals,
    inbox: BTreeMap<String, Waiting>,
}

impl Glance {
    /// Takes in a frame. One that cannot be read asks for a new feed.
    pub(crate) fn hear(&mut self, frame: &str) -> Heard {
        match serde_json::from_str(frame) {
            Ok(Frame::Snapshot(Snapshot { settings, servers, totals, inbox })) => {
                let servers = servers.into_iter().map(|server| (server.name.clone(), server)).collect();
                let inbox = inbox.into_iter().map(|row| (row.id.clone(), row)).collect();
                *self = Self { settings: Some(settings), servers, totals, inbox };
                Heard::News
            }
            Ok(Frame::Delta(delta)) => {
                self.settings = delta.settings.or(self.settings.take());
                self.servers.extend(delta.servers.into_iter().map(|server| (server.name.clone(), server)));
                self.inbox.extend(delta.inbox.into_iter().map(|row| (row.id.clone(), row)));
                delta.gone_servers.iter().for_each(|name| drop(self.servers.remove(name)));
                delta.gone_inbox.iter().for_each(|id| drop(self.inbox.remove(id)));
                self.totals = delta.totals.unwrap_or(std::mem::take(&mut self.totals));
                Heard::News
            }
            Ok(Frame::Resync {}) => Heard::Resubscribe,
            Err(why) => {
                tracing::warn!(line = why.line(), column = why.column(), "a frame for the tray cannot be read");
                Heard::Resubscribe
            }
        }
    }

    /// The settings, once they were heard.
    pub(crate) fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// What waits at the moment `now` (ISO 8601 UTC), in the order of the inbox: deadlines first, then the oldest.
    fn waiting(&self, now: &str) -> Vec<&Waiting> {
        let awake =
            |row: &&Waiting| row.answered_by.is_none() && row.snoozed_until.as_deref().is_none_or(|at| at <= now);
        let mut rows: Vec<&Waiting> = self.inbox.values().filter(awake).collect();
        rows.sort_by_key(|row| (row.deadline.is_none(), row.deadline.as_deref(), row.opened_at.as_str()));
        rows
    }

    /// The item that came last, for the shortcut.
    pub(crate) fn newest(&self, now: &str) -> Option<&str> {
        self.waiting(now).into_iter().max_by_key(|row| row.opened_at.as_str()).map(|row| row.id.as_str())
    }

    /// Which face the tray shows.
    pub(crate) fn face(&self, now: &str) -> Face {
        if !self.waiting(now).is_empty() {
            Face::NeedsYou
        } else if self.totals.by_group.moving > 0 {
            Face::Working
        } else {
            Face::Idle
        }
    }

    /// The counts in words, for the tooltip and the head of the menu.
    pub(crate) fn counts(&self, now: &str) -> String {
        let moving = self.totals.by_group.moving;
        match (self.waiting(now).len(), moving) {
            (0, 0) => "Nothing running".to_owned(),
            (0, _) => format!("{moving} working"),
            (waiting, 0) => needs(waiting),
            (waiting, _) => format!("{}, {moving} working", needs(waiting)),
        }
    }

    /// The first items of the inbox as lines of a menu, each with its id.
    pub(crate) fn lines(&self, now: &str, most: usize) -> Vec<(String, String)> {
        self.waiting(now).into_iter().take(most).map(|row| (row.id.clone(), line(row))).collect()
    }

    /// Whether notifications are paused at this moment.
    pub(crate) fn is_paused(&self, now: &str) -> bool {
        let until = self.settings.as_ref().and_then(|settings| settings.paused_until.as_deref());
        until.is_some_and(|until| until > now)
    }

    /// What quitting means, in words; `None` when it costs nothing.
    pub(crate) fn farewell(&self) -> Option<String> {
        let here: u64 = self.servers.values().filter(|server| server.runs_here()).map(|server| server.open_tasks).sum();
        let away = self.totals.open.saturating_sub(here);
        let mut said = Vec::new();
        if away > 0 {
            let keeps =
                if away == 1 { "task keeps running on its server" } else { "tasks keep running on their servers" };
            said.push(format!("{away} {keeps}."));
        }
        if here > 0 {
            let servers = if here == 1 {
                "task ends with Taskwarden, which runs its server"
            } else {
                "tasks end with Taskwarden, which runs their servers"
            };
            said.push(format!("{here} {servers}."));
        }
        if said.is_empty() {
            return None;
        }
        said.push("Supervision stops until you reopen Taskwarden.".to_owned());
        Some(said.join(" "))
    }
}

impl Server {
    /// Whether its process was started by this core and ends with it.
    fn runs_here(&self) -> bool {
        match self.address {
            Address::Stdio {} => true,
            Address::Http {} => false,
        }
    }
}

fn needs(many: usize) -> String {
    if many == 1 { "1 needs you".to_owned() } else { format!("{many} need you") }
}

/// One line about one item, the server's words first.
fn line(row: &Waiting) -> String {
    /// Letters of a line; more is cut. Judgement: menus do not wrap.
    const LETTERS: usize = 60;
    let tool = row.tool.as_deref().unwrap_or("A task");
    let said = row.message.as_deref().map(plain).filter(|message| !message.is_empty());
    let what = match row.kind {
        Kind::Form | Kind::Url | Kind::Unsupported => said.unwrap_or_else(|| format!("{tool} asks")),
        Kind::Overdue => format!("{tool} runs long"),
        Kind::Lost => format!("{tool} was lost"),
        Kind::Unconfirmed => format!("{tool} is not confirmed"),
        Kind::Blocked => "Server needs you".to_owned(),
    };
    let place = match (row.kind, &row.tool) {
        (Kind::Form | Kind::Url | Kind::Unsupported, Some(tool)) => format!("{}, {tool}", row.server),
        _ => row.server.clone(),
    };
    format!("{} · {}", cut(&plain(&what), LETTERS), cut(&plain(&place), LETTERS))
}

/// Text on one line without letters that steer: controls, and those that change the direction of writing.
fn plain(text: &str) -> String {
    let steers =
        |c: char| matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}');
    let kept = text.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| !steers(*c));
    kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests;
