//! Rules as rows, one for each scope.
//!
//! Which rule holds for a call is decided in `domain::rule`; the encoding is in `rows/rule.rs`. There are few of them,
//! and they are read whole.

use domain::ports::change::Entity;
use domain::ports::RegistryError;
use domain::rule::{Rule, RuleScope};
use sqlx::Row;

use super::script::Script;
use super::{Base, Sqlite};
use crate::rows;

/// Rules read at most; the limit only keeps a damaged file from filling the memory.
const RULES_MAX: u32 = 100_000;

/// Puts a rule in place of the one for its scope, or takes that away.
pub(crate) fn put(script: &mut Script, rule: &Rule, remove: bool) {
    let scope = rows::rule::scope(&rule.scope);
    if remove {
        script.add("DELETE FROM rules WHERE scope = ?").with(scope);
        return;
    }
    script
        .add("INSERT INTO rules (scope, body) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET body = excluded.body")
        .with(scope)
        .with(rows::rule::body(rule).to_string());
}

/// What changes with a rule: the agent or the server it speaks for.
pub(crate) fn entity(scope: &RuleScope) -> Entity {
    match scope {
        RuleScope::Agent(id) => Entity::Agent(*id),
        RuleScope::Server(id) | RuleScope::Tool(id, _) => Entity::Server(*id),
    }
}

impl Sqlite {
    /// All rules, by the text of their scope.
    pub(crate) async fn read_rules(&self) -> Result<Vec<Rule>, RegistryError> {
        let trouble = || self.base.fault("read rules");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT scope, body FROM rules ORDER BY scope LIMIT ?")
            .bind(RULES_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(trouble())?;
        let mut rules = Vec::with_capacity(found.len());
        for row in &found {
            let scope: &str = row.try_get(0).map_err(trouble())?;
            let body: &str = row.try_get(1).map_err(trouble())?;
            let body = serde_json::from_str(body).map_err(|error| Base::not_json("read `rules`", scope, &error))?;
            rules.push(rows::rule::read(scope, &body).map_err(|flaw| Base::bad_row("read `rules`", scope, &flaw))?);
        }
        Ok(rules)
    }
}
