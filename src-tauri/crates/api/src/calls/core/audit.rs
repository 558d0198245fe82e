//! The audit log: its rows by filter, and one row with its neighbours.
//!
//! Rows are shown as they are stored; names are looked up beside them and never replace them.

use domain::audit::Verb;
use domain::ids::{AgentId, ServerId};
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, AuditRow};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::core::audit::{AuditListDto, AuditRowDto, AuditShownDto, RowNames, hex, unknown_of};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};
use crate::suggestion::did_you_mean;

/// Rows of a page when nothing else is asked for. Judgement: as a page of tasks.
pub(super) const PAGE_ROWS: u32 = 100;
/// Kinds of actors.
const ACTORS: [&str; 5] = ["person", "agent", "control", "server", "system"];
/// Kinds of subjects.
const SUBJECTS: [&str; 5] = ["handle", "request", "server", "agent", "store"];

/// Which rows of the audit log; what is null lets every row pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AuditFilterDto {
    /// The first row number.
    pub first: Option<u64>,
    /// The last row number.
    pub last: Option<u64>,
    /// From this time on: ISO 8601, or a date in UTC.
    pub since: Option<String>,
    /// Before this time: ISO 8601, or a date in UTC.
    pub until: Option<String>,
    /// `person`, `agent`, `control`, `server` or `system`, or a whole actor such as `person:ada`.
    pub actor: Option<String>,
    /// One of these verbs; every verb when empty.
    pub verbs: Vec<String>,
    /// `handle`, `request`, `server`, `agent` or `store`, or a whole subject as a row has it.
    pub subject: Option<String>,
    /// The name or id of a server.
    pub server: Option<String>,
    /// The name or id of an agent.
    pub agent: Option<String>,
    /// The handle of a task or a unique beginning of it: rows about it and its questions.
    pub task: Option<String>,
    /// Words of the note.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListAudit {
    pub filter: AuditFilterDto,
    /// Continue after a page: its `next` value.
    pub before: Option<u64>,
    pub limit: Option<u32>,
}

/// Names one row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneAuditRow {
    pub number: u64,
}

pub(super) fn time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let read = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse::<Timestamp>());
    read.map(Some).map_err(|_| {
        ApiError::new(
            Code::Usage,
            format!("`{name}`: `{}` is not a time", short(text)),
            "Give a time such as `2026-11-21T22:00:00Z`, or a date such as `2026-11-21` (UTC).",
        )
    })
}

/// A word that is one of these kinds, or something of one of them.
fn check_kind(name: &str, text: &str, kinds: &[&str]) -> Result<(), ApiError> {
    let kind = text.split_once(':').map_or(text, |(kind, _)| kind);
    if kinds.contains(&kind) {
        return Ok(());
    }
    let all = kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
    Err(ApiError::new(
        Code::Usage,
        format!("`{name}`: unknown kind `{}`", short(kind)),
        format!("Use one of {all}, or a whole value such as `{}:ID`.", kinds.first().unwrap_or(&"kind")),
    ))
}

fn check_verb(word: &str) -> Result<(), ApiError> {
    if !matches!(Verb::from_word(word), Verb::Unknown(_)) {
        return Ok(());
    }
    let hint = did_you_mean(word, Verb::ALL.iter().map(|verb| verb.word()));
    let hint = hint.unwrap_or_else(|| "`taskwarden audit list` shows the verbs that occur.".into());
    Err(ApiError::new(Code::Usage, format!("there is no verb `{}`", short(word)), hint))
}

impl Api {
    /// The filter of the registry for what a person typed.
    pub(crate) async fn audit_filter(&self, input: AuditFilterDto) -> Result<AuditFilter, ApiError> {
        let AuditFilterDto { first, last, since, until, actor, verbs, subject, server, agent, task, text } = input;
        verbs.iter().try_for_each(|verb| check_verb(verb))?;
        actor.as_deref().map_or(Ok(()), |actor| check_kind("actor", actor, &ACTORS))?;
        subject.as_deref().map_or(Ok(()), |subject| check_kind("subject", subject, &SUBJECTS))?;
        Ok(AuditFilter {
            first,
            last,
            since: time("since", since.as_deref())?,
            until: time("until", until.as_deref())?,
            actor,
            verbs,
            subject,
            server: match server {
                Some(name) => Some(self.server_named(&name).await?),
                None => None,
            },
            agent: match agent {
                Some(name) => Some(self.agent_named(&name).await?),
                None => None,
            },
            task: match task {
                Some(id) => Some(self.find_id(&id).await?),
                None => None,
            },
            text,
        })
    }

    /// A server by its id, also when it was removed, or by its name.
    pub(super) async fn server_named(&self, text: &str) -> Result<ServerId, ApiError> {
        match text.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(self.find_server(text).await?.id),
        }
    }

    pub(super) async fn agent_named(&self, text: &str) -> Result<AgentId, ApiError> {
        match text.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(self.find_agent(text).await?.id),
        }
    }

    /// Rows of the audit log, newest first.
    ///
    /// # Errors
    /// When the filter cannot be read, or the registry cannot.
    pub async fn audit_list(&self, _caller: &Caller, input: ListAudit) -> Result<AuditListDto, ApiError> {
        let query = AuditQuery {
            filter: self.audit_filter(input.filter).await?,
            order: AuditOrder::NewestFirst,
            behind: input.before,
            limit: input.limit.unwrap_or(PAGE_ROWS),
        };
        let page = self.registry.audit_rows(query).await?;
        let rows = self.audit_row_dtos(&page.rows).await?;
        Ok(AuditListDto { rows, next: page.next, first: page.first, last: page.last })
    }

    /// Rows with names beside the ids.
    pub(super) async fn audit_row_dtos(&self, rows: &[AuditRow]) -> Result<Vec<AuditRowDto>, ApiError> {
        let mut names = Names::default();
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            all.push(self.audit_row_dto(row, &mut names).await?);
        }
        Ok(all)
    }

    /// The name of an actor as rows have it.
    pub(super) async fn who(&self, actor: &str, names: &mut Names) -> Result<String, ApiError> {
        Ok(match actor.split_once(':') {
            Some(("agent", id)) => self.agent_of(id, names).await?,
            Some(("server", id)) => self.server_of(id, names).await?,
            Some(("control", id)) => self.control_of(id, names).await?,
            Some(("person", name)) => name.to_owned(),
            Some(("system", _)) => "Taskwarden".into(),
            // A newer version wrote it.
            _ => actor.to_owned(),
        })
    }

    async fn audit_row_dto(&self, row: &AuditRow, names: &mut Names) -> Result<AuditRowDto, ApiError> {
        let who = self.who(&row.actor, names).await?;
        let server = match row.server.as_str() {
            "" => None,
            id => Some(self.server_of(id, names).await?),
        };
        let agent = match row.agent.as_str() {
            "" => None,
            id => Some(self.agent_of(id, names).await?),
        };
        Ok(AuditRowDto::of(row, RowNames { who, server, agent }))
    }

    /// A name for the id of a row; an id that does not read stands as it is.
    pub(super) async fn agent_of(&self, id: &str, names: &mut Names) -> Result<String, ApiError> {
        match id.parse() {
            Ok(known) => self.agent_name(known, names).await,
            Err(_) => Ok(id.into()),
        }
    }

    pub(super) async fn server_of(&self, id: &str, names: &mut Names) -> Result<String, ApiError> {
        match id.parse() {
            Ok(known) => self.server_name(known, names).await,
            Err(_) => Ok(id.into()),
        }
    }

    async fn control_of(&self, id: &str, names: &mut Names) -> Result<String, ApiError> {
        match id.parse() {
            Ok(known) => self.control_name(known, names).await,
            Err(_) => Ok(id.into()),
        }
    }

    /// One row of the audit log with its neighbours.
    ///
    /// # Errors
    /// When there is no such row, or the registry cannot be read.
    pub async fn audit_show(&self, _caller: &Caller, input: OneAuditRow) -> Result<AuditShownDto, ApiError> {
        let number = input.number;
        let around = AuditFilter {
            first: Some(number.saturating_sub(1)),
            last: Some(number.saturating_add(1)),
            ..AuditFilter::default()
        };
        let query = AuditQuery { filter: around, order: AuditOrder::OldestFirst, behind: None, limit: 3 };
        let page = self.registry.audit_rows(query).await?;
        let find = |number: u64| page.rows.iter().find(|row| row.number == number);
        let Some(row) = find(number) else { return Err(no_such_row(number, page.first, page.last)) };
        let [before, after] = [number.checked_sub(1), number.checked_add(1)].map(|number| number.and_then(find));
        let mut names = Names::default();
        let mut unknown = unknown_of(row);
        if before.is_none() && number > 1 {
            unknown.push("The row before it is not there, so the link to it is not checked here.".into());
        }
        let is_linked = before.is_none_or(|before| before.hash == row.previous)
            && after.is_none_or(|after| after.previous == row.hash);
        if !is_linked {
            unknown.push("It does not link to the rows beside it: rows were changed, removed or put in.".into());
        }
        Ok(AuditShownDto {
            row: self.audit_row_dto(row, &mut names).await?,
            previous: hex(&row.previous),
            before: match before {
                Some(row) => Some(self.audit_row_dto(row, &mut names).await?),
                None => None,
            },
            after: match after {
                Some(row) => Some(self.audit_row_dto(row, &mut names).await?),
                None => None,
            },
            is_linked,
            unknown,
        })
    }
}

fn no_such_row(number: u64, first: u64, last: u64) -> ApiError {
    let (message, hint) = match (first, last) {
        (_, 0) => ("the audit log is empty".to_owned(), "A row is written with the first task or setting.".to_owned()),
        (first, _) if number > 0 && number < first => (
            format!("row {number} was removed by retention"),
            format!(
                "The log has rows {first} to {last}; the tombstones of removed rows have the verb `segmentRemoved`."
            ),
        ),
        (first, last) if number < first || number > last => {
            (format!("there is no row {number}"), format!("The log has rows {first} to {last}."))
        }
        _ => (
            format!("row {number} is missing"),
            "Somebody removed it from the file; `taskwarden audit verify` checks the whole log.".to_owned(),
        ),
    };
    ApiError::new(Code::NotFound, message, hint)
}
