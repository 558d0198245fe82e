//! Servers that die under many idle sessions, again and again: the core goes on answering, and every session goes on.
//!
//! The single kill is told in `dead_servers.rs`; here it happens often, with more sessions, and the gaps are measured.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::quiet_server::{QUIET_SERVER, children};
use tests::torture::{Campaign, Pulse};

use crate::PROGRAM;

/// Agents, each with a child of the server of its own.
const AGENTS: usize = 4;
/// Idle sessions of each of them.
const SESSIONS_EACH: usize = 10;
/// Kills of one core: with each of them its servers wait longer before they come back.
const KILLS_A_CORE: u32 = 3;
/// A core that answers nothing for so long is frozen (issue 11: the watchdog acts after 5 s).
const FROZEN: Duration = Duration::from_secs(5);

#[test]
fn torture_no_session_is_lost_and_no_answer_late_while_servers_die() {
    Campaign::new("servers that die under idle sessions", KILLS_A_CORE).run(|_, round| {
        let mut gate = Gate::open(PROGRAM);
        let workers = std::env::var("TOKIO_WORKER_THREADS").unwrap_or_else(|_| "2".into());
        gate.kill();
        gate.start_with(&[("TOKIO_WORKER_THREADS", &workers)]);
        gate.add_server("quiet", &["--", "bash", "-c", QUIET_SERVER]);
        let agents: Vec<(Agent, Vec<String>)> = (0..AGENTS)
            .map(|nth| {
                let agent = Agent::new(&gate.url("quiet"), &gate.add_agent(&format!("listener-{nth}")));
                let sessions = (0..SESSIONS_EACH).map(|_| agent.open("2025-11-25").0).collect();
                (agent, sessions)
            })
            .collect();
        let home = gate.home();
        let state = || format!("{:?}; core: {}", children(home), home.core_log());
        let pulse = Pulse::start(home.data().join("core.sock"));
        let mut before = Vec::new();
        for _ in 0..KILLS_A_CORE {
            // One child for people beside those of the agents.
            before = wait_for(
                "every agent has a child that was not killed",
                || {
                    let now = children(home);
                    (now.len() == 1 + AGENTS && now.iter().all(|pid| !before.contains(pid))).then_some(now)
                },
                state,
            );
            for pid in before.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                kill_process(pid, Signal::KILL).expect("the child is ours");
            }
        }
        for (agent, sessions) in &agents {
            for session in sessions {
                let pong = agent.in_session(session, "ping", &json!({}));
                assert_eq!(pong.result(), json!({}), "the session goes on: {pong:?}");
                round.answers += 1;
            }
        }
        (round.weight, round.gap) = (KILLS_A_CORE, pulse.stop());
        assert!(round.gap < FROZEN, "the core answered nothing for {:?}", round.gap);
    });
}
