//! Servers that die while agents only listen: the core stays responsive, whatever the number of idle sessions.
//!
//! The cores of these tests run on two workers of the multi-thread runtime, with more listening sessions than workers:
//! a loop that never yields is invisible to a paused clock and to a machine with many cores.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::by_hand::Agent;
use tests::gate::Gate;
use tests::home::wait_for;
use tests::quiet_server::{QUIET_SERVER, children};

use crate::PROGRAM;

/// More than the two workers of the core.
const SESSIONS: usize = 8;
/// How often each server is killed. The loop of the finding took both workers at the first kill.
const KILLS: usize = 3;
/// The longest an answer may take. A frozen core never answers; a busy machine has this long.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// A core on two workers with one stdio server of the 2025 dialect.
fn small_core() -> Gate {
    let mut gate = Gate::open(PROGRAM);
    gate.kill();
    gate.start_with(&[("TOKIO_WORKER_THREADS", "2")]);
    gate.add_server("quiet", &["--", "bash", "-c", QUIET_SERVER]);
    gate
}

/// Asserts that the listener answers. Any status is an answer.
fn assert_answers(address: SocketAddr, log: impl Fn() -> String) {
    let asked = || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        write!(stream, "GET /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        stream.read(&mut [0; 64])
    };
    let answer = asked();
    assert!(matches!(answer, Ok(1..)), "the core answers: {answer:?}; core: {}", log());
}

/// Kills every child of the server again and again, and asserts that the core answers until all of them are back.
fn kill_children(gate: &Gate, expected: usize) {
    let home = gate.home();
    let state = || format!("{:?}\ncore: {}", children(home), home.core_log());
    for _ in 0..KILLS {
        let before = wait_for(
            "every session has its child",
            || Some(children(home)).filter(|children| children.len() == expected),
            state,
        );
        for pid in before.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            kill_process(pid, Signal::KILL).expect("the child is ours");
        }
        wait_for(
            "new children took the place of the killed ones",
            || {
                assert_answers(gate.address(), || home.core_log());
                let now = children(home);
                (now.len() == expected && now.iter().all(|pid| !before.contains(pid))).then_some(())
            },
            state,
        );
    }
}

#[test]
fn the_core_answers_while_eight_idle_sessions_of_one_agent_lose_their_server() {
    let gate = small_core();
    let agent = Agent::new(&gate.url("quiet"), &gate.add_agent("listener"));
    let sessions: Vec<String> = (0..SESSIONS).map(|_| agent.open("2025-11-25").0).collect();
    kill_children(&gate, 2);
    for session in &sessions {
        let pong = agent.in_session(session, "ping", &json!({}));
        assert_eq!(pong.result(), json!({}), "the session goes on: {pong:?}");
    }
    assert_eq!(gate.home().run(["tasks", "list"]).code, 0, "and so does the command line");
}

#[test]
fn the_core_answers_while_the_servers_of_eight_agents_die_at_once() {
    let gate = small_core();
    let agents: Vec<_> = (0..SESSIONS)
        .map(|nth| {
            let agent = Agent::new(&gate.url("quiet"), &gate.add_agent(&format!("listener-{nth}")));
            let (session, _) = agent.open("2025-11-25");
            (agent, session)
        })
        .collect();
    kill_children(&gate, 1 + SESSIONS);
    for (agent, session) in &agents {
        let listed = agent.in_session(session, "tools/list", &json!({})).result();
        assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "its server is back: {listed}");
    }
}
