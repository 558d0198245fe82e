//! Alarms about what agents call, one row each. What was called is sealed, like everything that says what agents do.
//!
//! It decides nothing: what an alarm means is in `domain::agent::alarm`.

use domain::agent::alarm::{AlarmDecision, AlarmKind, AlarmState, CallAlarm, CalledTool};
use domain::audit::AuditEvent;
use domain::ids::{AlarmId, PersonId};
use domain::ports::{AlarmUnit, RegistryError};
use domain::rule::{RuleLevel, RuleSource, RunAction};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// What the alarm is about.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AlarmBody {
    called: CalledToolBody,
    other: Option<CalledToolBody>,
    since: i64,
    last: i64,
    count: u32,
    limit: u32,
    /// When it ended or was dismissed.
    over: Option<i64>,
    /// Who dismissed it.
    by: Option<String>,
    /// What is done about it; left out where it only warns, as in rows of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    /// The rule that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<AlarmRuleBody>,
    /// What a person decided about the calls that waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlarmRuleBody {
    level: String,
    version: u32,
}

impl AlarmRuleBody {
    fn read(self) -> Result<RuleSource, DecodeError> {
        let level = RuleLevel::from_word(&self.level).ok_or_else(|| DecodeError::new("level", "is not known"))?;
        Ok(RuleSource { level, version: self.version })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalledToolBody {
    server: String,
    tool: String,
}

impl CalledToolBody {
    fn of(called: &CalledTool) -> Self {
        Self { server: called.server.to_string(), tool: (*called.tool).to_owned() }
    }

    fn read(self) -> Result<CalledTool, DecodeError> {
        let server = self.server.parse().map_err(|_| DecodeError::new("server", "does not read as an id"))?;
        Ok(CalledTool { server, tool: self.tool.into() })
    }
}

/// An alarm, ready to write.
#[derive(Debug)]
pub(crate) struct AlarmRow {
    pub(crate) id: AlarmId,
    agent: String,
    kind: &'static str,
    state: &'static str,
    raised: i64,
    body_sealed: Vec<u8>,
    kept: u32,
    /// A person dismisses it.
    pub(crate) is_dismissal: bool,
    pub(crate) audit: Vec<AuditEvent>,
}

fn place(row: &str) -> FieldLocation<'_> {
    FieldLocation { table: "alarms", column: "body_sealed", row }
}

impl AlarmRow {
    pub(crate) fn of(base: &StoreContext, unit: AlarmUnit) -> Result<Self, RegistryError> {
        let operation = "store an alarm";
        let AlarmUnit { alarm, kept, audit } = unit;
        let (over, by) = match &alarm.state {
            AlarmState::Open => (None, None),
            AlarmState::Ended { at } => (Some(*at), None),
            AlarmState::Dismissed { at, by } => (Some(*at), Some(by.as_str().to_owned())),
        };
        let body = AlarmBody {
            called: CalledToolBody::of(&alarm.called),
            other: alarm.other.as_ref().map(CalledToolBody::of),
            since: alarm.since.as_millis(),
            last: alarm.last.as_millis(),
            count: alarm.count,
            limit: alarm.limit,
            over: over.map(Timestamp::as_millis),
            by,
            action: (alarm.action != RunAction::Warn).then(|| alarm.action.word().to_owned()),
            rule: alarm.rule.map(|rule| AlarmRuleBody { level: rule.level.word().to_owned(), version: rule.version }),
            decision: alarm.decision.map(|decision| decision.word().to_owned()),
        };
        let plain =
            serde_json::to_vec(&body).map_err(|error| RegistryError::Other { operation, why: error.to_string() })?;
        let id = alarm.id.to_string();
        let body_sealed = base.sealer.seal(place(&id), &plain).map_err(StoreContext::sealing(operation))?;
        Ok(Self {
            id: alarm.id,
            agent: alarm.agent.to_string(),
            kind: alarm.kind.word(),
            state: alarm.state.word(),
            raised: alarm.raised.as_millis(),
            body_sealed,
            kept,
            is_dismissal: !alarm.needs_look(),
            audit,
        })
    }
}

/// Puts an alarm, and removes those of its agent that are over and beyond what is kept.
pub(crate) fn put(batch: &mut StatementBatch, row: &AlarmRow) {
    batch
        .add(
            "INSERT INTO alarms (id, agent, kind, state, raised, body_sealed) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET state = excluded.state, body_sealed = excluded.body_sealed",
        )
        .with(row.id.to_string())
        .with(row.agent.clone())
        .with(row.kind)
        .with(row.state)
        .with(row.raised)
        .with(row.body_sealed.clone());
    batch
        .add(
            "DELETE FROM alarms WHERE agent = ? AND state <> 'open' AND id NOT IN \
             (SELECT id FROM alarms WHERE agent = ? ORDER BY raised DESC, id DESC LIMIT ?)",
        )
        .with(row.agent.clone())
        .with(row.agent.clone())
        .with(row.kept);
}

impl SqliteRegistry {
    pub(crate) fn read_alarm(&self, row: &SqliteRow) -> Result<CallAlarm, RegistryError> {
        let failed = || self.base.failed("read an alarm");
        let id: &str = row.try_get(0).map_err(failed())?;
        let bad = |error: DecodeError| StoreContext::bad_row("read `alarms`", id, &error);
        let agent: &str = row.try_get(1).map_err(failed())?;
        let kind: &str = row.try_get(2).map_err(failed())?;
        let state: &str = row.try_get(3).map_err(failed())?;
        let plain = self.base.unseal(place(id), row.try_get(5).map_err(failed())?)?;
        let body: AlarmBody =
            serde_json::from_slice(&plain).map_err(|error| StoreContext::not_json("read `alarms`", id, &error))?;
        let at = Timestamp::from_millis(body.over.unwrap_or(body.last));
        let state = match (state, body.by) {
            ("open", None) => AlarmState::Open,
            ("ended", None) => AlarmState::Ended { at },
            ("dismissed", Some(by)) => AlarmState::Dismissed { at, by: PersonId::new(by) },
            _ => return Err(bad(DecodeError::new("state", "is not known"))),
        };
        let action = match body.action {
            None => RunAction::Warn,
            Some(word) => RunAction::from_word(&word).ok_or_else(|| bad(DecodeError::new("action", "is not known")))?,
        };
        let decision = match body.decision {
            None => None,
            Some(word) => {
                Some(AlarmDecision::from_word(&word).ok_or_else(|| bad(DecodeError::new("decision", "is not known")))?)
            }
        };
        Ok(CallAlarm {
            id: id.parse().map_err(|_| bad(DecodeError::new("id", "does not read as an id")))?,
            agent: agent.parse().map_err(|_| bad(DecodeError::new("agent", "does not read as an id")))?,
            kind: AlarmKind::from_word(kind).ok_or_else(|| bad(DecodeError::new("kind", "is not known")))?,
            called: body.called.read().map_err(bad)?,
            other: body.other.map(CalledToolBody::read).transpose().map_err(bad)?,
            since: Timestamp::from_millis(body.since),
            raised: Timestamp::from_millis(row.try_get(4).map_err(failed())?),
            last: Timestamp::from_millis(body.last),
            count: body.count,
            limit: body.limit,
            action,
            rule: body.rule.map(AlarmRuleBody::read).transpose().map_err(bad)?,
            decision,
            state,
        })
    }
}
