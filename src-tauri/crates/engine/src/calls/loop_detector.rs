//! Tells people when an agent calls the same thing again and again, too often, or with too many calls at once.
//!
//! Looks beside the way of calls, once a second while agents make some: an episode becomes an alarm, which is a row. What
//! a rule wants done besides follows from the row: further calls wait (`access/pause_gate.rs`), or open tasks are cancelled
//! (`alarm_cancels.rs`). Calls are noted by `connections/call_log.rs`; what an episode is, `domain::agent::call_episodes`
//! decides.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::agent::alarm::{AlarmDecision, AlarmKind, AlarmRefused, AlarmState, CallAlarm, CalledTool};
use domain::agent::call_episodes::{AgentEpisodes, Episode};
use domain::agent::call_pattern::CallLimits;
use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, AlarmId, PersonId};
use domain::policy::{TOOL_NAME_CHARS, plain_text};
use domain::ports::{AlarmUnit, RegistryError};
use domain::rule::{ResolvedRule, RunAction, SetAlarmAction};
use domain::time::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::snapshot::AccessSnapshot;
use crate::calls::alarm_cancels;
use crate::connections::call_log::{AgentCalls, CallLog};
use crate::core::EngineCore;
use crate::decisions::pause::release;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::runtime::gauges::Gauge;
use crate::runtime::time::sleep_until;

/// Episodes of all agents.
pub(crate) struct LoopDetector {
    pub(crate) log: CallLog,
    /// Held while an alarm is stored, so that what is here is what is stored.
    episodes: tokio::sync::Mutex<HashMap<AgentId, AgentEpisodes>>,
    /// Notified after an alarm was stored.
    changed: watch::Sender<()>,
}

impl Default for LoopDetector {
    fn default() -> Self {
        Self { log: CallLog::default(), episodes: tokio::sync::Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Engine {
    /// Notified after an alarm was raised, went on, ended or was dismissed: a level, so read after each.
    #[must_use]
    pub fn alarms_watch(&self) -> watch::Receiver<()> {
        self.core.calls.loops.changed.subscribe()
    }

    /// Dismisses an alarm. One that was dismissed before stays as it is.
    ///
    /// # Errors
    /// When there is none of this id, calls wait because of it, or it cannot be recorded.
    pub async fn dismiss_alarm(&self, id: AlarmId, by: PersonId) -> Result<CallAlarm, EngineError> {
        let core = &self.core;
        let mut episodes = core.calls.loops.episodes.lock().await;
        let known = core.registry.alarm(id).await?.ok_or(EngineError::UnknownAlarm)?;
        if known.asks() {
            return Err(AlarmRefused::MustDecide.into());
        }
        let Some(dismissed) = known.dismissed(by.clone(), core.time.now()) else { return Ok(known) };
        store(core, &dismissed, Some((Verb::AlarmDismissed, Actor::Person(by)))).await?;
        if let Some(of_agent) = episodes.get_mut(&dismissed.agent) {
            of_agent.settle(&dismissed);
        }
        Ok(dismissed)
    }

    /// Decides about the calls that wait because of an alarm, which is dismissed by that. When this returns, the decision
    /// is durable; the calls leave or are cancelled in their order.
    ///
    /// # Errors
    /// When there is none of this id, no calls wait because of it, or it cannot be recorded: then nothing was decided.
    pub async fn decide_alarm(
        &self,
        id: AlarmId,
        decision: AlarmDecision,
        by: PersonId,
    ) -> Result<CallAlarm, EngineError> {
        let core = &self.core;
        let mut episodes = core.calls.loops.episodes.lock().await;
        let known = core.registry.alarm(id).await?.ok_or(EngineError::UnknownAlarm)?;
        let decided = known.decided(decision, by.clone(), core.time.now()).ok_or(AlarmRefused::NothingWaits)?;
        store(core, &decided, Some((Verb::AlarmDismissed, Actor::Person(by)))).await?;
        if let Some(of_agent) = episodes.get_mut(&decided.agent) {
            match decision {
                AlarmDecision::Send => of_agent.settle(&decided),
                AlarmDecision::Cancel => {
                    of_agent.begin_anew(&decided, &mut core.calls.loops.log.of(decided.agent).history.lock());
                }
            }
        }
        drop(episodes);
        release::begin(core);
        Ok(decided)
    }
}

/// Registers the agent with most open alarms with [`crate::runtime::gauges::Gauges`].
pub(crate) fn gauge(core: &Weak<EngineCore>, rows: &mut Vec<Gauge>) {
    let Some(core) = core.upgrade() else { return };
    // While an alarm is stored the row is left out.
    let Ok(episodes) = core.calls.loops.episodes.try_lock() else { return };
    let fullest = episodes.iter().map(|(agent, of_agent)| (of_agent.0.len(), *agent)).max();
    if let Some((open, agent)) = fullest {
        let name = core.access.snapshot().get(agent).map_or_else(|| agent.to_string(), |known| known.name.clone());
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let most = wide(core.policy.control.alarms.episodes_per_agent);
        rows.push(Gauge::count("open alarms", format!("agent {name}"), wide(open), most));
    }
}

/// Takes up the episodes of an earlier run whose alarms are open.
pub(crate) async fn restore(core: &Arc<EngineCore>) -> Result<(), RegistryError> {
    let detector = &core.calls.loops;
    let mut episodes = detector.episodes.lock().await;
    for alarm in core.registry.alarms(u32::MAX).await? {
        if alarm.state == AlarmState::Open {
            alarm_cancels::begin(core, &alarm);
            let agent = alarm.agent;
            episodes.entry(agent).or_default().0.push(Episode::resumed(alarm, detector.log.now()));
        }
    }
    Ok(())
}

/// Looks at calls, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    let policy = &core.policy.control.alarms;
    let mut next = look(&core).await;
    loop {
        tokio::select! {
            () = core.calls.loops.log.noted() => {}
            () = sleep_until(next) => {}
        }
        // What comes within a second is looked at once, with the replies that are quick.
        core.time.next_interval(policy.look_every).await;
        next = look(&core).await;
    }
}

/// Looks once; returns when to look again if no call comes.
async fn look(core: &Arc<EngineCore>) -> Option<Instant> {
    let detector = &core.calls.loops;
    let snapshot = core.access.snapshot();
    let mut episodes = detector.episodes.lock().await;
    let calls = detector.log.look();
    for (agent, calls, is_new) in &calls {
        if *is_new || episodes.contains_key(agent) {
            let limits = AgentLimits { snapshot: &snapshot, agent: *agent };
            look_at(core, &limits, calls, episodes.entry(*agent).or_default()).await;
        }
    }
    // Agents that made no call in this run.
    for (agent, of_agent) in episodes.iter_mut() {
        if !calls.iter().any(|(known, ..)| known == agent) {
            let now = detector.log.now();
            let over = of_agent.take_over(&mut Default::default(), now, &core.policy.control.alarms);
            end(core, of_agent, over).await;
        }
    }
    episodes.retain(|_, of_agent| !of_agent.0.is_empty());
    let policy = &core.policy.control.alarms;
    let left = |episode: &Episode| match &episode.alarm {
        // It goes on until a person decides.
        Some(alarm) if alarm.asks() => policy.quiet,
        Some(_) => policy.quiet.saturating_sub(detector.log.now().saturating_sub(episode.last)),
        // It could not be stored.
        None => policy.look_every,
    };
    episodes.values().flat_map(|of_agent| &of_agent.0).map(left).min().map(|left| Instant::now() + left)
}

/// The rules of one agent.
struct AgentLimits<'a> {
    snapshot: &'a AccessSnapshot,
    agent: AgentId,
}

impl CallLimits for AgentLimits<'_> {
    fn resolve(&self, called: &CalledTool) -> ResolvedRule {
        self.snapshot.resolve(self.agent, called.server, &called.tool)
    }
}

impl AgentLimits<'_> {
    /// What a rule wants done about an episode; of two calls in turn, the rule of the first counts.
    fn action(&self, episode: &Episode) -> Option<SetAlarmAction> {
        let rule = self.resolve(&episode.called);
        match episode.kind {
            AlarmKind::SameCall | AlarmKind::Alternating | AlarmKind::SameError => rule.alarm_action,
            AlarmKind::CallRate | AlarmKind::OpenCalls => rule.agent_alarm_action,
        }
    }
}

async fn look_at(core: &Arc<EngineCore>, limits: &AgentLimits<'_>, calls: &AgentCalls, of_agent: &mut AgentEpisodes) {
    let policy = &core.policy.control.alarms;
    let now = core.calls.loops.log.now();
    of_agent.look(&mut calls.history.lock(), calls.take_most_open(), now, limits, policy);
    for episode in &mut of_agent.0 {
        go_on(core, limits, episode).await;
        if let Some(alarm) = &episode.alarm {
            alarm_cancels::begin(core, alarm);
        }
    }
    let over = of_agent.take_over(&mut calls.history.lock(), now, policy);
    end(core, of_agent, over).await;
}

/// Raises the alarm of an episode that has none, and counts on where that is worth a commit.
async fn go_on(core: &EngineCore, limits: &AgentLimits<'_>, episode: &mut Episode) {
    let last = moment(core, episode.last);
    let (next, fact) = match &episode.alarm {
        Some(alarm) => (alarm.grown(episode.count, last), None),
        None => (Some(raised(core, limits, episode)), Some((Verb::AlarmRaised, SELF))),
    };
    let Some(next) = next else { return };
    match store(core, &next, fact).await {
        Ok(()) => episode.alarm = Some(next),
        // It is tried again at the next look.
        Err(error) => tracing::warn!(agent.id = %limits.agent, %error, "an alarm could not be stored"),
    }
}

/// Stores that episodes are over; those whose end cannot be stored stay for the next look.
async fn end(core: &EngineCore, of_agent: &mut AgentEpisodes, over: Vec<Episode>) {
    for episode in over {
        let Some(alarm) = &episode.alarm else {
            of_agent.0.push(episode);
            continue;
        };
        let last = episode.last_seen().map_or(alarm.last, |at| moment(core, at));
        let Some(ended) = alarm.ended(episode.count, last, core.time.now()) else { continue };
        if let Err(error) = store(core, &ended, Some((Verb::AlarmEnded, SELF))).await {
            tracing::warn!(agent.id = %ended.agent, %error, "the end of an alarm could not be stored");
            of_agent.0.push(episode);
        }
    }
}

const SELF: Actor = Actor::System("loop_detector");

fn raised(core: &EngineCore, limits: &AgentLimits<'_>, episode: &Episode) -> CallAlarm {
    let last = moment(core, episode.last);
    let said = limits.action(episode);
    CallAlarm {
        id: AlarmId::from_random(core.time.random.bits()),
        agent: limits.agent,
        kind: episode.kind,
        called: episode.called.clone(),
        other: episode.other.clone(),
        since: moment(core, episode.first),
        raised: core.time.now(),
        last,
        count: episode.count,
        limit: episode.limit,
        action: said.map_or(RunAction::Warn, |said| said.action),
        rule: said.map(|said| said.rule),
        decision: None,
        state: AlarmState::Open,
    }
}

/// The wall-clock moment of a call.
fn moment(core: &EngineCore, at: Duration) -> Timestamp {
    let ago = core.calls.loops.log.now().saturating_sub(at);
    core.time.now().shifted(i64::try_from(ago.as_millis()).map_or(i64::MIN, |millis| -millis))
}

async fn store(core: &EngineCore, alarm: &CallAlarm, fact: Option<(Verb, Actor)>) -> Result<(), RegistryError> {
    let audit = fact.map(|(verb, actor)| {
        let CallAlarm { kind, count, called, .. } = alarm;
        let tool = plain_text(&called.tool, TOOL_NAME_CHARS);
        let done = what_is_done(alarm, verb);
        let calls = if *count == 1 { "call" } else { "calls" };
        let note = format!("{}: {count} {calls}, {tool} of {}{done}", kind.word(), core.server_name(called.server));
        if verb == Verb::AlarmRaised {
            tracing::warn!(alarm.id = %alarm.id, agent.id = %alarm.agent, calls = count, kind = kind.word(), "an alarm is raised");
        }
        AuditEvent { at: core.time.now(), actor, verb, subject: Subject::Agent(alarm.agent), note }
    });
    let kept = core.policy.control.alarms.kept_per_agent;
    let unit = AlarmUnit { alarm: alarm.clone(), kept, audit: audit.into_iter().collect() };
    let seq = core.registry.put_alarm(unit).await?;
    core.pauses.set_alarm(alarm, usize::try_from(core.policy.control.pauses.kept).unwrap_or(usize::MAX));
    core.effects.commits.committed(seq);
    core.calls.loops.changed.send_replace(());
    Ok(())
}

/// What follows from an alarm or from the decision about it, and the rule that says so, for the audit log.
fn what_is_done(alarm: &CallAlarm, verb: Verb) -> String {
    let rule = alarm.rule.map(|rule| format!(" by {}", rule.words())).unwrap_or_default();
    match (verb, alarm.action, alarm.decision) {
        (Verb::AlarmRaised, RunAction::Ask, _) => format!("; further calls wait,{rule}"),
        (Verb::AlarmRaised, RunAction::Cancel, _) => format!("; open tasks are cancelled,{rule}"),
        (_, _, Some(AlarmDecision::Send)) => "; calls that waited are sent".to_owned(),
        (_, _, Some(AlarmDecision::Cancel)) => "; calls that waited are cancelled".to_owned(),
        (_, _, None) => String::new(),
    }
}
