//! Budgets: what is in an agent's window, how its tokens are counted, and when it was emptied.
//!
//! Only a person may change how an agent is counted or say that its window is empty. Figures over time are
//! `budgets/series.rs` and `budgets/chart.rs`, those of the day and their cost `budgets/today.rs`.

pub(crate) mod agent_budgets;
pub mod chart;
pub mod prices;
pub mod series;
pub mod today;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::agent::Agent;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::budget::models::{self, MODELS};
use domain::budget::window::CountingSettings;
use domain::client::profile::{self, PROFILES};
use domain::ports::AgentUnit;
use domain::tokens::{Count, Family, token_noun};

use super::Nothing;
use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{
    BudgetChoices, BudgetDto, BudgetList, BudgetShown, FamilyDto, ModelDto, OneAgent, ProgramChoice, SetBudget,
    ToolCost, WindowDto,
};
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};
use crate::suggestion::did_you_mean;

impl Api {
    /// What stands in the windows of agents with access.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn budget_list(&self, _caller: &Caller, _input: Nothing) -> Result<BudgetList, ApiError> {
        self.budgets(&mut Names::default()).await
    }

    /// The budget of one agent with its tools, its earlier windows, and what it spent and wasted today.
    ///
    /// # Errors
    /// When there is no such agent, or the registry cannot be read.
    pub async fn budget_show(&self, _caller: &Caller, input: OneAgent) -> Result<BudgetShown, ApiError> {
        let agent = self.find_agent(&input.agent).await?;
        self.flush_budget().await;
        let budget = self.budget_of(&agent).await?;
        // What stands in the window, and what of that was passed since it began.
        let mut tools: BTreeMap<Arc<str>, (Count, Count)> = BTreeMap::new();
        for shelf in budget.now.iter().flat_map(|window| window.shelves.values()) {
            let carried = shelf.carried.tools.iter().map(|(tool, count)| (tool, *count, Count::ZERO));
            for (tool, stated, passed) in shelf.tools.iter().map(|(tool, count)| (tool, *count, *count)).chain(carried)
            {
                // Behind several doors, a tool of one name stands in the window several times.
                let sums = tools.entry(Arc::clone(tool)).or_default();
                *sums = (sums.0 + stated, sums.1 + passed);
            }
        }
        let (tool_list, size) = (budget.measure.profile.tool_list, budget.measure.window.map(|(size, _)| size));
        let mut tools: Vec<ToolCost> = tools
            .into_iter()
            .map(|(tool, (stated, passed))| {
                let Count { tokens, exactness } = tool_list.of(stated);
                let tool = tool.to_string();
                ToolCost { tool, tokens, exactness: exactness.into(), passed: passed.tokens }
            })
            .collect();
        tools.sort_by(|one, other| (other.tokens, &one.tool).cmp(&(one.tokens, &other.tool)));
        let stored = self.registry.windows(self.policy.counting.windows_shown).await?;
        let mut earlier: Vec<_> =
            stored.into_iter().filter(|window| window.agent == agent.id && window.ended.is_some()).collect();
        earlier.sort_by_key(|window| std::cmp::Reverse((window.ended, window.began)));
        let today = self.today(Some(agent.id));
        let (spent_today, kept_out) = self.spent(today).await?;
        let mut names = Names::default();
        Ok(BudgetShown {
            budget: self.budget_dto(&agent, budget, &mut names).await?,
            tools,
            earlier: earlier.iter().map(|window| WindowDto::of(window, size)).collect(),
            spent_today,
            kept_out_today: kept_out.tokens,
            kept_out_exactness: kept_out.exactness.into(),
            waste: self.wasted(today, &mut names).await?,
        })
    }

    /// Changes how an agent is counted.
    ///
    /// # Errors
    /// When there is no such agent with access, a model or family is unknown, a size cannot be, or it cannot be recorded.
    pub async fn budget_set(&self, caller: &Caller, input: SetBudget) -> Result<BudgetDto, ApiError> {
        let live = self.live()?;
        let agent = self.agent_with_access(&input.agent).await?;
        let SetBudget { agent: _, model, family, window_tokens, program } = input;
        let mut meter = agent.meter.clone();
        if let Some(model) = model {
            meter.model = model.as_deref().map(known_model).transpose()?;
        }
        if let Some(family) = family {
            meter.family = family.as_deref().map(known_family).transpose()?;
        }
        if let Some(window) = window_tokens {
            meter.window = window.map(|tokens| self.tokens(tokens, "the size of a window")).transpose()?;
        }
        if let Some(program) = program {
            meter.program = program.as_deref().map(known_program).transpose()?;
        }
        let fact = AuditEvent {
            at: self.now(),
            actor: Actor::Person(caller.person.clone()),
            verb: Verb::BudgetChanged,
            subject: Subject::Agent(agent.id),
            note: words(&meter),
        };
        let agent = Agent { meter, ..agent };
        self.registry.put_agent(AgentUnit { agent: agent.clone(), audit: vec![fact], ended_pause: None }).await?;
        live.engine.agents_changed().await?;
        self.budget_dto(&agent, self.budget_of(&agent).await?, &mut Names::default()).await
    }

    /// Says that the window of an agent is empty: its program began anew in a way that is not seen here.
    ///
    /// # Errors
    /// When there is no such agent with access, or it cannot be recorded.
    pub async fn budget_empty(&self, caller: &Caller, input: OneAgent) -> Result<BudgetDto, ApiError> {
        let live = self.live()?;
        let agent = self.agent_with_access(&input.agent).await?;
        live.engine.empty_window(agent.id, caller.person.clone()).await?;
        self.budget_dto(&agent, self.budget_of(&agent).await?, &mut Names::default()).await
    }

    /// What can be set for an agent.
    ///
    /// # Errors
    /// Never; the same for all calls.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn budget_choices(&self, _caller: &Caller, _input: Nothing) -> Result<BudgetChoices, ApiError> {
        let family = |family| FamilyDto::of(family, self.scale.error_percent(family));
        Ok(BudgetChoices {
            families: Family::ALL.into_iter().map(family).collect(),
            models: MODELS.iter().map(ModelDto::from).collect(),
            programs: PROFILES.iter().map(ProgramChoice::from).collect(),
        })
    }

    /// What was counted so far is in the registry when this returns.
    pub(crate) async fn flush_budget(&self) {
        if let Some(engine) = self.engine() {
            engine.flush_budget().await;
        }
    }

    pub(crate) async fn agent_with_access(&self, text: &str) -> Result<Agent, ApiError> {
        let agent = self.find_agent(text).await?;
        match agent.revoked {
            None => Ok(agent),
            Some(at) => Err(ApiError::new(
                Code::Refused,
                format!("agent `{}` was revoked at {at}", agent.name),
                "`taskwarden agents list` shows the agents with access.",
            )),
        }
    }
}

fn known_model(name: &str) -> Result<Arc<str>, ApiError> {
    if models::model(name).is_some() {
        return Ok(name.to_ascii_lowercase().into());
    }
    let guess = did_you_mean(name, MODELS.iter().map(|model| model.name)).map_or(String::new(), |guess| guess + " ");
    Err(ApiError::new(
        Code::Usage,
        format!("unknown model `{}`", short(name)),
        format!("{guess}For any other model, set its tokenizer and the size of its window instead."),
    ))
}

fn known_family(word: &str) -> Result<Family, ApiError> {
    Family::from_word(word).ok_or_else(|| {
        let words = Family::ALL.map(Family::word);
        ApiError::new(
            Code::Usage,
            format!("unknown tokenizer family `{}`", short(word)),
            did_you_mean(word, words).unwrap_or_else(|| format!("Families are: {}.", words.join(", "))),
        )
    })
}

/// The word of a program, as [`CountingSettings::program`] keeps it.
///
/// # Errors
/// When no such program is known.
pub(crate) fn known_program(word: &str) -> Result<Arc<str>, ApiError> {
    let lower = word.to_ascii_lowercase();
    profile::of_word(&lower).map(|profile| profile.word.into()).ok_or_else(|| {
        let words = PROFILES.iter().map(|profile| profile.word);
        let all = words.clone().collect::<Vec<_>>().join(", ");
        ApiError::new(
            Code::Usage,
            format!("unknown agent program `{}`", short(word)),
            did_you_mean(&lower, words).unwrap_or_else(|| format!("Programs are: {all}, and `other` for any other.")),
        )
    })
}

/// How an agent is counted, in one line for the audit log.
fn words(meter: &CountingSettings) -> String {
    let CountingSettings { model, family, window, program } = meter;
    let program = program.as_ref().map(|program| format!("program {program}"));
    let model = model.as_ref().map(|model| format!("model {model}"));
    let family = family.map(|family| format!("tokenizer {}", family.word()));
    let window = window.map(|tokens| format!("window of {tokens} {}", token_noun(tokens)));
    let said: Vec<String> = [program, model, family, window].into_iter().flatten().collect();
    if said.is_empty() { "as its client says".into() } else { said.join(", ") }
}
