//! The engine's face towards the gateway: calls of agents, their handles, their lines, and what people decide about them.
//!
//! Nothing is decided here. Whoever asks was proven to be the agent before (`Roster::by_token`), and what an agent may
//! see or answer is checked where it is decided: the domain for answers, the gateway for handles. Read `engine.rs` for
//! the rest of the face.

use std::sync::Arc;
use std::time::Duration;

use domain::task::decider::Decider;
use domain::task::{ResultForm, TaskHandle};
use domain::ids::{AgentId, HandleId, PersonId, ServerId};
use domain::task::payload::{Payload, PayloadKind};
use domain::ports::Abilities;

use crate::agent_call::{self, AgentCall, HangUp, Landed};
use crate::engine::{Engine, EngineError};
use crate::lines::{self, LineUp};
use crate::presence::{AgentBridge, Presence};
use crate::roster::Roster;
use crate::watch::HandleWatch;
use crate::{decide, given, revoke};

impl Engine {
    /// Makes a call of an agent. Dropping the future is the agent hanging up before there is a row ([`HangUp`]).
    ///
    /// # Errors
    /// When the agent has no access, the server is unknown or unreachable, or nothing could be sent.
    pub async fn agent_call(&self, call: AgentCall) -> Result<Landed, EngineError> {
        agent_call::agent_call(&self.core, call).await
    }

    /// Watches a task, open or over; `None` when there is no such task. Whose it is, is the caller's to check.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn watch(&self, id: HandleId) -> Result<Option<HandleWatch>, EngineError> {
        given::watch(&self.core, id).await
    }

    /// Releases a handle to its agent; durable when this returns. Nothing is stored a second time.
    ///
    /// # Errors
    /// When there is no such task, or the registry cannot store it: then the handle must not leave.
    pub async fn give(&self, id: HandleId) -> Result<Arc<TaskHandle>, EngineError> {
        given::give(&self.core, id).await
    }

    /// The agent hung up after there was a row and before it had its reply.
    pub async fn hung_up(&self, id: HandleId, how: HangUp) {
        given::hung_up(&self.core, id, how).await;
    }

    /// The agent is back for the reply of its own call: no repeated call joins it any more. `None` when it has no such
    /// call.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn rejoin(&self, agent: AgentId, id: HandleId) -> Result<Option<Arc<TaskHandle>>, EngineError> {
        given::rejoin(&self.core, agent, id).await
    }

    /// The reply of a call with a row went out, be it a result, an error or a handle: a repeated call is a new one.
    pub fn delivered(&self, id: HandleId) {
        self.core.ledger.receipts.leave(id);
        self.core.repeats.reached(id);
    }

    /// Declares a task cancelled to its agent at once and asks its server to stop it (2025 `tasks/cancel`).
    ///
    /// # Errors
    /// A refusal when it is over.
    pub async fn agent_told_cancelled(&self, id: HandleId, by: AgentId) -> Result<(), EngineError> {
        decide::agent_told_cancelled(&self.core, id, &Decider::Agent(by)).await
    }

    /// Holds the result of a task back from its agent until a person decides.
    ///
    /// # Errors
    /// A refusal when it is over, held or decided already, or no agent waits for it.
    pub async fn hold(&self, id: HandleId, by: PersonId) -> Result<(), EngineError> {
        decide::hold(&self.core, id, &by).await
    }

    /// Lets a held result go to its agent in this form, or withholds it for good (`None`).
    ///
    /// # Errors
    /// A refusal when it is not held, or somebody decided before.
    pub async fn release(
        &self,
        id: HandleId,
        by: PersonId,
        form: Option<ResultForm>,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        decide::release(&self.core, id, &by, form, reason.as_deref()).await
    }

    /// Lets a task go on past its limit of tokens.
    ///
    /// # Errors
    /// A refusal when nobody was asked, or somebody decided before.
    pub async fn let_go_on(&self, id: HandleId, by: PersonId) -> Result<(), EngineError> {
        decide::let_go_on(&self.core, id, &by).await
    }

    /// A stored payload of a task.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn payload(&self, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, EngineError> {
        Ok(self.core.registry.payload(id, kind).await?)
    }

    /// Takes an agent's access away, and every open task from it with the cancel request; returns how many tasks were
    /// asked to stop. How each took it shows on the task.
    ///
    /// # Errors
    /// When there is no such agent, or its row cannot be stored: then it still has access.
    pub async fn revoke_agent(&self, id: AgentId, by: PersonId, reason: Option<String>) -> Result<u64, EngineError> {
        revoke::revoke_agent(&self.core, id, &by, reason.as_deref()).await
    }

    /// Why a person revoked this agent, in that person's words; `None` without a reason, or when it was in an earlier run
    /// of the core.
    #[must_use]
    pub fn revocation_reason(&self, id: AgentId) -> Option<Arc<str>> {
        self.core.revocations.lock().get(&id).cloned()
    }

    /// The agent said something; `client` is what its program says it is, when it says so.
    pub fn agent_seen(&self, id: AgentId, client: Option<&str>) {
        self.core.presences.seen(&self.core, id, client);
    }

    /// The agent's program gave up a call that was held for it for so long. `is_timeout`: it said that it ran out of time,
    /// and nothing that it heard meanwhile made it wait longer.
    pub fn call_abandoned(&self, id: AgentId, waited: Duration, is_timeout: bool) {
        self.core.presences.call_abandoned(&self.core, id, waited, is_timeout);
    }

    /// After this the agent's program gives a call up, as far as it showed.
    #[must_use]
    pub fn learned_timeout(&self, id: AgentId) -> Option<Duration> {
        self.core.presences.learned_timeout(&self.core, id)
    }

    /// The agent's last connection, stream or session ended. When nothing is heard of it for `gateway.orphan_after`, its
    /// open tasks are orphaned; the next word of it takes that back.
    pub fn agent_gone(&self, id: AgentId) {
        self.core.presences.away(&self.core, id);
    }

    /// The agent closed its last connection or session itself: it is not connected any more.
    pub fn agent_left(&self, id: AgentId) {
        self.core.presences.left(&self.core, id);
    }

    /// A bridge of the agent is open until the value is dropped.
    #[must_use]
    pub fn agent_bridge(&self, id: AgentId) -> AgentBridge {
        AgentBridge::open(&self.core, id)
    }

    /// Says how to find out whether a stream of an agent is open. Whoever serves agents calls it once.
    pub fn set_agent_streams(&self, has_stream: impl Fn(AgentId) -> bool + Send + Sync + 'static) {
        self.core.presences.set_has_stream(Arc::new(has_stream));
    }

    /// What is known of an agent at this moment; `None` when it was not heard of in this run of the core.
    #[must_use]
    pub fn presence(&self, id: AgentId) -> Option<Presence> {
        self.core.presences.get(&self.core, id)
    }

    /// Open tasks of an agent, as last committed.
    #[must_use]
    pub fn open_tasks(&self, id: AgentId) -> Vec<Arc<TaskHandle>> {
        self.core.ledger.of_agent(id)
    }

    /// Agents and rules of this moment.
    #[must_use]
    pub fn agents(&self) -> Arc<Roster> {
        self.core.roster()
    }

    /// Told whenever [`Engine::agents`] was read anew: a level, look after each.
    #[must_use]
    pub fn agents_watch(&self) -> tokio::sync::watch::Receiver<()> {
        self.core.roster_read.subscribe()
    }

    /// Agents or rules were changed in the registry: reads them anew.
    ///
    /// # Errors
    /// When the registry cannot be read; then the earlier ones hold.
    pub async fn agents_changed(&self) -> Result<(), EngineError> {
        revoke::read_roster(&self.core).await
    }

    /// The connection for forwarding a request of this agent; waits for it a short while. Opens the agent's own line to a
    /// legacy server, and keeps it while [`LineUp::hold`] is held.
    ///
    /// # Errors
    /// When the server is unknown or cannot be reached in that time, or agents' own lines are too many.
    pub async fn line(&self, server: ServerId, agent: AgentId, abilities: Abilities) -> Result<LineUp, EngineError> {
        lines::line(&self.core, server, agent, abilities).await
    }

    /// The followed servers, by name.
    #[must_use]
    pub fn servers(&self) -> Vec<(ServerId, Arc<str>)> {
        let shared = self.core.posts.all().into_iter().filter(|post| post.line.seat.is_none());
        let mut servers: Vec<_> = shared.map(|post| (post.server, post.name())).collect();
        servers.sort_by(|(_, one), (_, other)| one.cmp(other));
        servers
    }
}
