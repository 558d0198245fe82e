//! The next step against one task, from a cancel to the shutdown of its server (promise R2).
//!
//! What a step affects is told before it is taken, and refused when more than that would end. Steps are the domain's;
//! carrying them out is the engine's.

use std::collections::BTreeSet;

use domain::ids::AgentId;
use domain::task::{EscalationStep, TaskHandle};
use engine::{Engine, EngineError, NoProcess};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::dto::TaskDto;
use crate::dto::task::escalation::{
    CancelRecordDto, EscalationDto, OfferedStepDto, StoppedDto, TakenStepDto, UnavailableStepDto,
};
use crate::error::{ApiError, Code};
use crate::format::time::count;
use crate::lookup::Names;

/// A step to take against a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EscalateTask {
    pub id: String,
    /// From 1 to 5; the next one when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub step: Option<u8>,
    /// In the person's words.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub reason: Option<String>,
    /// Tasks that the person was told end with the step; with more, nothing is done.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub told_tasks: u64,
}

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskEscalated {
    /// The number of the step.
    pub step: u8,
    pub task: TaskDto,
    pub escalation: EscalationDto,
}

/// Whether a step can be taken.
enum Offer {
    Available(Box<OfferedStepDto>),
    Unavailable(String),
}

impl Api {
    /// Takes the next step against a task, or the one that is named. A step that was taken before changes nothing.
    ///
    /// # Errors
    /// When the task does not have the step, a higher one was taken, more would end than was told, or it cannot be
    /// recorded: then nothing was done.
    pub async fn task_escalate(&self, caller: &Caller, input: EscalateTask) -> Result<TaskEscalated, ApiError> {
        let live = self.live()?;
        let reason = self.bounded_reason(input.reason.as_deref())?;
        let task = self.find_task(&input.id).await?;
        let step = match input.step {
            Some(number) => EscalationStep::from_number(number).ok_or_else(|| no_such_step(number))?,
            None => self.next_step(&task).await?,
        };
        caller.require(ability_of(step))?;
        if task.highest_step() != Some(step)
            && let Offer::Available(offered) = self.offer(&task, step).await?
            && offered.confirm
            && offered.tasks > input.told_tasks
        {
            return Err(ApiError::new(
                Code::Refused,
                format!("step {} of task `{}` ends {}", step.number(), task.id, count(offered.tasks, "open task")),
                "Look at them first; `--yes` on the command line ends them with it.",
            ));
        }
        let taken = live.engine.escalate(task.id, step, &caller.person, reason.as_deref()).await;
        taken.map_err(|error| self.not_escalated(error))?;
        let task = self.find_task(&task.id.to_string()).await?;
        let escalation = self.escalation(&task).await?;
        Ok(TaskEscalated { step: step.number(), task: self.task_show_id(task.id).await?, escalation })
    }

    /// The steps against a task: those taken, and those left.
    pub(crate) async fn escalation(&self, task: &TaskHandle) -> Result<EscalationDto, ApiError> {
        let server = self.name_of_server(task).await?;
        let taken = task.steps_taken();
        let highest = task.highest_step();
        let (mut steps, mut names) = (Vec::with_capacity(taken.len()), Names::default());
        for taken in &taken {
            let by_name = self.deciding_token(&taken.by, &mut names).await?;
            steps.push(TakenStepDto { by_name, ..TakenStepDto::of(taken, task, &server) });
        }
        let mut shown = EscalationDto {
            steps,
            stopped: StoppedDto::of(task),
            record: CancelRecordDto::of(self.registry.cancels(task.server).await?, &server, task),
            ..EscalationDto::default()
        };
        for step in EscalationStep::ALL {
            if highest.is_some_and(|highest| highest >= step) || task.ended_at().is_some() {
                continue;
            }
            match self.offer(task, step).await? {
                Offer::Available(offered) => shown.offered.push(*offered),
                Offer::Unavailable(why) => {
                    shown.unavailable.push(UnavailableStepDto { number: step.number(), step: step.into(), why });
                }
            }
        }
        Ok(shown)
    }

    async fn next_step(&self, task: &TaskHandle) -> Result<EscalationStep, ApiError> {
        let shown = self.escalation(task).await?;
        if let Some(next) = shown.offered.first().and_then(|next| EscalationStep::from_number(next.number)) {
            return Ok(next);
        }
        task.check_step(EscalationStep::ShutDown, self.now())?;
        let why = shown.unavailable.first().map(|step| format!(": {}", step.why)).unwrap_or_default();
        Err(ApiError::new(
            Code::Refused,
            format!("no step is left for task `{}`{why}", task.id),
            "`taskwarden tasks show ID` shows the steps so far and what is known of the task.",
        ))
    }

    /// Whether this step can be taken now, and what it affects.
    async fn offer(&self, task: &TaskHandle, step: EscalationStep) -> Result<Offer, ApiError> {
        let Some(engine) = self.engine() else {
            return Ok(Offer::Unavailable("No core runs. Start it with `taskwarden serve`.".into()));
        };
        if let Err(refusal) = task.check_step(step, self.now()) {
            return Ok(Offer::Unavailable(sentence(&refusal.to_string())));
        }
        let agent = match task.agent {
            Some(agent) => self.agents_named([agent]).await?.pop(),
            None => None,
        };
        let named = agent.clone().unwrap_or_else(|| "its agent".into());
        let offered = |label: String, affects: &str| OfferedStepDto {
            number: step.number(),
            step: step.into(),
            label,
            affects: affects.to_owned(),
            tasks: 1,
            agents: agent.iter().cloned().collect(),
            processes: Vec::new(),
            confirm: false,
        };
        let offered = match step {
            EscalationStep::Cancel => offered("Cancel".into(), "this task"),
            EscalationStep::HoldResult => {
                if task.hold.is_some() {
                    return Ok(Offer::Unavailable("Its result is held already, or was decided about.".into()));
                }
                offered("Hold its result".into(), "this task's result; the agent sees it as still working")
            }
            EscalationStep::Revoke => offered(format!("Revoke from {named}"), "the agent's handle for this task"),
            EscalationStep::RevokeAgent => return self.offer_agent(engine, task, offered).await,
            EscalationStep::ShutDown => return self.offer_shutdown(engine, task, offered).await,
        };
        Ok(Offer::Available(Box::new(offered)))
    }

    async fn offer_agent(
        &self,
        engine: &Engine,
        task: &TaskHandle,
        offered: impl Fn(String, &str) -> OfferedStepDto,
    ) -> Result<Offer, ApiError> {
        let agents = self.registry.agents().await?;
        let agent = task.agent.and_then(|id| agents.into_iter().find(|agent| agent.id == id));
        let Some(agent) = agent else { return Ok(Offer::Unavailable("No agent has this task.".into())) };
        if agent.revoked.is_some() {
            return Ok(Offer::Unavailable(format!("{} has no access any more.", agent.name)));
        }
        let mut open = engine.open_tasks_of(agent.id);
        open.remove(&task.id);
        let others = u64::try_from(open.len()).unwrap_or(u64::MAX);
        let label = format!("Revoke {} ({})", agent.name, count(others, "other task"));
        let step = offered(label, "the agent's access and all its tasks");
        Ok(Offer::Available(Box::new(OfferedStepDto { tasks: others + 1, confirm: true, ..step })))
    }

    async fn offer_shutdown(
        &self,
        engine: &Engine,
        task: &TaskHandle,
        offered: impl Fn(String, &str) -> OfferedStepDto,
    ) -> Result<Offer, ApiError> {
        let reach = match engine.shutdown_reach(task) {
            Ok(reach) => reach,
            Err(EngineError::NoProcess(NoProcess::RunsElsewhere { url })) => {
                return Ok(Offer::Unavailable(runs_elsewhere(&url)));
            }
            Err(EngineError::NoProcess(NoProcess::NotRunning)) => {
                return Ok(Offer::Unavailable("The process that ran it is not running.".into()));
            }
            Err(error) => return Ok(Offer::Unavailable(sentence(&error.to_string()))),
        };
        let tasks = u64::try_from(reach.tasks.len()).unwrap_or(u64::MAX).saturating_add(reach.calls);
        let agents = self.agents_named(reach.agents).await?;
        let of_agents = match agents.len() {
            0 => String::new(),
            many => format!(" of {}", count(u64::try_from(many).unwrap_or(u64::MAX), "agent")),
        };
        let server = self.name_of_server(task).await?;
        let step = offered(
            format!("Shut down {server} (ends {}{of_agents})", count(tasks, "task")),
            "the local server process and everything it started",
        );
        let processes = (self.live()?.process_group)(reach.pid);
        Ok(Offer::Available(Box::new(OfferedStepDto { tasks, agents, processes, confirm: true, ..step })))
    }

    async fn agents_named(&self, ids: impl IntoIterator<Item = AgentId>) -> Result<Vec<String>, ApiError> {
        let ids: BTreeSet<AgentId> = ids.into_iter().collect();
        let agents = self.registry.agents().await?;
        Ok(agents.into_iter().filter(|agent| ids.contains(&agent.id)).map(|agent| agent.name).collect())
    }

    async fn name_of_server(&self, task: &TaskHandle) -> Result<String, ApiError> {
        Ok(self.show(task, None, &mut Names::default()).await?.server)
    }

    fn not_escalated(&self, error: EngineError) -> ApiError {
        match error {
            EngineError::NoProcess(NoProcess::RunsElsewhere { url }) => {
                let why = runs_elsewhere(&url);
                ApiError::new(Code::Refused, "this task has no step 5", why)
            }
            other => other.into(),
        }
    }
}

/// The ability that a step needs. The call itself asks for the least of them.
const fn ability_of(step: EscalationStep) -> Ability {
    match step {
        EscalationStep::Cancel | EscalationStep::ShutDown => Ability::Cancel,
        EscalationStep::HoldResult => Ability::Decide,
        EscalationStep::Revoke | EscalationStep::RevokeAgent => Ability::Revoke,
    }
}

fn no_such_step(number: u8) -> ApiError {
    ApiError::new(
        Code::Usage,
        format!("there is no step {number}"),
        "1 cancels, 2 holds the result, 3 revokes the task, 4 revokes its agent, 5 shuts down its server.",
    )
}

fn runs_elsewhere(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or(host);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("It runs on {host}. Only its operator can shut it down; you can hold its result.")
}

/// An error of ours as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_server_is_named_by_its_host_and_never_by_what_is_secret_in_its_address() {
        let shown = runs_elsewhere("https://ada:secret@ci.example:8443/mcp?token=x");
        assert_eq!(shown, "It runs on ci.example:8443. Only its operator can shut it down; you can hold its result.");
    }
}
