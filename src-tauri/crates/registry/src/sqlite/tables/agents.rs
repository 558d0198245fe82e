//! Agents as rows: who may come through which door, by the digest of a token.
//!
//! What changes all the time (last heard of, calls) is flushed in batches apart from changes. Tokens are not here and
//! cannot be found from what is. Who an agent is and what a token digest means is in `domain::agent`.

pub(crate) mod alarms;
pub(crate) mod control;

use std::time::Duration;

use domain::agent::{Agent, TokenDigest};
use domain::audit::AuditEvent;
use domain::budget::window::CountingSettings;
use domain::client::learned_timeout::LearnedTimeout;
use domain::ports::{AgentNote, AgentUnit, RegistryError};
use domain::time::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::{self, DecodeError, MeterDef};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::rules::pauses::PauseRow;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Agents read at most. People add agents by hand; the limit only keeps a damaged file from filling the memory.
const AGENTS_MAX: u32 = 100_000;
/// Flushes notes given as a JSON array of `[id, seen, calls, client, timeout, learned]`. What is older than known is
/// passed over.
pub(crate) const NOTE: &str = "UPDATE agents SET seen = max(coalesce(agents.seen, n.seen), n.seen), \
     calls = max(agents.calls, n.calls), client = coalesce(n.client, agents.client), \
     learned_timeout_ms = coalesce(n.timeout, agents.learned_timeout_ms), \
     timeout_learned = coalesce(n.learned, agents.timeout_learned) \
     FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS seen, \
     json_extract(value, '$[2]') AS calls, json_extract(value, '$[3]') AS client, \
     json_extract(value, '$[4]') AS timeout, json_extract(value, '$[5]') AS learned FROM json_each(?)) n \
     WHERE agents.id = n.id";

/// The notes as the statement reads them. Of several about one agent the last counts.
pub(crate) fn notes(notes: &[AgentNote]) -> String {
    let latest: std::collections::BTreeMap<_, _> = notes.iter().map(|note| (note.id, note)).collect();
    let row = |note: &&AgentNote| {
        let (timeout, learned) = timeout_columns(note.learned_timeout);
        json!([note.id.to_string(), note.seen.as_millis(), whole(note.calls), note.client, timeout, learned])
    };
    Value::Array(latest.values().map(row).collect()).to_string()
}

fn timeout_columns(timeout: Option<LearnedTimeout>) -> (Option<i64>, Option<i64>) {
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    timeout.map(|timeout| (millis(timeout.after), timeout.at.as_millis())).unzip()
}

/// An agent, ready to write.
#[derive(Debug)]
pub(crate) struct AgentRow {
    pub(crate) agent: Agent,
    /// How it is counted as JSON; `None` where nothing was set.
    meter: Option<String>,
    /// The pause that ends with its access; its facts stand in `audit`.
    pub(crate) ended_pause: Option<PauseRow>,
    pub(crate) audit: Vec<AuditEvent>,
}

impl AgentRow {
    pub(crate) fn of(unit: AgentUnit) -> Result<Self, RegistryError> {
        let AgentUnit { agent, mut audit, ended_pause } = unit;
        let mut ended_pause = ended_pause.map(PauseRow::of);
        if let Some(pause) = &mut ended_pause {
            audit.append(&mut pause.audit);
        }
        let is_set = agent.meter != CountingSettings::default();
        let meter = if is_set { Some(codec::encode_part::<MeterDef>(&agent.meter)?) } else { None };
        Ok(Self { agent, meter, ended_pause, audit })
    }
}

/// Writes an agent. Of one that is known, access that was taken away stays so, and what notes say stays theirs: whoever
/// changes an agent read it before, and may have read what is not true any more.
pub(crate) fn put(batch: &mut StatementBatch, row: &AgentRow) {
    let Agent {
        id,
        name,
        created,
        revoked,
        token,
        token_made,
        seen,
        client,
        learned_timeout,
        task_tools,
        calls,
        meter: _,
    } = &row.agent;
    let (timeout, learned) = timeout_columns(*learned_timeout);
    batch
        .add(
            "INSERT INTO agents (id, name, created, revoked, token, task_tools, seen, client, calls, meter, \
             learned_timeout_ms, timeout_learned, token_made) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
             revoked = coalesce(agents.revoked, excluded.revoked), \
             token = iif(excluded.token_made > agents.token_made, excluded.token, agents.token), \
             token_made = max(agents.token_made, excluded.token_made), \
             task_tools = excluded.task_tools, meter = excluded.meter",
        )
        .with(id.to_string())
        .with(name.clone())
        .with(created.as_millis())
        .with(revoked.map(Timestamp::as_millis))
        .with(token.0.to_vec())
        .with(*task_tools)
        .with(seen.map(Timestamp::as_millis))
        .with(client.clone())
        .with(whole(*calls))
        .with(row.meter.clone())
        .with(timeout)
        .with(learned)
        .with(token_made.as_millis());
}

fn agent(base: &StoreContext, row: &SqliteRow) -> Result<Agent, RegistryError> {
    let failed = || base.failed("read agents");
    let id: &str = row.try_get(0).map_err(failed())?;
    let flaw = |column: &str| StoreContext::bad_row("read `agents`", id, &DecodeError::new(column, "does not read"));
    let token: &[u8] = row.try_get(4).map_err(failed())?;
    let revoked: Option<i64> = row.try_get(3).map_err(failed())?;
    let seen: Option<i64> = row.try_get(6).map_err(failed())?;
    let meter: Option<&str> = row.try_get(9).map_err(failed())?;
    let meter: Option<Value> = meter
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| StoreContext::not_json("read `agents`", id, &error))?;
    let meter = meter.map(codec::decode_part::<MeterDef>).transpose();
    let timeout: Option<i64> = row.try_get(10).map_err(failed())?;
    let learned: Option<i64> = row.try_get(11).map_err(failed())?;
    let created: i64 = row.try_get(2).map_err(failed())?;
    let token_made: i64 = row.try_get(12).map_err(failed())?;
    Ok(Agent {
        id: id.parse().map_err(|_| flaw("id"))?,
        name: row.try_get(1).map_err(failed())?,
        created: Timestamp::from_millis(created),
        revoked: revoked.map(Timestamp::from_millis),
        token: TokenDigest(token.try_into().map_err(|_| flaw("token"))?),
        token_made: Timestamp::from_millis(token_made.max(created)),
        task_tools: row.try_get(5).map_err(failed())?,
        seen: seen.map(Timestamp::from_millis),
        client: row.try_get(7).map_err(failed())?,
        learned_timeout: timeout.zip(learned).map(|(after, at)| LearnedTimeout {
            after: Duration::from_millis(unsigned(after)),
            at: Timestamp::from_millis(at),
        }),
        calls: unsigned(row.try_get(8).map_err(failed())?),
        meter: meter.map_err(|error| StoreContext::bad_row("read `agents`", id, &error))?.unwrap_or_default(),
    })
}

impl SqliteRegistry {
    /// All agents, those with access first, by name.
    pub(crate) async fn read_agents(&self) -> Result<Vec<Agent>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT id, name, created, revoked, token, task_tools, seen, client, calls, meter, learned_timeout_ms, \
             timeout_learned, token_made FROM agents ORDER BY revoked IS NOT NULL, name, id LIMIT ?",
        )
        .bind(AGENTS_MAX)
        .fetch_all(&mut *reader)
        .await
        .map_err(self.base.failed("read agents"))?;
        found.iter().map(|row| agent(&self.base, row)).collect()
    }
}
