//! Whatever a task or a server may be, it reads back as it was written.

use domain::agent::{Agent, TokenDigest};
use domain::ids::AgentId;
use domain::ports::{AgentUnit, BudgetNote, KnownTask, Registry, RuleUnit, ServerUnit};
use domain::task::status::Phase;
use domain::time::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use testkit::contract::commit_of;

use super::Home;
use super::arbitrary::{any_handle, any_server, any_window};
use super::arbitrary_settings::{any_meter, any_rule};

/// Runs a property against one registry; each case is a transaction of its own.
fn check<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    act: impl AsyncFn(&registry::SqliteRegistry, T) -> Result<(), TestCaseError>,
) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let home = Home::new();
    let registry = runtime.block_on(home.open());
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() });
    let outcome = runner.run(&strategy, |value| runtime.block_on(act(&registry, value)));
    runtime.block_on(registry.close());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn any_task_reads_back_as_it_was_written() {
    let index = 0..Phase::ALL.len();
    check((any_handle(), any_handle(), index), async |registry, (mut first, mut second, index)| {
        let phase = Phase::ALL[index];
        first.version = registry.admit(commit_of(&first, phase)).await.expect("admitted").version;
        prop_assert_eq!(registry.handle(first.id).await, Ok(Some(first.clone())));
        // Another state of the same task.
        (second.id, second.version) = (first.id, first.version);
        (second.server, second.agent, second.created) = (first.server, first.agent, first.created);
        second.version = registry.commit(commit_of(&second, phase)).await.expect("committed").version;
        prop_assert_eq!(registry.handle(first.id).await, Ok(Some(second.clone())));
        let task = second.view.task().map(|task| task.id.clone());
        if let Some(task) = task {
            let (generation, session) = (second.home.generation, second.home.session.clone());
            let found = registry.find_task(second.server, generation, session, task).await;
            prop_assert_eq!(found, Ok(Some(KnownTask::Kept(second.id))));
        }
        Ok(())
    });
}

#[test]
fn any_server_reads_back_as_it_was_written() {
    check(any_server(), async |registry, server| {
        registry.put_server(ServerUnit { server: server.clone(), audit: Vec::new() }).await.expect("put");
        prop_assert_eq!(registry.server(server.id).await, Ok(Some(server.clone())));
        registry.remove_server(server.id, Vec::new()).await.expect("removed");
        Ok(())
    });
}

#[test]
fn any_window_reads_back_as_it_was_written() {
    check(any_window(), async |registry, mut window| {
        window.ended = None;
        let note = |window: &domain::budget::window::Window| BudgetNote {
            windows: vec![window.clone()],
            ..BudgetNote::default()
        };
        registry.note_budget(note(&window)).await.expect("noted");
        let open = registry.windows(0).await.expect("reads");
        prop_assert_eq!(open, vec![window.clone()]);
        window.ended = Some(window.last);
        registry.note_budget(note(&window)).await.expect("noted");
        prop_assert_eq!(registry.windows(0).await, Ok(Vec::new()));
        let ended = registry.windows(1).await.expect("reads");
        prop_assert!(ended.contains(&window), "an ended window is read when it is asked for");
        Ok(())
    });
}

#[test]
fn any_rule_and_any_meter_read_back_as_they_were_written() {
    check((any_rule(), any_meter()), async |registry, (rule, meter)| {
        let put = |remove| registry.put_rule(RuleUnit { rule: rule.clone(), remove, audit: Vec::new() });
        put(false).await.expect("put");
        prop_assert_eq!(registry.rules().await, Ok(vec![rule.clone()]));
        put(true).await.expect("taken away");
        let agent = Agent {
            id: AgentId::from_random(1),
            name: "zed".into(),
            created: Timestamp::from_millis(1),
            revoked: None,
            token: TokenDigest([1; 32]),
            token_made: Timestamp::from_millis(1),
            seen: None,
            client: None,
            learned_timeout: None,
            task_tools: true,
            calls: 0,
            meter,
        };
        registry
            .put_agent(AgentUnit { agent: agent.clone(), audit: Vec::new(), ended_pause: None })
            .await
            .expect("put");
        prop_assert_eq!(registry.agents().await, Ok(vec![agent]));
        Ok(())
    });
}
