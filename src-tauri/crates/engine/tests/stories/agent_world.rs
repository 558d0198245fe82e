//! What stories about agents share: an agent, a call of it, and the gateway's part of it.

use std::sync::Arc;

use domain::agent::{Agent, TokenDigest};
use domain::budget::window::CountingSettings;
use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{Abilities, AgentUnit, ArgumentsDigest, CallReply, RuleUnit};
use domain::rule::{Rule, RuleScope};
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use engine::{AgentCall, CallOutcome, EngineError, HangUp};
use testkit::scripted::payload;

use crate::world::World;

/// A plain result.
pub(crate) fn plain(text: &str) -> CallReply {
    CallReply::Result { payload: payload(text), is_error: false }
}

/// A rule that says nothing yet.
pub(crate) fn rule(scope: RuleScope) -> Rule {
    Rule::new(scope)
}

/// A call of an agent without arguments, that goes on when the agent hangs up.
pub(crate) fn call(agent: AgentId, server: ServerId, tool: &str) -> AgentCall {
    AgentCall {
        agent,
        place: None,
        server,
        tool: Arc::from(tool),
        arguments: Payload::new("{}"),
        digest: ArgumentsDigest::of(Payload::new("{}")),
        agent_params: None,
        continuation: None,
        trace: None,
        abilities: Abilities { elicitation: true, ..Abilities::default() },
        listener: None,
        relay_rounds: true,
        limit: None,
        agent_ttl: None,
        own_task: false,
        hang_up: HangUp::Keep,
    }
}

/// Gives the call other arguments.
pub(crate) fn set_arguments(call: &mut AgentCall, arguments: impl Into<String>) {
    call.arguments = Payload::new(arguments.into());
    call.digest = ArgumentsDigest::of(call.arguments.clone());
}

impl World {
    /// An agent with access.
    pub(crate) async fn agent(&self, number: u128) -> AgentId {
        let id = AgentId::from_random(number);
        let name = format!("agent-{number}");
        let token = TokenDigest::of(&name);
        let created = self.now();
        let agent = Agent {
            id,
            name,
            created,
            revoked: None,
            token,
            token_made: created,
            seen: None,
            client: None,
            learned_timeout: None,
            task_tools: true,
            calls: 0,
            meter: CountingSettings::default(),
        };
        self.registry
            .put_agent(AgentUnit { agent, audit: Vec::new(), ended_pause: None })
            .await
            .expect("an agent can be added");
        self.engine.agents_changed().await.expect("the roster can be read");
        self.engine.agent_seen(id, Some("testbed 1"));
        id
    }

    /// The agent is counted like this from now on.
    pub(crate) async fn meter(&self, id: AgentId, meter: CountingSettings) {
        let agent = self.engine.agents().get(id).expect("there is such an agent");
        let agent = Agent { meter, ..Agent::clone(&agent) };
        self.registry
            .put_agent(AgentUnit { agent, audit: Vec::new(), ended_pause: None })
            .await
            .expect("an agent can be changed");
        self.engine.agents_changed().await.expect("the roster can be read");
    }

    /// A rule that holds from now on.
    pub(crate) async fn rule(&self, rule: Rule) {
        let unit = RuleUnit { rule, remove: false, audit: Vec::new() };
        self.registry.put_rule(unit).await.expect("a rule can be put");
        self.engine.agents_changed().await.expect("the roster can be read");
    }

    /// A call that ends with a row.
    pub(crate) async fn handle_of(&self, call: AgentCall) -> HandleId {
        match self.engine.agent_call(call).await.expect("the call is made") {
            CallOutcome::Handle(id) => id,
            other => panic!("it has a row: {other:?}"),
        }
    }

    /// How often anything was committed.
    pub(crate) async fn commits(&self) -> u64 {
        self.registry.newest_seq().await.expect("the registry can be read").0
    }

    /// A call in a task of its own, as the gateway makes it; ending the task is hanging up.
    #[expect(clippy::disallowed_methods, reason = "the test hangs up by ending the task")]
    pub(crate) fn begin(&self, call: AgentCall) -> tokio::task::JoinHandle<Result<CallOutcome, EngineError>> {
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.agent_call(call).await })
    }

    /// Begins a call and hangs up before anything is heard of it.
    pub(crate) async fn hang_up_on(&self, call: AgentCall) {
        let begun = self.begin(call);
        tokio::task::yield_now().await;
        self.pass(std::time::Duration::from_millis(10)).await;
        begun.abort();
        let _ = begun.await;
    }

    /// The only task there is, once it is as wanted.
    pub(crate) async fn only(&self, what: &str, holds: impl Fn(&TaskHandle) -> bool) -> TaskHandle {
        let begun = tokio::time::Instant::now();
        loop {
            let all = self.all().await;
            if let [only] = all.as_slice()
                && holds(only)
            {
                return only.clone();
            }
            assert!(begun.elapsed() < std::time::Duration::from_secs(600), "never {what}; there is {all:#?}");
            self.pass(std::time::Duration::from_millis(5)).await;
        }
    }
}
