//! How many tasks there are in each state, and which of them wait for a decision that their phase does not show.
//!
//! What a figure counts is defined in `domain::task::figures`; here is only which columns its state is read from. The phases in the
//! statements come from the domain's own predicates, so that the two cannot differ.

use std::sync::LazyLock;

use domain::ports::RegistryError;
use domain::task::figures::{CountedState, TaskTally};
use domain::task::status::{Phase, PhaseGroup};
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row};

use crate::sqlite::read::task_kinds;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned};

/// A quoted list of the phases for which this holds.
pub(crate) fn phases(wanted: impl Fn(Phase) -> bool) -> String {
    let words = Phase::ALL.into_iter().filter(|phase| wanted(*phase)).map(|phase| format!("'{}'", phase.word()));
    words.collect::<Vec<_>>().join(", ")
}

fn goes_on(phase: Phase) -> bool {
    match phase.group() {
        PhaseGroup::Moving | PhaseGroup::NoNews => true,
        PhaseGroup::NeedsYou | PhaseGroup::Finished => false,
    }
}

/// The numbers of the tasks that are [exceptions](CountedState::is_exception). Each part is an index that holds only such
/// tasks.
static EXCEPTION_NUMBERS: LazyLock<String> = LazyLock::new(|| {
    let over = phases(|phase| phase.group() == PhaseGroup::Finished);
    let open = phases(goes_on);
    let asked = phases(|phase| goes_on(phase) && phase.asks_people());
    let trouble = phases(|phase| phase.group() == PhaseGroup::NeedsYou);
    format!(
        "SELECT number FROM handles INDEXED BY handles_settled WHERE settled = 1 AND phase IN ({trouble}) \
         UNION ALL SELECT number FROM handles INDEXED BY handles_held WHERE held = 1 AND phase IN ({over}) \
         UNION ALL SELECT number FROM handles INDEXED BY handles_over_limit WHERE over_limit = 1 AND phase IN ({open}) \
         UNION ALL SELECT h.number FROM requests r INDEXED BY requests_open CROSS JOIN handles h ON h.number = r.handle \
         WHERE r.state = 'open' AND h.phase IN ({asked})"
    )
});

/// Whether a task is an exception, as 0 or 1; the list of those that are is made once for a statement.
pub(crate) static EXCEPTIONS: LazyLock<String> = LazyLock::new(|| format!("(number IN ({}))", *EXCEPTION_NUMBERS));

fn tally(base: &StoreContext, row: &SqliteRow) -> Result<TaskTally, RegistryError> {
    let failed = || base.failed("count tasks");
    let flaw = |column: &str| RegistryError::Other {
        operation: "read `kinds`",
        why: format!("column `{column}` does not read"),
    };
    let (server, agent): (&str, &str) = (row.try_get(0).map_err(failed())?, row.try_get(1).map_err(failed())?);
    let phase: &str = row.try_get(2).map_err(failed())?;
    Ok(TaskTally {
        server: server.parse().map_err(|_| flaw("server"))?,
        agent: if agent.is_empty() { None } else { Some(agent.parse().map_err(|_| flaw("agent"))?) },
        state: CountedState {
            phase: Phase::from_word(phase).ok_or_else(|| flaw("phase"))?,
            is_exception: row.try_get::<i64, _>(3).map_err(failed())? == 1,
            is_orphaned: row.try_get::<i64, _>(4).map_err(failed())? == 1,
        },
        is_hidden: false,
        tasks: unsigned(row.try_get(5).map_err(failed())?),
    })
}

impl SqliteRegistry {
    /// All tasks by server, agent and state, hidden ones apart. Counts of phases come from `kinds`; only tasks with a flag are read.
    pub(crate) async fn read_tallies(&self) -> Result<Vec<TaskTally>, RegistryError> {
        let failed = || self.base.failed("count tasks");
        let (exception, numbers) = (EXCEPTIONS.as_str(), EXCEPTION_NUMBERS.as_str());
        let flagged = format!(
            "SELECT server, coalesce(agent, ''), phase, {exception}, coalesce(orphaned, 0), count(*) FROM handles \
             WHERE number IN ({numbers} UNION ALL SELECT number FROM handles INDEXED BY handles_orphaned \
             WHERE orphaned = 1) GROUP BY 1, 2, 3, 4, 5"
        );
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let plain = sqlx::query("SELECT server, agent, phase, 0, 0, sum(handles) FROM kinds WHERE handles > 0 GROUP BY server, agent, phase")
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed())?;
        let flagged = sqlx::query(sqlx::AssertSqlSafe(flagged)).fetch_all(&mut *transaction).await.map_err(failed())?;
        let hidden = task_kinds::hidden(&self.base, &mut transaction).await?;
        transaction.rollback().await.map_err(failed())?;
        let mut tallies = plain.iter().map(|row| tally(&self.base, row)).collect::<Result<Vec<_>, _>>()?;
        for row in &flagged {
            let apart = tally(&self.base, row)?;
            let is_same = |tally: &&mut TaskTally| {
                (tally.server, tally.agent, tally.state.phase) == (apart.server, apart.agent, apart.state.phase)
            };
            if let Some(rest) = tallies.iter_mut().find(is_same) {
                rest.tasks = rest.tasks.saturating_sub(apart.tasks);
            }
            tallies.push(apart);
        }
        for kind in &hidden {
            let apart = TaskTally {
                server: kind.server,
                agent: kind.agent,
                state: kind.state(),
                is_hidden: true,
                tasks: kind.tasks,
            };
            let is_same = |tally: &&mut TaskTally| {
                (tally.server, tally.agent, tally.state, tally.is_hidden)
                    == (apart.server, apart.agent, apart.state, false)
            };
            if let Some(rest) = tallies.iter_mut().find(is_same) {
                rest.tasks = rest.tasks.saturating_sub(apart.tasks);
            }
            tallies.push(apart);
        }
        tallies.retain(|tally| tally.tasks > 0);
        Ok(tallies)
    }
}
