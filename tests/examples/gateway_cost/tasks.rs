//! Calls that become tasks, and agents' polls of them.
//!
//! A task costs one durable commit more than a call: what the disk of this machine takes for one stands beside it.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Instant;

use serde_json::Value;
use tests::bench::{Row, cpu, quantile, row};
use tests::load::{Caller, Callers, Measured, Speech, Target, Work, tasks_get, tools_call};

use crate::figures::{Figures, Place, callers_text};
use crate::processes::{Gateway, helper, plain};
use crate::rounds::round;

const ROUNDS: usize = 3;

/// One durable write of this machine's disk: the median of many, in microseconds.
fn durable_write(folder: &std::path::Path) -> f64 {
    let mut file = std::fs::File::create(folder.join("durable")).expect("a file");
    let mut micros: Vec<f64> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&[7; 4096]).expect("the disk takes it");
            file.sync_data().expect("the disk keeps it");
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    micros.sort_by(f64::total_cmp);
    quantile(&micros, 0.5)
}

/// Rounds of both targets in turn, of one tool.
fn rounds(runtime: &tokio::runtime::Runtime, targets: &mut [Callers; 2], callers: usize, tool: &str) -> [Measured; 2] {
    let body = |id| tools_call(id, tool, true);
    let work = Work { method: "tools/call", name: tool, body: &body };
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (target, measured) in targets.iter_mut().zip(&mut all) {
            measured.push(runtime.block_on(target.measure(callers, round(), &work)));
        }
    }
    all.map(Measured::of)
}

pub(crate) fn measure(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let (_server, server) = helper(&["server"]);
    let gateway = Gateway::start(16);
    gateway.server("tiny", &["--url", &format!("http://{server}/mcp")]);
    let folder = tempfile::tempdir_in(gateway.home.path()).expect("a folder");
    let direct = Callers::new(plain(server, "/mcp", Speech::Modern));
    let mut targets = [direct, Callers::new(gateway.target("tiny", Speech::Modern))];
    for callers in [1, 16, 64] {
        let load = callers_text(callers);
        let [quick_direct, quick] = rounds(runtime, &mut targets, callers, "small");
        let [task_direct, task] = rounds(runtime, &mut targets, callers, "task");
        let more = (task.at(0.5) - task_direct.at(0.5)) - (quick.at(0.5) - quick_direct.at(0.5));
        let added = Row {
            metric: format!("tasks, {load}: what a task adds to a call; one durable write, gateway"),
            reference: Some(durable_write(folder.path())),
            ours: Some(more),
            unit: "µs",
            ..Row::default()
        };
        if callers == 1 {
            figures.add(Place::Task, Row { aim: "one shared commit".into(), ..added });
        } else {
            added.print();
        }
        row(&format!("tasks, {load}: tasks/s"), None, task.rate(), "/s", "");
    }
    polls(runtime, server, &gateway);
}

/// Agents' polls, and how many of them the server behind saw.
fn polls(runtime: &tokio::runtime::Runtime, server: SocketAddr, gateway: &Gateway) {
    let every = gateway.target("tiny", Speech::Modern);
    let target = Target { tokens: every.tokens.iter().take(1).cloned().collect(), ..every };
    let task = runtime.block_on(async {
        let mut caller = Caller::connect(&target, 0).await.expect("the gateway accepts");
        caller.ask("tools/call", "task", &tools_call(0, "task", true)).await.expect("a reply");
        let reply: Value = serde_json::from_slice(caller.body()).expect("JSON");
        reply["result"]["taskId"].as_str().unwrap_or_else(|| panic!("a task, not {reply}")).to_owned()
    });
    let before = looks_seen(server);
    let body = |id| tasks_get(id, &task);
    let used = cpu(gateway.pid());
    let work = Work { method: "tasks/get", name: &task, body: &body };
    let measured = runtime.block_on(Callers::new(target).measure(64, round() * 3, &work));
    let used = cpu(gateway.pid()) - used;
    row("polls of agents served: polls/s", None, measured.rate(), "/s", "");
    let each = used.as_secs_f64() * 1e6 / measured.micros.len() as f64;
    row("polls of agents served: CPU of the core each", None, each, "µs", "");
    row("polls of agents served: seen by the server behind", None, looks_seen(server) - before, "looks", "0");
}

fn looks_seen(server: SocketAddr) -> f64 {
    let mut socket = std::net::TcpStream::connect(server).expect("the server accepts");
    socket.write_all(b"GET /looks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).expect("it answers");
    reply.rsplit("\r\n\r\n").next().and_then(|text| text.trim().parse().ok()).expect("a number")
}
