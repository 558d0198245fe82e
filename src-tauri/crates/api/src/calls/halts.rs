//! Halt work in chosen places, see what became of it, and let it begin again in stages (stop.md §3.2).
//!
//! What a halt does is the engine's; whether a stage may follow is the domain's.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::policy::reason_text;
use domain::server::halt::{Halt, HaltEffect, HaltOrder, HaltSubject, RecoveryStage};
use domain::task::TaskHandle;
use domain::task::status::halted::HaltedTaskState;
use domain::task::status::{CancelRequest, Delivery};
use domain::time::Timestamp;
use engine::StartHalt;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::halt::{
    HaltDto, HaltEffectDto, HaltOrderDto, HaltShown, HaltedTaskCounts, HaltedTaskDto, HaltedTaskStateDto,
    RecoveryStageDto, RecoveryStepDto, ToolOfServer,
};
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::lookup::Names;

/// What to halt. Without servers, agents and tools: everything. A list that is there is not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StartHalts {
    /// In the person's words.
    pub reason: String,
    /// What is stopped there; everything of it when left out.
    #[serde(deserialize_with = "non_empty", skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<HaltEffectDto>>")]
    pub scope: Vec<HaltEffectDto>,
    #[serde(deserialize_with = "non_empty", skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub servers: Vec<String>,
    #[serde(deserialize_with = "non_empty", skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    #[serde(deserialize_with = "non_empty", skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<ToolOfServer>>")]
    pub tools: Vec<ToolOfServer>,
}

/// A list that is not empty: an empty one is a choice that went wrong, and must not halt everything.
fn non_empty<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.is_empty() {
        return Err(D::Error::custom("an empty list selects nothing; name something in it, or leave it out"));
    }
    Ok(list)
}

/// A stage of the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeHalt {
    pub stage: RecoveryStageDto,
    /// The person has seen that tasks may still run.
    #[serde(default)]
    pub with_open: bool,
}

/// What was asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HaltRetried {
    /// Tasks whose cancels nobody had confirmed, and which can be asked.
    pub asked: u64,
}

/// A task of a halt, as last read.
pub(crate) struct HaltedTask {
    shown: HaltedTaskDto,
    state: HaltedTaskState,
    created: Timestamp,
    /// When its state changes if nothing is heard: a cancel is not confirmed then.
    pub(crate) until: Option<Timestamp>,
}

impl Api {
    /// What is halted now, with the tasks that it covers.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn halt_show(&self, _caller: &Caller, _input: Nothing) -> Result<HaltShown, ApiError> {
        let (current, unreadable) = self.halt_in_force().await;
        let halt = match current {
            Some(halt) => {
                let mut names = self.names().await?;
                let tasks = self.halted_tasks(&halt, &mut names).await?;
                Some(self.halt_dto(&halt, tasks.values(), &mut names).await?)
            }
            None => None,
        };
        Ok(HaltShown { halt, unreadable })
    }

    /// Halts work. A halt in force is widened.
    ///
    /// # Errors
    /// When a name is unknown, the reason is missing or too long, or it cannot be recorded: then nothing is halted.
    pub async fn halt_start(&self, caller: &Caller, input: StartHalts) -> Result<HaltShown, ApiError> {
        let live = self.live()?;
        let reason = self.reason_of(&input.reason)?;
        let effects = match input.scope.as_slice() {
            [] => HaltEffect::ALL.into_iter().collect(),
            chosen => chosen.iter().map(|effect| HaltEffect::from(*effect)).collect(),
        };
        let mut subjects = Vec::new();
        for name in &input.servers {
            subjects.push(HaltSubject::Server(self.find_server(name).await?.id));
        }
        for name in &input.agents {
            subjects.push(HaltSubject::Agent(self.find_agent(name).await?.id));
        }
        for ToolOfServer { server, tool } in &input.tools {
            subjects.push(HaltSubject::Tool(self.find_server(server).await?.id, tool.as_str().into()));
        }
        if subjects.is_empty() {
            subjects.push(HaltSubject::Everything);
        }
        let by = Some(caller.person.clone().into());
        live.engine.halt(StartHalt { subjects, effects, reason, by }).await?;
        self.halt_show(caller, Nothing {}).await
    }

    /// Asks again the tasks of the halt whose cancels nobody confirmed.
    ///
    /// # Errors
    /// When nothing is halted, or it cannot be recorded.
    pub async fn halt_retry(&self, caller: &Caller, _input: Nothing) -> Result<HaltRetried, ApiError> {
        let asked = self.live()?.engine.retry_halt(caller.person.clone()).await?;
        Ok(HaltRetried { asked })
    }

    /// Takes the next stage of the way back.
    ///
    /// # Errors
    /// When nothing is halted, another stage comes first, or tasks may still run and the person did not say that they
    /// have seen it.
    pub async fn halt_resume(&self, caller: &Caller, input: ResumeHalt) -> Result<HaltShown, ApiError> {
        let live = self.live()?;
        let stage = RecoveryStage::from(input.stage);
        if stage == RecoveryStage::Acknowledged
            && !input.with_open
            && let Some(halt) = live.engine.halt_state().current
        {
            let tasks = self.halted_tasks(&halt, &mut self.names().await?).await?;
            if let Some(unsettled) = counts(tasks.values()).unsettled_words() {
                return Err(ApiError::new(
                    Code::Refused,
                    unsettled,
                    "`taskwarden halt` lists them; `taskwarden resume acknowledged --with-open` goes on all the same.",
                ));
            }
        }
        live.engine.resume(stage, caller.person.clone()).await?;
        self.halt_show(caller, Nothing {}).await
    }

    /// The reason of a halt as one line of plain text.
    pub(crate) fn reason_of(&self, text: &str) -> Result<String, ApiError> {
        let most = self.policy.halt.reason_chars;
        let reason = reason_text(text).ok_or_else(|| {
            ApiError::new(
                Code::Usage,
                "a halt needs a reason",
                "Say why in `reason`, on the command line with `--reason`; everybody whose work is refused reads it, and it is \
                 kept in the audit log. Nothing was halted.",
            )
        })?;
        let chars = reason.chars().count();
        if chars > most {
            return Err(ApiError::new(
                Code::Usage,
                format!("the reason has {chars} characters; at most {most} are kept"),
                "Shorten it; nothing was halted.",
            ));
        }
        Ok(reason)
    }

    /// The halt in force, and why those on record cannot be read.
    pub(crate) async fn halt_in_force(&self) -> (Option<Arc<Halt>>, Option<String>) {
        if let Some(engine) = self.engine() {
            let state = engine.halt_state();
            return (state.current, state.unreadable);
        }
        match self.registry.halts(1).await {
            Ok(halts) => (halts.into_iter().next().filter(|halt| !halt.is_over()).map(Arc::new), None),
            Err(error) => (None, Some(error.to_string())),
        }
    }

    pub(crate) async fn halt_dto(
        &self,
        halt: &Halt,
        tasks: impl Iterator<Item = &HaltedTask> + Clone + Send,
        names: &mut Names,
    ) -> Result<HaltDto, ApiError> {
        let mut orders = Vec::with_capacity(halt.orders.len());
        for order in &halt.orders {
            orders.push(self.order_dto(order, names).await?);
        }
        let mut confirmed_tools = Vec::with_capacity(halt.confirmed.len());
        for tool in &halt.confirmed {
            let server = self.server_name(tool.server, names).await?;
            confirmed_tools.push(ToolOfServer { server, tool: tool.tool.to_string() });
        }
        let steps = halt.steps.iter().map(|step| RecoveryStepDto {
            stage: step.stage.into(),
            at: iso(step.at),
            by: step.by.to_string(),
        });
        let next_stage = RecoveryStage::ALL.into_iter().find(|stage| Some(*stage) > halt.stage());
        let mut first: Vec<&HaltedTask> = tasks.clone().collect();
        first.sort_by_key(|task| (order_of(task.shown.state), std::cmp::Reverse(task.created)));
        first.truncate(usize::try_from(self.policy.halt.tasks_listed).unwrap_or(usize::MAX));
        Ok(HaltDto {
            id: halt.id.to_string(),
            at: iso(halt.at()),
            closed_at: halt.closed_at.map(iso),
            orders,
            steps: steps.collect(),
            next_stage: next_stage.map(RecoveryStageDto::from),
            confirmed_tools,
            counts: counts(tasks),
            tasks: first.into_iter().map(|task| task.shown.clone()).collect(),
        })
    }

    /// All tasks of a halt with what became of them. Those that retention removed are gone.
    pub(crate) async fn halted_tasks(
        &self,
        halt: &Halt,
        names: &mut Names,
    ) -> Result<BTreeMap<HandleId, HaltedTask>, ApiError> {
        Ok(self.halted_tasks_and_removed(halt, names).await?.0)
    }

    async fn halted_tasks_and_removed(
        &self,
        halt: &Halt,
        names: &mut Names,
    ) -> Result<(BTreeMap<HandleId, HaltedTask>, u64), ApiError> {
        let (rows, mut tasks, mut removed) = (self.policy.page_rows_max, BTreeMap::new(), 0);
        let mut after: Option<HandleId> = None;
        loop {
            let page = self.registry.halted_tasks(halt.id, after, rows).await?;
            after = page.last().copied();
            let is_last = page.len() < usize::try_from(rows).unwrap_or(usize::MAX);
            for id in page {
                match self.halted_task(id, names).await? {
                    Some(task) => drop(tasks.insert(id, task)),
                    None => removed += 1,
                }
            }
            if is_last {
                return Ok((tasks, removed));
            }
        }
    }

    /// How many tasks of a halt are in which state, and how many of them retention removed.
    pub(crate) async fn halt_outcome(
        &self,
        halt: &Halt,
        names: &mut Names,
    ) -> Result<(HaltedTaskCounts, u64), ApiError> {
        let (tasks, removed) = self.halted_tasks_and_removed(halt, names).await?;
        Ok((counts(tasks.values()), removed))
    }

    /// One task of a halt as it is now; `None` when it was removed.
    pub(crate) async fn halted_task(&self, id: HandleId, names: &mut Names) -> Result<Option<HaltedTask>, ApiError> {
        let task = match self.engine().and_then(|engine| engine.task(id)) {
            Some(task) => task,
            None => match self.registry.handle(id).await? {
                Some(task) => Arc::new(task),
                None => return Ok(None),
            },
        };
        let within = self.policy.halt.confirm_within;
        let state = task.halted_state(self.now(), within);
        let waits = matches!(state, HaltedTaskState::Requested | HaltedTaskState::Acknowledged);
        let silent = task.cancel_request().filter(|_| waits).map(CancelRequest::silent_since);
        Ok(Some(HaltedTask {
            created: task.created,
            state,
            until: silent.map(|since| since.plus(within)),
            shown: self.halted_task_dto(&task, state, names).await?,
        }))
    }

    async fn order_dto(&self, order: &HaltOrder, names: &mut Names) -> Result<HaltOrderDto, ApiError> {
        let (mut server, mut agent, mut tool) = (None, None, None);
        match &order.subject {
            HaltSubject::Everything => {}
            HaltSubject::Server(id) => server = Some(self.server_name(*id, names).await?),
            HaltSubject::Agent(id) => agent = Some(self.agent_name(*id, names).await?),
            HaltSubject::Tool(id, name) => {
                server = Some(self.server_name(*id, names).await?);
                tool = Some(name.to_string());
            }
        }
        Ok(HaltOrderDto {
            server,
            agent,
            tool,
            scope: order.effects.iter().map(|effect| HaltEffectDto::from(*effect)).collect(),
            in_force: order.effects.iter().filter(|effect| order.has(**effect)).map(|one| (*one).into()).collect(),
            at: iso(order.at),
            by: order.by.as_ref().map(ToString::to_string),
            by_name: match &order.by {
                Some(by) => self.token_name_of(by, names).await?,
                None => None,
            },
            reason: order.reason.clone(),
        })
    }

    async fn halted_task_dto(
        &self,
        task: &TaskHandle,
        state: HaltedTaskState,
        names: &mut Names,
    ) -> Result<HaltedTaskDto, ApiError> {
        let agent = match task.agent {
            Some(agent) => Some(self.agent_name(agent, names).await?),
            None => None,
        };
        let refused = task.cancel_request().and_then(|cancel| match &cancel.delivery {
            Delivery::Refused { why, .. } => Some(why.clone()),
            Delivery::Recorded | Delivery::Sent { .. } | Delivery::Acknowledged { .. } => None,
        });
        let cancel = task.cancel_request();
        let phase = task.phase(self.now());
        let word = phase.word();
        let evidence =
            refused.as_ref().map_or_else(|| word.to_owned(), |why| format!("{word}; the cancel was refused: {why}"));
        Ok(HaltedTaskDto {
            id: task.id.to_string(),
            server: self.server_name(task.server, names).await?,
            agent,
            tool: task.tool.as_ref().map(ToString::to_string),
            state: state.into(),
            evidence,
            phase: phase.into(),
            asked_at: cancel.map(|cancel| iso(cancel.at)),
            acknowledged_at: cancel.and_then(CancelRequest::acknowledged_at).map(iso),
            refused,
            ended_at: task.ended_at().map(iso),
            held: task.is_held(),
        })
    }
}

fn counts<'a>(tasks: impl Iterator<Item = &'a HaltedTask>) -> HaltedTaskCounts {
    let mut counts = HaltedTaskCounts::default();
    for task in tasks {
        counts.add(task.state, task.shown.phase.0);
    }
    counts
}

/// What a person has to look at comes first, what has ended last.
const fn order_of(state: HaltedTaskStateDto) -> u8 {
    match state {
        HaltedTaskStateDto::NotConfirmed => 0,
        HaltedTaskStateDto::Open => 1,
        HaltedTaskStateDto::Acknowledged => 2,
        HaltedTaskStateDto::Requested => 3,
        HaltedTaskStateDto::Confirmed => 4,
    }
}
