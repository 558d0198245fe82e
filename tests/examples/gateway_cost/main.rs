//! What the gateway adds to a call: against nginx and a minimal forwarder, in front of the same tiny server, in one run.
//!
//! Targets take turns in short rounds, so that a slow minute of the machine hits all of them. *Added* is the quantile
//! through the proxy less the same quantile without one. First come the details of each part, at the end the figures
//! that have an aim, one line each. The server, the forwarder and a program that copies pipes are processes of their own
//! (`gateway_cost server`). `TASKWARDEN_BENCH_MILLIS` (300) is the length of one round, `TASKWARDEN_BENCH_ONLY` names the
//! parts to measure, with commas between them; `PARTS` has their names.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that cannot be made should fail loudly"
)]

mod counts;
mod figures;
mod footprint;
mod processes;
mod rounds;
mod routes;
mod tasks;

use figures::Figures;
use processes::this;
use std::process::Stdio;
use tests::forwarder::Forwarder;
use tests::tiny;

type Part = fn(&tokio::runtime::Runtime, &mut Figures);

const PARTS: [(&str, Part); 7] = [
    ("counts", counts::measure),
    ("http", routes::http),
    ("sessions", routes::sessions),
    ("stdio", routes::stdio),
    ("tasks", tasks::measure),
    ("memory", footprint::memory),
    ("idle", footprint::idle),
];

fn is_wanted(part: &str) -> bool {
    std::env::var("TASKWARDEN_BENCH_ONLY").map_or(true, |only| only.split(',').any(|name| name == part))
}

/// Copies pipes to a server of its own and back.
fn copier() -> std::io::Result<()> {
    let mut child = this().arg("lines").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut there, mut back) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    std::thread::spawn(move || std::io::copy(&mut std::io::stdin(), &mut there));
    std::io::copy(&mut back, &mut std::io::stdout())?;
    child.wait().map(drop)
}

/// One thread, so that no caller waits for another thread to wake up.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = runtime();
    match arguments.as_slice() {
        ["server"] => runtime.block_on(tiny::over_http(|address| println!("{address}"))).expect("it serves"),
        ["lines"] => tiny::over_stdio().expect("it answers"),
        ["copier"] => copier().expect("it copies"),
        ["forwarder", server] => runtime.block_on(async {
            let server = server.parse().expect("an address");
            let forwarder = Forwarder::start(server, None).await.expect("it listens");
            println!("{}", forwarder.address());
            std::future::pending::<()>().await;
        }),
        [] => {
            let mut figures = Figures::default();
            for (_, part) in PARTS.iter().filter(|(name, _)| is_wanted(name)) {
                part(&runtime, &mut figures);
            }
            figures.print();
        }
        other => panic!("there is no part `{other:?}`"),
    }
}
