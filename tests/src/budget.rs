//! Budgets as a person sets and reads them, on a [`Gate`]: limits, families, what stands in a window, what a task cost.
//!
//! Everything goes through the command line. Figures are compared by the tests; here they are only waited for, because
//! counting never holds a call up and comes after it.

use futures::StreamExt as _;
use serde_json::Value;

use crate::bench::attach;
use crate::gate::Gate;
use crate::home::wait_for;

/// The sources of a window, in the order of every list.
pub const SOURCES: [&str; 6] = ["tools", "ownTools", "arguments", "results", "handles", "prompts"];

impl Gate {
    /// Counts an agent by this family in a window of so many tokens.
    pub fn count_by(&self, agent: &str, family: &str, window: u64) {
        let set = ["budget", "set", agent, "--tokenizer", family, "--window", &window.to_string()];
        let ran = self.home().run(set);
        assert_eq!(ran.code, 0, "the family and the window are set: {}", ran.err);
    }

    /// Sets a limit: `limit("--agent", "bee", "--result-tokens", "5000:hold")`.
    pub fn limit(&self, scope: &str, name: &str, what: &str, limit: &str) {
        let ran = self.home().run(["rules", "set", scope, name, what, limit]);
        assert_eq!(ran.code, 0, "the limit is set: {}", ran.err);
    }

    /// What `budget AGENT --json` shows.
    #[must_use]
    pub fn budget(&self, agent: &str) -> Value {
        self.home().json(["budget", agent, "--json"])
    }

    /// The budget, once it is as wanted.
    pub fn wait_budget(&self, what: &str, agent: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_for(
            what,
            || Some(self.budget(agent)).filter(&is_it),
            || format!("{}\ncore: {}", self.budget(agent), self.home().core_log()),
        )
    }

    /// A task's `tokens`, once they are as wanted.
    pub fn wait_tokens(&self, what: &str, id: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let tokens = || self.home().task(id).get("tokens").cloned().unwrap_or_default();
        wait_for(what, || Some(tokens()).filter(&is_it), || format!("{}\ncore: {}", tokens(), self.home().core_log()))
    }

    /// The rows of the window's inbox of this kind, about this task.
    #[must_use]
    pub fn waiting(&self, kind: &str, task: &str) -> Vec<Value> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let nothing = r#"{"query":null,"ids":[],"task":null,"visible":false}"#;
        let snapshot = runtime.block_on(async {
            let mut frames = attach(self.home()).frames(nothing.to_owned()).await.expect("the core tells what waits");
            frames.next().await.expect("a snapshot").expect("a frame")
        });
        let snapshot: Value = serde_json::from_str(&snapshot).expect("JSON of the api");
        let rows = snapshot.get("inbox").and_then(Value::as_array).cloned().unwrap_or_default();
        let is = |row: &Value, name: &str, wanted: &str| row.get(name).is_some_and(|word| word == wanted);
        rows.into_iter().filter(|row| is(row, "kind", kind) && is(row, "task", task)).collect()
    }

    /// The one row of the inbox, once it is there.
    pub fn wait_waiting(&self, kind: &str, task: &str) -> Value {
        wait_for(
            &format!("the inbox has {task} as {kind}"),
            || self.waiting(kind, task).into_iter().next(),
            || format!("{}\ncore: {}", self.home().task(task), self.home().core_log()),
        )
    }
}

/// Tokens of one source in the window of a budget; 0 where nothing was seen.
#[must_use]
pub fn of(budget: &Value, source: &str) -> u64 {
    part(budget, source, "tokens")
}

/// Tokens of one source that were passed to the program.
#[must_use]
pub fn passed(budget: &Value, source: &str) -> u64 {
    part(budget, source, "passed")
}

fn part(budget: &Value, source: &str, figure: &str) -> u64 {
    let sources = budget.pointer("/budget/now/sources").and_then(Value::as_array).into_iter().flatten();
    let part = sources.into_iter().find(|part| part.get("source").is_some_and(|word| word == source));
    part.and_then(|part| part.get(figure)).and_then(Value::as_u64).unwrap_or(0)
}

/// What stands in the window.
#[must_use]
pub fn occupied(budget: &Value) -> u64 {
    budget.pointer("/budget/now/tokens").and_then(Value::as_u64).unwrap_or(0)
}
