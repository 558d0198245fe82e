//! How many tasks there are of each kind: what the counters say, less what has to be counted apart.
//!
//! Counters (`kinds`) do not know exceptions and hidden tasks. Both are few and are counted themselves, each from an index that
//! holds only them. What a kind is, is [`AlikeTasks`]; who asks for them is in `list_query.rs` and `counts.rs`.

use domain::ports::{AlikeTasks, HiddenTasks, RegistryError};
use domain::task::status::Phase;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::counts::EXCEPTIONS;
use crate::sqlite::{StoreContext, unsigned};

/// ` AND …` for a list with or without the tasks that a person hid.
pub(crate) const fn hidden_condition(hidden: HiddenTasks) -> &'static str {
    match hidden {
        HiddenTasks::Included => "",
        HiddenTasks::LeftOut => " AND number NOT IN (SELECT handle FROM hidden_tasks)",
        HiddenTasks::Only => " AND number IN (SELECT handle FROM hidden_tasks)",
    }
}

pub(crate) fn alike(base: &StoreContext, row: &SqliteRow) -> Result<AlikeTasks, RegistryError> {
    let failed = || base.failed("count tasks");
    let flaw = |column: &str| RegistryError::Other {
        operation: "read `kinds`",
        why: format!("column `{column}` does not read"),
    };
    let (server, agent): (&str, &str) = (row.try_get(0).map_err(failed())?, row.try_get(1).map_err(failed())?);
    let (tool, phase): (&str, &str) = (row.try_get(2).map_err(failed())?, row.try_get(3).map_err(failed())?);
    let agent = if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) };
    Ok(AlikeTasks {
        server: server.parse().map_err(|_| flaw("server"))?,
        agent,
        tool: (!tool.is_empty()).then(|| tool.into()),
        phase: Phase::from_word(phase).ok_or_else(|| flaw("phase"))?,
        is_exception: false,
        tasks: unsigned(row.try_get(4).map_err(failed())?),
    })
}

/// Takes the exceptions out of the kinds they are counted in.
pub(crate) async fn split(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    kinds: &mut [(AlikeTasks, SqliteRow)],
) -> Result<Vec<(AlikeTasks, usize)>, RegistryError> {
    let failed = || base.failed("count tasks");
    let exceptions = EXCEPTIONS.as_str();
    let found = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT server, coalesce(agent, ''), coalesce(tool, ''), phase, count(*) FROM handles WHERE {exceptions} \
         GROUP BY 1, 2, 3, 4"
    )))
    .fetch_all(connection)
    .await
    .map_err(failed())?;
    let mut apart = Vec::new();
    for row in &found {
        let kind = AlikeTasks { is_exception: true, ..alike(base, row)? };
        let is_same = |(rest, _): &(AlikeTasks, SqliteRow)| {
            AlikeTasks { tasks: 0, ..rest.clone() } == AlikeTasks { tasks: 0, is_exception: false, ..kind.clone() }
        };
        let Some(at) = kinds.iter().position(is_same) else { continue };
        if let Some((rest, _)) = kinds.get_mut(at) {
            rest.tasks = rest.tasks.saturating_sub(kind.tasks);
        }
        apart.push((kind, at));
    }
    Ok(apart)
}

/// The kinds of all hidden tasks, each with how many of it are hidden.
pub(crate) async fn hidden(
    base: &StoreContext,
    connection: &mut SqliteConnection,
) -> Result<Vec<AlikeTasks>, RegistryError> {
    let failed = || base.failed("count hidden tasks");
    let exceptions = EXCEPTIONS.as_str();
    let found = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT server, coalesce(agent, ''), coalesce(tool, ''), phase, count(*), {exceptions} FROM handles NOT INDEXED \
         WHERE number IN (SELECT handle FROM hidden_tasks) GROUP BY 1, 2, 3, 4, 6"
    )))
    .fetch_all(connection)
    .await
    .map_err(failed())?;
    let kind = |row: &SqliteRow| {
        let is_exception = row.try_get::<i64, _>(5).map_err(failed())? == 1;
        Ok(AlikeTasks { is_exception, ..alike(base, row)? })
    };
    found.iter().map(kind).collect()
}
