//! Who is asked what (rule 13), and who may answer.
//!
//! People and agents can answer forms and visits, agents alone everything else. Whom a question is for follows from the
//! audience, the time, and whether the agent is still there. Recording answers is in `answer.rs`.

use crate::task::decider::Decider;
use crate::task::input_request::{Ask, InputRequest};
use crate::task::{Audience, Refusal, TaskHandle};
use crate::time::Timestamp;

impl Audience {
    /// Whether the agent is ever asked.
    #[must_use]
    pub const fn includes_agent(self) -> bool {
        match self {
            Self::People => false,
            Self::Agent | Self::AgentThenPeople { .. } | Self::Both => true,
        }
    }

    /// Whether people are asked at this moment, while the agent is there.
    #[must_use]
    pub fn includes_people(self, now: Timestamp) -> bool {
        match self {
            Self::People | Self::Both => true,
            Self::Agent => false,
            Self::AgentThenPeople { people_at } => people_at <= now,
        }
    }
}

impl TaskHandle {
    /// Whether this question is before people at this moment: open, of a kind that people answer, and theirs to answer.
    #[must_use]
    pub fn asks_people(&self, request: &InputRequest, now: Timestamp) -> bool {
        request.state.is_open() && self.is_for_people(request, now)
    }

    /// Whether this question is theirs to answer, answered or not.
    fn is_for_people(&self, request: &InputRequest, now: Timestamp) -> bool {
        request.ask.is_for_people() && (self.audience.includes_people(now) || self.orphaned.is_some())
    }

    /// Whether a question is before people at this moment.
    #[must_use]
    pub fn has_request_for_people(&self, now: Timestamp) -> bool {
        self.requests.values().any(|request| self.asks_people(request, now))
    }

    /// Whether the agent is asked at this moment. What people cannot answer stays with the agent after its time.
    #[must_use]
    pub fn asks_agent(&self, now: Timestamp) -> bool {
        let any_open = self.has_open_request();
        let alone = |request: &InputRequest| request.state.is_open() && request.ask.is_for_agents_alone();
        match self.audience {
            // Its model and its roots are its own matter, whoever answers forms.
            Audience::People => self.agent.is_some() && self.requests.values().any(alone),
            Audience::Agent | Audience::Both => any_open,
            Audience::AgentThenPeople { people_at } => {
                let only_agents = |request: &InputRequest| request.state.is_open() && !request.ask.is_for_people();
                any_open && (now < people_at || self.requests.values().any(only_agents))
            }
        }
    }

    /// Whether this is ever asked of the agent.
    pub(crate) fn may_ask_agent(&self, ask: &Ask) -> bool {
        self.agent.is_some() && (self.audience.includes_agent() || ask.is_for_agents_alone())
    }

    /// When people begin to be asked by time alone, if they will be.
    pub(crate) fn people_tick(&self) -> Option<Timestamp> {
        let Audience::AgentThenPeople { people_at } = self.audience else { return None };
        let later = people_at > self.changed && !self.is_over() && self.orphaned.is_none();
        let asked = |request: &InputRequest| request.state.is_open() && request.ask.is_for_people();
        (later && self.requests.values().any(asked)).then_some(people_at)
    }

    /// Whether this one may answer this question.
    pub(crate) fn check_decider(&self, by: &Decider, request: &InputRequest) -> Result<(), Refusal> {
        match by {
            // A rule gives the answer of a person, given before.
            Decider::Person(_) | Decider::Rule(_) => {
                let theirs = match self.audience {
                    Audience::People | Audience::Both | Audience::AgentThenPeople { .. } => true,
                    Audience::Agent => self.orphaned.is_some(),
                };
                let kind = || Refusal::NotForPeople(request.ask.kind().to_owned());
                if theirs && request.ask.is_for_people() { Ok(()) } else { Err(kind()) }
            }
            Decider::Agent(id) => {
                let theirs = self.agent == Some(*id) && self.may_ask_agent(&request.ask);
                if theirs { Ok(()) } else { Err(Refusal::NotForAgent(request.key.clone())) }
            }
            // A limit and a control token cancel; they answer nothing.
            Decider::Limit(_) | Decider::Control(_) => Err(Refusal::NotForAgent(request.key.clone())),
        }
    }
}
