//! Rules, one for each scope. There are few of them, and they are read whole.
//!
//! Which rule holds for a call is decided in `domain::rule`; the encoding is in `codec/rule.rs`.

pub(crate) mod halts;
pub(crate) mod pauses;
pub(crate) mod plans;

use domain::audit::AuditEvent;
use domain::ports::change::Entity;
use domain::ports::{RegistryError, RuleUnit};
use domain::rule::{Rule, RuleScope};
use sqlx::Row;

use crate::codec::{self, RuleDef};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// Rules read at most; the limit only keeps a damaged file from filling the memory.
const RULES_MAX: u32 = 100_000;

/// A rule, ready to write.
#[derive(Debug)]
pub(crate) struct RuleRow {
    scope: String,
    /// `None` removes it.
    body: Option<String>,
    /// It is taken away, or says nothing.
    is_removal: bool,
    /// The agent or the server that it is about: what changes with it.
    pub(crate) entity: Entity,
    pub(crate) audit: Vec<AuditEvent>,
}

impl RuleRow {
    pub(crate) fn of(unit: RuleUnit) -> Result<Self, RegistryError> {
        let RuleUnit { rule, remove, audit } = unit;
        let entity = match &rule.scope {
            RuleScope::Agent(id) => Entity::Agent(*id),
            RuleScope::Server(id) | RuleScope::Tool(id, _) => Entity::Server(*id),
        };
        let is_removal = remove || rule.is_empty();
        let body = if remove { None } else { Some(codec::encode::<RuleDef>(&rule)?) };
        Ok(Self { scope: codec::rule::scope(&rule.scope), body, is_removal, entity, audit })
    }

    pub(crate) const fn is_removal(&self) -> bool {
        self.is_removal
    }
}

/// Puts a rule in place of the one for its scope, or removes that one.
pub(crate) fn put(batch: &mut StatementBatch, row: &RuleRow) {
    match &row.body {
        None => batch.add("DELETE FROM rules WHERE scope = ?").with(row.scope.clone()),
        Some(body) => batch
            .add("INSERT INTO rules (scope, body) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET body = excluded.body")
            .with(row.scope.clone())
            .with(body.clone()),
    };
}

impl SqliteRegistry {
    /// All rules, by the text of their scope.
    pub(crate) async fn read_rules(&self) -> Result<Vec<Rule>, RegistryError> {
        let failed = || self.base.failed("read rules");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT scope, body FROM rules ORDER BY scope LIMIT ?")
            .bind(RULES_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(failed())?;
        let mut rules = Vec::with_capacity(found.len());
        for row in &found {
            let scope: &str = row.try_get(0).map_err(failed())?;
            let body: &str = row.try_get(1).map_err(failed())?;
            let body =
                serde_json::from_str(body).map_err(|error| StoreContext::not_json("read `rules`", scope, &error))?;
            rules.push(
                codec::rule::read(scope, body).map_err(|error| StoreContext::bad_row("read `rules`", scope, &error))?,
            );
        }
        Ok(rules)
    }
}
