//! Agents while the disk is full: nothing new leaves, and what is in flight is seen, joined, cancelled and answered.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, PersonId, ServerId};
use domain::policy::{Policy, RetentionPolicy};
use domain::ports::{Recording, RecordingFault};
use domain::task::status::Phase;
use engine::{CallOutcome, EngineError, Quota, QuotaOwner, QuotaUnit};
use testkit::build::http_server;
use testkit::kill::KillPointRegistry;
use testkit::scripted::{EngineAction, PollReply, ScriptedServer, payload};

use crate::agent_world::{call, plain};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

struct Stage {
    world: World,
    server: ScriptedServer,
    id: ServerId,
    agent: AgentId,
    disk: Arc<KillPointRegistry>,
}

impl Stage {
    async fn new() -> Self {
        Self::with(Policy::default()).await
    }

    async fn with(policy: Policy) -> Self {
        let (world, server, id, disk) = World::on_a_small_disk(policy).await;
        let agent = world.agent(1).await;
        Self { world, server, id, agent, disk }
    }

    fn sent(&self) -> usize {
        self.server.times(|act| matches!(act, EngineAction::Call { .. })).len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_agent_that_cannot_be_recorded_is_refused_before_it_leaves() {
    let stage = Stage::new().await;
    stage.disk.fill_disk(true);
    for _ in 0..3 {
        let refused = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
        assert_eq!(refused, Err(EngineError::CannotRecord(RecordingFault::DiskFull)), "it is told why");
    }
    assert_eq!(stage.sent(), 0, "nothing left the machine");
    let state = stage.world.engine.recording();
    assert_eq!(state.recording, Recording::Impossible(RecordingFault::DiskFull), "people are told too");
    stage.disk.fill_disk(false);
    stage.world.pass(2 * SECOND).await;
    stage.server.reply("add", Duration::ZERO, Ok(plain("3")));
    let landed = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
    assert_eq!(landed, Ok(CallOutcome::Result { payload: payload("3"), is_error: false }), "with room it goes on");
}

#[tokio::test(start_paused = true)]
async fn while_little_room_is_left_agents_are_refused_and_work_in_progress_is_recorded() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 20 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.world.engine.note_disk_room(true);
    let refused = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
    assert_eq!(refused, Err(EngineError::CannotRecord(RecordingFault::DiskFull)), "it is told why");
    assert_eq!(stage.sent(), 1, "only the call from before left");
    let state = stage.world.engine.recording();
    assert!(state.is_early && state.unrecorded.is_empty(), "there is still room for what is in progress: {state:?}");
    stage.world.pass(5 * SECOND).await;
    assert_eq!(stage.world.all().await.len(), 1, "the call in flight has its row");
    stage.world.engine.note_disk_room(false);
    stage.server.reply("add", Duration::ZERO, Ok(plain("3")));
    let landed = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
    assert_eq!(landed, Ok(CallOutcome::Result { payload: payload("3"), is_error: false }), "with room it goes on");
    drop(asked);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_here_goes_back_without_a_row() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 20 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(5 * SECOND).await;
    let listed = stage.world.engine.recording().unrecorded;
    assert_eq!(listed.len(), 1, "people see the call that has no row");
    assert_eq!((listed[0].agent, &*listed[0].tool), (stage.agent, "slow"));
    let landed = asked.await.expect("it was not cut off");
    assert_eq!(landed, Ok(CallOutcome::Result { payload: payload("42"), is_error: false }), "its agent has the reply");
    assert!(stage.world.engine.recording().unrecorded.is_empty(), "and the call is over");
    stage.disk.fill_disk(false);
    stage.world.pass(600 * SECOND).await;
    assert!(stage.world.all().await.is_empty(), "no row comes afterwards");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_joins_the_one_that_could_not_be_recorded() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 60 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(5 * SECOND).await;
    asked.abort();
    let _ = asked.await;
    stage.world.pass(5 * SECOND).await;
    let again = stage.world.engine.agent_call(call(stage.agent, stage.id, "slow")).await;
    assert_eq!(
        again,
        Ok(CallOutcome::Result { payload: payload("42"), is_error: false }),
        "it gets the first one's reply"
    );
    assert_eq!(stage.sent(), 1, "the tool ran once");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_nobody_waits_for_is_kept_for_whoever_asks_again() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 10 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(5 * SECOND).await;
    asked.abort();
    let _ = asked.await;
    stage.world.pass(60 * SECOND).await;
    let again = stage.world.engine.agent_call(call(stage.agent, stage.id, "slow")).await;
    assert_eq!(again, Ok(CallOutcome::Result { payload: payload("42"), is_error: false }), "the reply was kept");
    assert_eq!(stage.sent(), 1, "the tool ran once");
}

#[tokio::test(start_paused = true)]
async fn a_person_cancels_a_call_that_has_no_row() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 3_000 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(5 * SECOND).await;
    let id = stage.world.engine.recording().unrecorded[0].id;
    stage.world.engine.cancel(id, PersonId::new("ada"), None).await.expect("it is cancelled from memory");
    assert_eq!(asked.await.expect("it was not cut off"), Err(EngineError::Cancelled), "its agent is told");
    assert_eq!(
        stage.server.times(|act| matches!(act, EngineAction::CancelCall { .. })).len(),
        1,
        "and so is the server"
    );
    stage.disk.fill_disk(false);
    stage.world.pass(60 * SECOND).await;
    stage.world.until_phase(id, Phase::Unconfirmed).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_became_a_task_is_recorded_when_there_is_room() {
    let stage = Stage::new().await;
    stage.server.reply("work", 5 * SECOND, Ok(stage.server.created("t1")));
    stage.server.plan("t1", vec![PollReply::done()]);
    let asked = stage.world.begin(call(stage.agent, stage.id, "work"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(60 * SECOND).await;
    assert!(!asked.is_finished(), "a handle is given only with its row");
    stage.disk.fill_disk(false);
    let landed = asked.await.expect("it was not cut off").expect("it goes on");
    let CallOutcome::Handle(id) = landed else { panic!("it has a row now: {landed:?}") };
    stage.world.until_phase(id, Phase::Done).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_stored_results_fill_its_share_is_refused_until_there_is_room() {
    let retention = RetentionPolicy { agent_payload_bytes: 10_000, ..RetentionPolicy::default() };
    let stage = Stage::with(Policy { retention, ..Policy::default() }).await;
    stage.server.reply("slow", 5 * SECOND, Ok(plain(&format!("\"{}\"", "x".repeat(20_000)))));
    let id = stage.world.handle_of(call(stage.agent, stage.id, "slow")).await;
    stage.world.until_phase(id, Phase::Done).await;
    stage.world.pass(10 * SECOND).await;
    let refused = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
    let quota = Quota { owner: QuotaOwner::Agent, unit: QuotaUnit::Bytes, most: 10_000 };
    assert_eq!(refused, Err(EngineError::OverQuota(quota)), "its reply is not delivered yet");
    stage.world.engine.delivered(id);
    stage.world.pass(120 * SECOND).await;
    assert_eq!(stage.world.result(id).await, None, "once it is delivered, it goes");
    stage.server.reply("add", Duration::ZERO, Ok(plain("3")));
    let landed = stage.world.engine.agent_call(call(stage.agent, stage.id, "add")).await;
    assert!(landed.is_ok(), "and the agent is served again: {landed:?}");
}

/// A world in which the result of a task of an agent is stored and delivered.
async fn stored() -> (Stage, HandleId) {
    let stage = Stage::new().await;
    stage.server.reply("slow", 5 * SECOND, Ok(plain(&format!("\"{}\"", "x".repeat(20_000)))));
    let id = stage.world.handle_of(call(stage.agent, stage.id, "slow")).await;
    stage.world.until_phase(id, Phase::Done).await;
    stage.world.engine.delivered(id);
    stage.world.pass(10 * SECOND).await;
    (stage, id)
}

impl Stage {
    /// A person sets how much of one agent is stored.
    async fn limit_agents_to(&self, bytes: u64) {
        let limits = self.world.engine.storage_limits().limits().clone();
        let limits = RetentionPolicy { agent_payload_bytes: bytes, ..limits };
        let set = self.world.engine.set_storage_limits(limits, &PersonId::new("ada")).await;
        set.expect("it is recorded");
    }

    async fn is_stored(&self, id: HandleId) -> bool {
        self.world.result(id).await.is_some()
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_lowered_limit_removes_stays_until_the_stated_time_even_over_a_restart() {
    let (mut stage, id) = stored().await;
    let wait = stage.world.policy.retention.lowered_wait;
    stage.limit_agents_to(10_000).await;
    let until = stage.world.engine.storage_limits().waits_until().expect("it is said until when");
    assert_eq!(until, stage.world.now().plus(wait));
    stage.world.pass(wait / 2).await;
    assert!(stage.is_stored(id).await, "nothing went in half of the time");
    stage.world.restart().await;
    stage.world.pass(wait / 2 - 20 * SECOND).await;
    assert!(stage.is_stored(id).await, "nor after a restart");
    assert_eq!(stage.world.engine.storage_limits().waits_until(), Some(until), "which changes no stated time");
    stage.world.pass(60 * SECOND).await;
    assert!(!stage.is_stored(id).await, "then it goes");
}

#[tokio::test(start_paused = true)]
async fn a_lowered_limit_that_is_undone_in_time_loses_nothing() {
    let (stage, id) = stored().await;
    let (wait, before) = (stage.world.policy.retention.lowered_wait, 1_073_741_824);
    stage.limit_agents_to(10_000).await;
    stage.world.pass(wait - SECOND).await;
    stage.limit_agents_to(before).await;
    assert_eq!(stage.world.engine.storage_limits().waits_until(), None, "nothing waits any more");
    stage.world.pass(Duration::from_secs(7_200)).await;
    assert!(stage.is_stored(id).await, "two clean-ups later it is there");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_cleans_up_waits_for_no_stated_time() {
    let (stage, id) = stored().await;
    stage.limit_agents_to(10_000).await;
    let removed = stage.world.engine.clean_storage(false).await.expect("clean-up runs");
    assert_eq!(removed.payload_tasks, 1, "it was asked for");
    assert!(!stage.is_stored(id).await);
}

#[tokio::test(start_paused = true)]
async fn while_a_lowered_limit_waits_growth_beyond_the_former_one_goes_as_before() {
    let retention = RetentionPolicy { agent_payload_bytes: 30_000, ..RetentionPolicy::default() };
    let stage = Stage::with(Policy { retention, ..Policy::default() }).await;
    stage.limit_agents_to(10_000).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        stage.server.reply("slow", 5 * SECOND, Ok(plain(&format!("\"{}\"", "x".repeat(20_000)))));
        let id = stage.world.handle_of(call(stage.agent, stage.id, "slow")).await;
        stage.world.until_phase(id, Phase::Done).await;
        stage.world.engine.delivered(id);
        ids.push(id);
    }
    stage.world.pass(120 * SECOND).await;
    let mut left = Vec::new();
    for id in ids {
        left.push(stage.is_stored(id).await);
    }
    assert_eq!(left, [false, true], "40,000 bytes are beyond 30,000, and 20,000 are not");
}

#[tokio::test(start_paused = true)]
async fn after_the_clock_was_set_forward_nothing_goes_for_its_age() {
    let policy = Policy { clock_trust_after: 600 * SECOND, ..Policy::default() };
    let (world, server, id) = World::with(http_server(1, "one"), policy).await;
    server.reply("add", Duration::ZERO, Ok(plain("3")));
    let task = world.call(id, "add").await;
    world.until_phase(task, Phase::Done).await;
    world.clock.set_wall(40 * 86_400_000);
    world.pass(world.policy.clock_look * 2).await;
    world.engine.clean_storage(false).await.expect("clean-up runs");
    assert_eq!(world.result(task).await.as_deref(), Some("3"), "it is not forty days old");
    world.pass(world.policy.clock_trust_after + SECOND).await;
    world.engine.clean_storage(false).await.expect("clean-up runs");
    assert_eq!(world.result(task).await, None, "once the clock is trusted again, it is");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_revoked_at_once_though_its_calls_have_no_row() {
    let stage = Stage::new().await;
    stage.server.reply("slow", 3_000 * SECOND, Ok(plain("42")));
    let asked = stage.world.begin(call(stage.agent, stage.id, "slow"));
    stage.world.pass(Duration::from_millis(10)).await;
    stage.disk.fill_disk(true);
    stage.world.pass(5 * SECOND).await;
    assert_eq!(stage.world.engine.recording().unrecorded.len(), 1, "its call could not be recorded");
    let begun = tokio::time::Instant::now();
    let asked_to_stop = stage.world.engine.revoke_agent(stage.agent, PersonId::new("ada"), None).await;
    assert_eq!(asked_to_stop, Ok(1), "the call is counted");
    assert!(begun.elapsed() < SECOND, "a revocation waits for no room: {:?}", begun.elapsed());
    stage.world.pass(SECOND).await;
    assert_eq!(
        stage.server.times(|act| matches!(act, EngineAction::CancelCall { .. })).len(),
        1,
        "its server is asked to stop"
    );
    assert!(!matches!(asked.await, Ok(Ok(_))), "and the agent gets nothing of it");
}
