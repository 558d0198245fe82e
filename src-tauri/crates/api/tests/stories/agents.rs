//! Agents, their rules and what is held back from them, as people see and decide it.

use std::time::Duration;

use api::Code;
use api::dto::HeldWhy;
use api::feed::frame::SubscribeInput;
use domain::agent::TokenDigest;
use domain::ids::AgentId;
use domain::ports::{Abilities, ArgumentsDigest};
use domain::task::payload::Payload;
use engine::{AgentCall, CallOutcome, HangUp};
use serde_json::{Value, json};
use testkit::scripted::{OnCancel, PollReply};

use crate::reader::Reader;
use crate::world::{World, descendant};

/// An agent and its token.
pub(crate) async fn agent(world: &World, name: &str) -> (AgentId, String) {
    let added = world.call("agents.add", json!({"name": name})).await;
    let id = added["agent"]["id"].as_str().expect("an id").parse().expect("ours");
    (id, added["token"].as_str().expect("a token").to_owned())
}

/// A call of an agent whose reply is a task; gives its handle.
pub(crate) async fn handle(world: &World, agent: AgentId, tool: &str) -> String {
    match made(world, agent, tool).await {
        CallOutcome::Handle(id) => id.to_string(),
        other => panic!("a task, not {other:?}"),
    }
}

/// A call of an agent without arguments.
pub(crate) async fn made(world: &World, agent: AgentId, tool: &str) -> CallOutcome {
    let server = world.registry.servers().await.expect("servers")[0].id;
    let call = AgentCall {
        agent,
        place: None,
        server,
        tool: tool.into(),
        arguments: Payload::new("{}"),
        digest: ArgumentsDigest::of(Payload::new("{}")),
        agent_params: None,
        continuation: None,
        trace: None,
        abilities: Abilities::default(),
        listener: None,
        relay_rounds: false,
        limit: None,
        agent_ttl: None,
        own_task: false,
        hang_up: HangUp::Keep,
    };
    world.engine.agent_call(call).await.expect("the call is made")
}

#[tokio::test(start_paused = true)]
async fn a_token_is_shown_once_and_only_its_digest_is_kept() {
    let world = World::new().await;
    let added = world.call("agents.add", json!({"name": "claude", "taskTools": false})).await;
    let token = added["token"].as_str().expect("a token");
    assert!(token.starts_with("twa_") && token.len() == 47, "32 random bytes in base64url: {} characters", token.len());
    assert_eq!(added["agent"]["taskTools"], false);
    let stdio: Value = serde_json::from_str(added["settings"]["stdio"].as_str().expect("text")).expect("JSON");
    assert_eq!(stdio["mcpServers"]["taskwarden"]["args"], json!(["connect", "--agent", "claude"]));
    let listed = world.call("agents.list", json!({})).await;
    assert!(!listed.to_string().contains("twa_"), "nobody shows it again: {listed}");
    let kept = world.registry.agents().await.expect("agents").remove(0);
    assert!(kept.token == TokenDigest::of(token), "what it hashes to proves it");
    let other = world.call("agents.add", json!({"name": "other"})).await;
    assert_ne!(other["token"], added["token"], "each has its own");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_saved_stands_in_no_command() {
    let world = World::new().await;
    let added = world.call("agents.add", json!({"name": "claude", "save": true})).await;
    assert_eq!(added["saved"], "/home/ada/tasks/agents/claude.token", "people are told where it is");
    let programs = added["settings"]["programs"].as_array().expect("programs");
    let texts = programs.iter().flat_map(|one| one["texts"].as_array().into_iter().flatten());
    let commands: Vec<&Value> = texts.filter(|text| text["transport"] == "stdio").collect();
    assert!(commands.len() >= 6, "every program has a command: {programs:?}");
    assert!(commands.iter().all(|text| !text.to_string().contains("twa_")), "{commands:?}");
    let plain = world.call("agents.add", json!({"name": "plain"})).await;
    assert_eq!(plain["saved"], Value::Null, "nothing is written that was not asked for");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_one_agents_until_its_access_is_taken_away() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let twice = world.try_call("agents.add", json!({"name": "claude"})).await.expect_err("it is taken");
    assert_eq!(twice.code, Code::Refused, "{twice:?}");
    let odd = world.try_call("agents.add", json!({"name": "../x"})).await.expect_err("no name");
    assert_eq!(odd.code, Code::Usage, "{odd:?}");
    world.call("agents.revoke", json!({"agent": "claude"})).await;
    let again = world.try_call("agents.revoke", json!({"agent": "claude"})).await.expect_err("it lost its access");
    assert_eq!(again.code, Code::Refused, "{again:?}");
    let new = world.call("agents.add", json!({"name": "claude"})).await;
    let list = world.call("agents.list", json!({})).await;
    assert_eq!(list["agents"].as_array().map(Vec::len), Some(2), "the old one stays for the record");
    assert_eq!(list["agents"][0]["id"], new["agent"]["id"], "those with access come first");
    let near = world.try_call("agents.revoke", json!({"agent": "clade"})).await.expect_err("unknown");
    assert!(near.hint.contains("`claude`"), "the nearest is named: {near:?}");
}

#[tokio::test(start_paused = true)]
async fn the_timeout_that_a_program_was_seen_to_have_is_shown() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    let shown = async || world.call("agents.list", json!({})).await["agents"][0]["learnedTimeoutMs"].clone();
    world.engine.call_abandoned(id, Duration::from_millis(45_200), false);
    assert_eq!(shown().await, Value::Null, "one call that was given up may have been a person");
    tokio::time::sleep(Duration::from_secs(100)).await;
    world.engine.call_abandoned(id, Duration::from_millis(45_900), false);
    assert_eq!(shown().await, json!(45_200));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_or_an_agent_started_decides_nothing_about_agents() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let descendant = descendant();
    for (name, input) in [
        ("agents.add", json!({"name": "mine"})),
        ("agents.revoke", json!({"agent": "claude"})),
        ("agents.newToken", json!({"agent": "claude"})),
        ("agents.check", json!({"agent": "claude"})),
        ("tasks.recentArguments", json!({"server": "ci", "tool": "build"})),
        ("rules.put", json!({"scope": {"kind": "server", "server": "ci"}, "asked": "agent"})),
        ("tasks.hold", json!({"id": "hdl_aaaa"})),
        ("tasks.release", json!({"id": "hdl_aaaa", "deliver": true})),
        ("tasks.goOn", json!({"id": "hdl_aaaa"})),
        ("tasks.allowTime", json!({"id": "hdl_aaaa", "limit": "time"})),
        ("budgets.set", json!({"agent": "claude", "windowTokens": 1_000_000})),
        ("budgets.empty", json!({"agent": "claude"})),
    ] {
        let error = world.api.dispatch(&descendant, name, &input.to_string()).await.expect_err("refused");
        assert_eq!(error.code, Code::Refused, "`{name}`: {error:?}");
    }
    assert_eq!(world.call("rules.list", json!({})).await["rules"], json!([]), "nothing was changed");
}

#[tokio::test(start_paused = true)]
async fn revoking_an_agent_stops_what_it_started_and_says_what_became_of_it() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    let task = handle(&world, id, "build").await;
    let row =
        world.call("tasks.page", json!({"query": {"agents": ["claude"]}, "group": null, "offset": 0, "limit": 9}));
    assert_eq!(row.await["rows"][0]["agent"], "claude", "a row says whose it is by name");
    let facts = world.call("agents.list", json!({})).await;
    assert_eq!(facts["agents"][0]["openTasks"], 1, "{facts}");
    let revoked = world.call("agents.revoke", json!({"agent": "claude", "reason": "enough"})).await;
    assert_eq!(revoked["stopped"], 1, "{revoked}");
    assert_eq!(revoked["stops"][0]["id"], json!(task), "each of them is told: {revoked}");
    assert!(revoked["agent"]["revokedAt"].is_string(), "{revoked}");
    let shown = world.call("tasks.show", json!({"id": task})).await;
    assert_eq!(shown["intent"]["kind"], "revoked", "{shown}");
    assert_eq!(shown["intent"]["reason"], "enough");
}

#[tokio::test(start_paused = true)]
async fn revoking_an_agent_tells_also_of_open_tasks_that_were_asked_before() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.server.on_cancel(OnCancel::Ignore);
    let mut tasks = Vec::new();
    for (tool, task) in [("build", "t1"), ("deploy", "t2")] {
        world.server.reply_task(tool, task, vec![PollReply::working()]);
        tasks.push(handle(&world, id, tool).await);
    }
    world.call("tasks.cancel", json!({"ids": [tasks[0]]})).await;
    let revoked = world.call("agents.revoke", json!({"agent": "claude"})).await;
    assert_eq!(revoked["stopped"], 1, "one is asked because of this: {revoked}");
    let mut told: Vec<&str> =
        revoked["stops"].as_array().expect("a list").iter().filter_map(|stop| stop["id"].as_str()).collect();
    told.sort_unstable();
    tasks.sort_unstable();
    assert_eq!(told, tasks, "what becomes of both is told");
}

#[tokio::test(start_paused = true)]
async fn a_held_result_waits_in_the_inbox_until_a_person_decides() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.server.reply_task("build", "t1", vec![PollReply::working(), PollReply::done()]);
    let task = handle(&world, id, "build").await;
    let held = world.call("tasks.hold", json!({"id": task})).await;
    assert_eq!(held["held"]["by"], "ada", "{held}");
    world.until(&task, "done").await;
    let mut reader = Reader::open(&world, SubscribeInput::default()).await;
    let row = format!("{task}/held");
    let told = reader.inbox.get(&row).map(|row| (row.kind.as_str(), row.why));
    assert_eq!(told, Some(("held", Some(HeldWhy::Review))), "{:?}", reader.inbox);
    let list = json!({"query": {"flags": ["held"]}, "group": null, "offset": 0, "limit": 9});
    assert_eq!(world.call("tasks.page", list.clone()).await["rows"][0]["id"], json!(task), "lists find it by its flag");
    let verdict = json!({"id": task, "deliver": false, "reason": "wrong file"});
    let released = world.call("tasks.release", verdict.clone()).await;
    assert_eq!(released["held"]["verdict"]["delivered"], false, "{released}");
    assert_eq!(released["held"]["verdict"]["reason"], "wrong file");
    reader.until("nothing waits any more", |now| !now.inbox.contains_key(&row)).await;
    assert_eq!(world.call("tasks.page", list).await["rows"], json!([]), "the flag is down");
    let again = world.try_call("tasks.release", verdict).await.expect_err("a verdict is final");
    assert_eq!(again.code, Code::Refused, "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_is_put_by_scope_and_taken_away_when_it_says_nothing() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let tool = json!({"kind": "tool", "server": "ci", "tool": "deploy"});
    let rule = json!({"scope": tool, "asked": "agentThenPeople", "peopleAfterMs": 60_000, "holdResults": true});
    let list = world.call("rules.put", rule).await;
    assert_eq!(list["rules"][0]["scope"], tool, "{list}");
    assert_eq!(list["rules"][0]["peopleAfterMs"], 60_000);
    assert_eq!(list["rules"][0]["repeat"], Value::Null, "what it does not say stays open");
    let of_agent = json!({"scope": {"kind": "agent", "agent": "claude"}, "repeat": "new", "promoteAfterMs": 500});
    assert_eq!(world.call("rules.put", of_agent).await["rules"].as_array().map(Vec::len), Some(2));
    for (wrong, why) in [
        (json!({"scope": tool, "asked": "agentThenPeople"}), "no time"),
        (json!({"scope": tool, "asked": "people", "peopleAfterMs": 5}), "a time without a use"),
        (json!({"scope": tool, "promoteAfterMs": u64::MAX}), "for ever"),
    ] {
        let error = world.try_call("rules.put", wrong).await.expect_err(why);
        assert_eq!(error.code, Code::Usage, "{why}: {error:?}");
    }
    let unknown = json!({"scope": {"kind": "server", "server": "c"}, "asked": "both"});
    assert_eq!(world.try_call("rules.put", unknown).await.expect_err("no such server").code, Code::NotFound);
    let list = world.call("rules.put", json!({"scope": tool})).await;
    assert_eq!(list["rules"].as_array().map(Vec::len), Some(1), "one that says nothing takes it away: {list}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_somebody_else_changed_meanwhile_is_not_replaced() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let of_agent = |version: Option<u32>, calls: u32| {
        let scope = json!({"kind": "agent", "agent": "claude"});
        json!({"scope": scope, "version": version, "openCalls": calls})
    };
    let first = world.call("rules.put", of_agent(Some(0), 5)).await;
    assert_eq!(first["rules"][0]["version"], 1, "{first}");
    let late = world.try_call("rules.put", of_agent(Some(0), 6)).await.expect_err("there is one by now");
    assert_eq!(late.code, Code::Refused, "{late:?}");
    let both = tokio::join!(
        world.try_call("rules.put", of_agent(Some(1), 7)),
        world.try_call("rules.put", of_agent(Some(1), 8))
    );
    assert!(both.0.is_ok() != both.1.is_ok(), "of two changes of one version one is made: {both:?}");
    let replaced = world.call("rules.put", of_agent(None, 9)).await;
    assert_eq!((&replaced["rules"][0]["version"], &replaced["rules"][0]["openCalls"]), (&json!(3), &json!(9)));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_was_removed_and_made_again_is_not_the_one_that_was_read_before() {
    let world = World::new().await;
    agent(&world, "claude").await;
    let of_agent = |version: u32, calls: Option<u32>| {
        let scope = json!({"kind": "agent", "agent": "claude"});
        json!({"scope": scope, "version": version, "openCalls": calls})
    };
    world.call("rules.put", of_agent(0, Some(5))).await;
    let stale = world.try_call("rules.put", of_agent(0, None)).await.expect_err("a removal of what was not read");
    assert_eq!(stale.code, Code::Refused, "{stale:?}");
    let removed = world.call("rules.put", of_agent(1, None)).await;
    assert_eq!(removed["rules"], json!([]), "a removed rule is not shown");
    assert_eq!(world.call("rules.list", json!({})).await["rules"], json!([]), "nor listed");
    let gone = world.try_call("rules.put", of_agent(1, Some(6))).await.expect_err("that one was removed");
    assert_eq!(gone.code, Code::Refused, "{gone:?}");
    let again = world.call("rules.put", of_agent(0, Some(7))).await;
    assert_eq!(again["rules"][0]["version"], 3, "no version comes twice: {again}");
    for calls in [Some(8), None] {
        let stale = world.try_call("rules.put", of_agent(1, calls)).await.expect_err("it is another rule by now");
        assert_eq!(stale.code, Code::Refused, "{stale:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_window_hears_of_agents_and_rules() {
    let world = World::new().await;
    let mut reader = Reader::open(&world, SubscribeInput { visible: true, ..SubscribeInput::default() }).await;
    assert!(reader.agents.is_empty() && reader.rules.is_empty(), "nothing yet");
    let (id, _) = agent(&world, "claude").await;
    reader.until("the agent is there", |now| now.agents.contains_key("claude")).await;
    world.call("rules.put", json!({"scope": {"kind": "server", "server": "ci"}, "asked": "both"})).await;
    reader.until("the rule is there", |now| now.rules.len() == 1).await;
    world.server.reply_task("build", "t1", vec![PollReply::working()]);
    handle(&world, id, "build").await;
    reader.until("its task is counted", |now| now.agents["claude"].open_tasks == 1).await;
    reader.until("its call is counted", |now| now.agents["claude"].calls == 1).await;
    world.call("agents.revoke", json!({"agent": "claude"})).await;
    reader.until("it lost its access", |now| now.agents["claude"].revoked_at.is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn attempts_and_children_are_shown_with_their_task() {
    let world = World::new().await;
    let (id, _) = agent(&world, "claude").await;
    world.server.reply_task("build", "t1", vec![PollReply::working(), PollReply::done()]);
    let first = handle(&world, id, "build").await;
    world.server.reply_task("test", "t2", vec![PollReply::working()]);
    let child = handle(&world, id, "test").await;
    world.until(&first, "done").await;
    world.server.reply_task("build", "t3", vec![PollReply::working()]);
    let second = handle(&world, id, "build").await;
    let shown = world.call("tasks.show", json!({"id": first})).await;
    assert_eq!(shown["children"][0]["id"], json!(child), "{shown}");
    assert_eq!(shown["job"]["attempts"].as_array().map(Vec::len), Some(2), "{shown}");
    assert_eq!(shown["job"]["attempt"], 1);
    let shown = world.call("tasks.show", json!({"id": child})).await;
    assert_eq!((&shown["parent"]["id"], &shown["parent"]["tool"]), (&json!(first), &json!("build")), "{shown}");
    assert_eq!(shown["parent"]["why"], "openTask");
    assert_eq!(shown["job"], Value::Null, "one attempt is no job to show");
    let shown = world.call("tasks.show", json!({"id": second})).await;
    assert_eq!(shown["job"]["attempt"], 2, "{shown}");
}
