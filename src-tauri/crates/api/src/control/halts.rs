//! Halts of a supervisor program: only where everything that is halted is in its reach.
//!
//! What a halt does is the engine's (`decisions/halt.rs`). A program sees of a halt only what its own orders have done to
//! tasks in its reach, and lifts nothing.

use domain::ids::HandleId;
use domain::server::halt::{Halt, HaltEffect, HaltSubject, HaltedBy};
use domain::time::Timestamp;
use engine::StartHalt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::ControlCaller;
use super::lookup::unknown;
use crate::api::Api;
use crate::calls::Nothing;
use crate::calls::halts::StartHalts;
use crate::dto::halt::{HaltedTaskCounts, ToolOfServer};
use crate::dto::iso;
use crate::error::ApiError;

/// The halt in force, as far as this token took part in it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlHaltShown {
    /// Null when nothing is halted by this token.
    pub halt: Option<ControlHalt>,
}

/// A halt that this token began or widened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlHalt {
    pub id: String,
    pub at: String,
    /// No call of the newest order began to leave after this; null while that is not known.
    pub closed_at: Option<String>,
    /// Tasks in reach that the halt covers, by what became of them.
    pub counts: HaltedTaskCounts,
}

impl Api {
    /// Halts work in reach. A halt in force is widened.
    ///
    /// # Errors
    /// When something named is not in reach whole, the reason is missing, or it cannot be recorded: then nothing is
    /// halted.
    pub(super) async fn control_halt(
        &self,
        caller: &ControlCaller,
        input: StartHalts,
    ) -> Result<ControlHaltShown, ApiError> {
        let live = self.live()?;
        let reason = self.reason_of(&input.reason)?;
        let effects = match input.scope.as_slice() {
            [] => HaltEffect::ALL.into_iter().collect(),
            chosen => chosen.iter().map(|effect| HaltEffect::from(*effect)).collect(),
        };
        let mut subjects = Vec::new();
        for name in &input.servers {
            let subject = HaltSubject::Server(self.control_server(caller, name).await?.id);
            subjects.push(within(caller, subject, "server", name)?);
        }
        for name in &input.agents {
            let subject = HaltSubject::Agent(self.control_agent(caller, name).await?.id);
            subjects.push(within(caller, subject, "agent", name)?);
        }
        for ToolOfServer { server, tool } in &input.tools {
            let id = self.control_server(caller, server).await?.id;
            subjects.push(within(caller, HaltSubject::Tool(id, tool.as_str().into()), "tool", tool)?);
        }
        if subjects.is_empty() {
            subjects.push(within(caller, HaltSubject::Everything, "halt of", "everything")?);
        }
        let start = StartHalt { subjects, effects, reason, by: Some(by(caller)) };
        // The halt of the call that this one repeats is in force already; a person may have lifted some of it since.
        let is_done = caller.first_began.is_some_and(|began| self.was_halted_since(&start, began));
        if !is_done {
            live.engine.count_control_use(&caller.token, 1).await?;
            live.engine.halt(start).await?;
        }
        self.control_halt_show(caller, Nothing {}).await
    }

    /// The halt in force, when this token gave one of its orders.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub(super) async fn control_halt_show(
        &self,
        caller: &ControlCaller,
        _input: Nothing,
    ) -> Result<ControlHaltShown, ApiError> {
        let by = Some(by(caller));
        let halt = match self.halt_in_force().await.0 {
            Some(halt) if halt.orders.iter().any(|order| order.by == by) => Some(ControlHalt {
                id: halt.id.to_string(),
                at: iso(halt.at()),
                closed_at: halt.closed_at.map(iso),
                counts: self.control_halted(caller, &halt).await?,
            }),
            _ => None,
        };
        Ok(ControlHaltShown { halt })
    }

    /// Whether the halt in force has each of these orders, from this moment or later.
    fn was_halted_since(&self, start: &StartHalt, began: Timestamp) -> bool {
        let Some(halt) = self.engine().and_then(|engine| engine.halt_state().current) else { return false };
        start.subjects.iter().all(|subject| {
            halt.orders.iter().any(|order| {
                order.at >= began
                    && order.by == start.by
                    && order.subject == *subject
                    && order.effects == start.effects
                    && order.reason == start.reason
            })
        })
    }

    async fn control_halted(&self, caller: &ControlCaller, halt: &Halt) -> Result<HaltedTaskCounts, ApiError> {
        let (rows, mut counts) = (self.policy.page_rows_max, HaltedTaskCounts::default());
        let mut after: Option<HandleId> = None;
        loop {
            let page = self.registry.halted_tasks(halt.id, after, rows).await?;
            after = page.last().copied();
            for id in &page {
                let task = self.registry.handle(*id).await?.filter(|task| caller.token.reaches(task));
                if let Some(task) = task {
                    let now = self.now();
                    counts.add(task.halted_state(now, self.policy.halt.confirm_within), task.phase(now));
                }
            }
            if page.len() < usize::try_from(rows).unwrap_or(usize::MAX) {
                return Ok(counts);
            }
        }
    }
}

fn by(caller: &ControlCaller) -> HaltedBy {
    HaltedBy::Control(caller.id())
}

fn within(caller: &ControlCaller, subject: HaltSubject, what: &str, name: &str) -> Result<HaltSubject, ApiError> {
    if caller.token.reaches_all_of(&subject) { Ok(subject) } else { Err(unknown(what, name)) }
}
