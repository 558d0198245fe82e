//! What a core holds and does while nothing is asked of it: memory of open handles, and an idle core.

use std::time::{Duration, Instant};

use tests::bench::{Row, Switches, cpu, family, resident_kib, row};
use tests::home::pause_for;
use tests::load::{Caller, Speech, tools_call};

use crate::figures::{Figures, Place};
use crate::processes::{Gateway, helper};

/// Agents, and the handles that each of them leaves open.
const AGENTS: usize = 1_000;
const HANDLES_EACH: u64 = 10;
/// Servers of the idle core, half of them over HTTP and half of them processes, and its agents.
const IDLE_SERVERS: usize = 20;
const IDLE_AGENTS: usize = 10;
/// Until a core has done what it does after a change. Judgement: its timers of seconds have run twice.
const SETTLING: Duration = Duration::from_secs(8);
const WATCHED: Duration = Duration::from_secs(10);

/// Makes so many calls of a tool on each connection.
async fn ask_each(connected: &mut [Caller], tool: &str, times: u64) {
    for (nth, caller) in connected.iter_mut().enumerate() {
        for number in 0..times {
            let body = tools_call(nth as u64 * times + number, tool, true);
            let status = caller.ask("tools/call", tool, &body).await.expect("a reply");
            assert!(status == 200, "{status} {}", String::from_utf8_lossy(caller.body()));
        }
    }
}

/// A thousand connected agents, and ten open handles of each.
pub(crate) fn memory(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let (_server, server) = helper(&["server"]);
    let mut gateway = Gateway::start(0);
    gateway.server("tiny", &["--url", &format!("http://{server}/mcp")]);
    let empty = resident_kib(gateway.pid());
    gateway.agents(AGENTS);
    let target = gateway.target("tiny", Speech::Modern);
    let mut connected: Vec<Caller> = runtime.block_on(async {
        let connecting = (0..AGENTS).map(|nth| Caller::connect(&target, nth));
        futures::future::try_join_all(connecting).await.expect("the gateway accepts")
    });
    // As many calls as will make tasks, so that what a call leaves behind is there before.
    runtime.block_on(ask_each(&mut connected, "small", HANDLES_EACH));
    let agents = resident_kib(gateway.pid());
    runtime.block_on(ask_each(&mut connected, "task", HANDLES_EACH));
    let handles = resident_kib(gateway.pid());
    drop(connected);
    let count = AGENTS as u64 * HANDLES_EACH;
    let each = |of: u64, before: u64, count: u64| of.saturating_sub(before) as f64 / count as f64;
    row("memory: a core without agents", None, empty as f64 / 1024.0, "MiB", "");
    row("memory: with 1,000 agents and 10,000 open handles", None, handles as f64 / 1024.0, "MiB", "");
    row("memory: a connected agent that has called", None, each(agents, empty, AGENTS as u64), "KiB", "");
    row("memory: an open handle, its share of agents included", None, each(handles, empty, count), "KiB", "");
    figures.add(
        Place::Handle,
        Row {
            metric: "memory: an open handle".to_owned(),
            ours: Some(each(handles, agents, count)),
            unit: "KiB",
            aim: "<= 4 KiB; reach 2 KiB".to_owned(),
            ..Row::default()
        },
    );
}

/// Twenty servers and ten connected agents, none of which does anything.
pub(crate) fn idle(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let (_server, server) = helper(&["server"]);
    let here = std::env::current_exe().expect("the path of this program").display().to_string();
    let gateway = Gateway::start(IDLE_AGENTS);
    for nth in 0..IDLE_SERVERS / 2 {
        gateway.server(&format!("web{nth}"), &["--url", &format!("http://{server}/mcp/{nth}")]);
        gateway.server(&format!("pipe{nth}"), &["--", &here, "lines"]);
    }
    let target = gateway.target("web0", Speech::Modern);
    let mut connected: Vec<Caller> = runtime.block_on(async {
        let connecting = (0..IDLE_AGENTS).map(|nth| Caller::connect(&target, nth));
        futures::future::try_join_all(connecting).await.expect("the gateway accepts")
    });
    runtime.block_on(ask_each(&mut connected, "small", 1));
    pause_for(SETTLING);
    let (begun, before, used) = (Instant::now(), Switches::of(gateway.pid()), cpu(gateway.pid()));
    pause_for(WATCHED);
    let span = begun.elapsed().as_secs_f64();
    let woken = Switches::of(gateway.pid()).since(before).waited as f64 / span;
    let used = (cpu(gateway.pid()) - used).as_secs_f64() / span;
    let own = resident_kib(gateway.pid()) as f64 / 1024.0;
    let rest: u64 = family(gateway.pid()).into_iter().skip(1).map(resident_kib).sum();
    let what = format!("idle, {IDLE_SERVERS} servers, {IDLE_AGENTS} agents");
    row(&format!("{what}: CPU of the core"), None, used * 1e3, "ms a second", "");
    row(&format!("{what}: memory of what it started"), None, rest as f64 / 1024.0, "MiB", "");
    let figure = |metric: &str, ours: f64, unit, aim: &str| Row {
        metric: format!("{what}: {metric}"),
        ours: Some(ours),
        unit,
        aim: aim.to_owned(),
        ..Row::default()
    };
    figures.add(Place::Idle, figure("wake-ups per second", woken, "/s", "<= 5; reach 1"));
    figures.add(Place::Idle, figure("memory", own, "MiB", "<= 60; reach 45"));
    drop(connected);
}
