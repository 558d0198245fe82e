//! A halt: work that people stopped in chosen places, until they let it begin again in stages.
//!
//! There is at most one at a time; a further order widens it. It says what is refused and what is frozen; the engine obeys
//! and the registry keeps it. No task is changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::{AgentId, ControlTokenId, HaltId, PersonId, ServerId};
use crate::time::Timestamp;

/// Where an order applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HaltSubject {
    Everything,
    Server(ServerId),
    Agent(AgentId),
    /// One tool of a server, by the server's name for it.
    Tool(ServerId, Arc<str>),
}

/// What an order does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HaltEffect {
    /// New calls are refused.
    Calls,
    /// Open tasks are asked to cancel, and results that still arrive are held.
    Running,
    /// No answer is taken or sent, and the time that questions have stands still.
    Requests,
}

impl HaltEffect {
    pub const ALL: [Self; 3] = [Self::Calls, Self::Running, Self::Requests];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Running => "running",
            Self::Requests => "requests",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.word() == word)
    }
}

/// How far the way back has come. Each stage needs the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecoveryStage {
    /// A person has seen which tasks ended and which did not.
    Acknowledged,
    /// Questions are answered again.
    Requests,
    /// Calls of tools pass that only read, by the server's word and a person's.
    ReadOnly,
    /// All calls pass: the halt is over.
    Calls,
}

impl RecoveryStage {
    pub const ALL: [Self; 4] = [Self::Acknowledged, Self::Requests, Self::ReadOnly, Self::Calls];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::Requests => "requests",
            Self::ReadOnly => "readOnly",
            Self::Calls => "calls",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }

    /// The stage that must be reached first.
    #[must_use]
    pub const fn before(self) -> Option<Self> {
        match self {
            Self::Acknowledged => None,
            Self::Requests => Some(Self::Acknowledged),
            Self::ReadOnly => Some(Self::Requests),
            Self::Calls => Some(Self::ReadOnly),
        }
    }

    /// What it lets begin again.
    const fn lifts(self) -> Option<HaltEffect> {
        match self {
            Self::Acknowledged => Some(HaltEffect::Running),
            Self::Requests => Some(HaltEffect::Requests),
            Self::ReadOnly => None,
            Self::Calls => Some(HaltEffect::Calls),
        }
    }
}

/// Who gave an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HaltedBy {
    Person(PersonId),
    /// A supervisor program, by its control token.
    Control(ControlTokenId),
}

impl HaltedBy {
    /// What the text form of a control token begins with; no name of a user.
    const CONTROL: &'static str = "control:";

    /// Reads the text form back.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let control = text.strip_prefix(Self::CONTROL).and_then(|id| id.parse().ok());
        control.map_or_else(|| Self::Person(PersonId::new(text)), Self::Control)
    }
}

impl fmt::Display for HaltedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => write!(f, "{id}"),
            Self::Control(id) => write!(f, "{}{id}", Self::CONTROL),
        }
    }
}

impl From<PersonId> for HaltedBy {
    fn from(id: PersonId) -> Self {
        Self::Person(id)
    }
}

/// One order to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaltOrder {
    pub subject: HaltSubject,
    pub effects: BTreeSet<HaltEffect>,
    pub at: Timestamp,
    /// `None` for the file `HALT`, which any program can make.
    pub by: Option<HaltedBy>,
    /// The reason, in the words of whoever gave it; empty for the file.
    pub reason: String,
    /// Effects that are over, and since when.
    pub lifted: BTreeMap<HaltEffect, Timestamp>,
}

/// A call, as far as an order looks at it.
#[derive(Debug, Clone, Copy)]
pub struct HaltedWork<'a> {
    pub server: ServerId,
    /// `None` for a person's.
    pub agent: Option<AgentId>,
    /// `None` where it is not known, as for tasks that were found.
    pub tool: Option<&'a str>,
}

impl HaltOrder {
    #[must_use]
    pub fn covers(&self, work: HaltedWork<'_>) -> bool {
        match &self.subject {
            HaltSubject::Everything => true,
            HaltSubject::Server(id) => work.server == *id,
            HaltSubject::Agent(id) => work.agent == Some(*id),
            HaltSubject::Tool(id, tool) => work.server == *id && work.tool == Some(&**tool),
        }
    }

    /// Whether this effect is in force.
    #[must_use]
    pub fn has(&self, effect: HaltEffect) -> bool {
        self.effects.contains(&effect) && !self.lifted.contains_key(&effect)
    }
}

/// A tool that a person lets pass because it only reads, as it was defined then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedTool {
    pub server: ServerId,
    pub tool: Arc<str>,
    /// The digest of the definition that a person marked as seen.
    pub digest: String,
}

/// One step of the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryStep {
    pub stage: RecoveryStage,
    pub at: Timestamp,
    pub by: PersonId,
}

/// What people stopped, and how far they let it begin again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    pub id: HaltId,
    /// At least one, the oldest first.
    pub orders: Vec<HaltOrder>,
    /// When the last call of the newest order could have left; `None` until that is known.
    pub closed_at: Option<Timestamp>,
    /// The stages reached since the newest order, in their order.
    pub steps: Vec<RecoveryStep>,
    /// What passes from [`RecoveryStage::ReadOnly`] on.
    pub confirmed: Vec<ConfirmedTool>,
}

/// Why a stage was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StageRefused {
    #[error("the stage `{}` comes first", .0.word())]
    TooEarly(RecoveryStage),
    #[error("the stage `{}` was reached before", .0.word())]
    Reached(RecoveryStage),
    #[error("the halts on record cannot be read; only the stage `calls` ends that")]
    Unreadable,
}

impl Halt {
    #[must_use]
    pub const fn begun(id: HaltId, orders: Vec<HaltOrder>) -> Self {
        Self { id, orders, closed_at: None, steps: Vec::new(), confirmed: Vec::new() }
    }

    /// The same halt with further orders. The way back begins again; what was lifted stays so for the orders before.
    #[must_use]
    pub fn widened(&self, orders: Vec<HaltOrder>) -> Self {
        let mut next = self.clone();
        next.orders.extend(orders);
        next.closed_at = None;
        next.steps.clear();
        next.confirmed.clear();
        next
    }

    /// When it began.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.orders.first().map_or(Timestamp::EPOCH, |order| order.at)
    }

    /// The stage that was reached last.
    #[must_use]
    pub fn stage(&self) -> Option<RecoveryStage> {
        self.steps.last().map(|step| step.stage)
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage() == Some(RecoveryStage::Calls)
    }

    /// The order by which a call is refused.
    #[must_use]
    pub fn refusing(&self, call: HaltedWork<'_>) -> Option<&HaltOrder> {
        let by = self.covering(HaltEffect::Calls, call)?;
        let passes = self.stage() >= Some(RecoveryStage::ReadOnly)
            && self.confirmed.iter().any(|known| known.server == call.server && Some(&*known.tool) == call.tool);
        (!passes).then_some(by)
    }

    /// The order by which this effect is in force for this work.
    #[must_use]
    pub fn covering(&self, effect: HaltEffect, work: HaltedWork<'_>) -> Option<&HaltOrder> {
        self.orders.iter().find(|order| order.has(effect) && order.covers(work))
    }

    /// How long the questions of this work stood still between these moments. Orders that overlap count once.
    #[must_use]
    pub fn frozen_between(&self, work: HaltedWork<'_>, from: Timestamp, to: Timestamp) -> Duration {
        let freezes = |order: &&HaltOrder| order.effects.contains(&HaltEffect::Requests) && order.covers(work);
        let mut spans: Vec<(Timestamp, Timestamp)> = self
            .orders
            .iter()
            .filter(freezes)
            .map(|order| (order.at.max(from), order.lifted.get(&HaltEffect::Requests).copied().unwrap_or(to).min(to)))
            .collect();
        spans.sort_unstable();
        let (mut sum, mut upto) = (Duration::ZERO, from);
        for (begin, end) in spans {
            sum += end.since(begin.max(upto));
            upto = upto.max(end);
        }
        sum
    }

    /// The halt with the next stage of the way back.
    ///
    /// # Errors
    /// When the stage before was not reached, or this one was.
    pub fn stepped(&self, stage: RecoveryStage, by: PersonId, at: Timestamp) -> Result<Self, StageRefused> {
        if self.stage() >= Some(stage) {
            return Err(StageRefused::Reached(stage));
        }
        if let Some(before) = stage.before().filter(|before| self.stage() != Some(*before)) {
            // The first of those that are missing.
            let missing = RecoveryStage::ALL.into_iter().find(|known| Some(*known) > self.stage());
            return Err(StageRefused::TooEarly(missing.unwrap_or(before)));
        }
        let mut next = self.clone();
        if let Some(lifted) = stage.lifts() {
            for order in next.orders.iter_mut().filter(|order| order.has(lifted)) {
                order.lifted.insert(lifted, at);
            }
        }
        next.steps.push(RecoveryStep { stage, at, by });
        Ok(next)
    }
}

#[cfg(test)]
mod tests;
