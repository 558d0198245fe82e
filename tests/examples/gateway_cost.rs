//! What the gateway adds to a call: against nginx and a minimal forwarder, in front of the same tiny server, in one run.
//!
//! Targets take turns in short rounds, so that a slow minute of the machine hits all of them. *Added* is the quantile
//! through the proxy less the same quantile without one. The server is a process of its own (`gateway_cost server`).
//! `TASKWARDEN_BENCH_MILLIS` (1,000) is the length of one round, `TASKWARDEN_BENCH_ONLY` a part of what to measure:
//! `http`, `stdio`, `handles` or `memory`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that cannot be made should fail loudly"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::bench::{attach, call, cpu, program, quantile, resident_kib, row};
use tests::forwarder::Forwarder;
use tests::home::{Core, Home, wait_for};
use tests::load::{Caller, Measured, Target, Work, over_http, over_pipes, tasks_get, tools_call};
use tests::peers::free_port;
use tests::tiny;

type Part = fn(&tokio::runtime::Runtime);

const PARTS: [(&str, Part); 4] = [("http", http), ("stdio", stdio), ("handles", handles), ("memory", memory)];
const ROUNDS: usize = 3;
const CALLERS: [usize; 3] = [1, 16, 256];

fn round() -> Duration {
    let millis = std::env::var("TASKWARDEN_BENCH_MILLIS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(millis.unwrap_or(1_000))
}

fn is_wanted(part: &str) -> bool {
    std::env::var("TASKWARDEN_BENCH_ONLY").map_or(true, |only| only == part)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// A process that belongs to the measurement.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        // An order, not a kill: nginx takes its workers with it.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

fn this() -> Command {
    Command::new(std::env::current_exe().expect("the path of this program"))
}

/// Starts this program in another part; it prints its address first.
fn helper(arguments: &[&str]) -> (Helper, SocketAddr) {
    let mut child = this().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    (Helper(child), line.trim().parse().expect("an address"))
}

/// nginx in front of the server, where it is installed.
fn nginx(server: SocketAddr, folder: &std::path::Path) -> Option<(Helper, SocketAddr)> {
    let port = free_port();
    let place = folder.display();
    let config = format!(
        "daemon off; pid {place}/nginx.pid; error_log stderr crit; worker_processes auto;\n\
         events {{ worker_connections 2048; }}\n\
         http {{ access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;\n\
         fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;\n\
         keepalive_requests 100000000; client_max_body_size 16m; client_body_buffer_size 64k;\n\
         upstream tiny {{ server {server}; keepalive 512; keepalive_requests 100000000; }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://tiny; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_buffering off; proxy_buffer_size 64k; proxy_buffers 8 64k; }} }} }}\n"
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, config).expect("the configuration of nginx");
    let binary = ["/usr/sbin/nginx", "nginx"].into_iter().find(|name| Command::new(name).arg("-v").output().is_ok())?;
    let child = Command::new(binary).arg("-c").arg(&path).arg("-p").arg(folder).stdin(Stdio::null()).spawn().ok()?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let helper = Helper(child);
    wait_for("nginx listens", || std::net::TcpStream::connect(address).ok(), || "not yet".into());
    Some((helper, address))
}

/// The gateway with a server behind it and agents before it.
struct Gateway {
    home: Home,
    core: Core,
    address: SocketAddr,
    tokens: Vec<String>,
}

impl Gateway {
    fn start(agents: usize, server: &[&str]) -> Self {
        let home = Home::new(&program().display().to_string());
        std::fs::create_dir_all(home.data()).expect("the data directory");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let listen = address.to_string();
        let core = home.serve_with(&[
            ("TASKWARDEN_LISTEN", listen.as_str()),
            // A measurement opens more calls, and makes them faster, than agents do.
            ("TASKWARDEN_POLICY_OPEN_CALLS_PER_SERVER", "1000000"),
            ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1000000"),
        ]);
        let added = home.run([["servers", "add", "tiny", "--yes"].as_slice(), server].concat());
        assert_eq!(added.code, 0, "{}", added.err);
        wait_for(
            "the server is up",
            || (home.json(["servers", "show", "tiny", "--json"])["health"]["kind"] == "up").then_some(()),
            || home.core_log(),
        );
        let mut gateway = Self { home, core, address, tokens: Vec::new() };
        gateway.agents(agents);
        gateway
    }

    fn agents(&mut self, wanted: usize) {
        let runtime = runtime();
        let attached = attach(&self.home);
        while self.tokens.len() < wanted {
            let name = format!("a{}", self.tokens.len());
            let added = runtime.block_on(call(&attached, "agents.add", &json!({"name": name})));
            self.tokens.push(added["token"].as_str().expect("a token").to_owned());
        }
    }

    fn target(&self) -> Target {
        Target { address: self.address, path: "/mcp/tiny".into(), tokens: self.tokens.clone() }
    }
}

/// Rounds of every target in turn; results in the order of the targets.
fn rounds(runtime: &tokio::runtime::Runtime, targets: &[Target], callers: usize, work: &Work<'_>) -> Vec<Measured> {
    let mut all: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (target, measured) in targets.iter().zip(&mut all) {
            measured.push(runtime.block_on(over_http(target, callers, round(), work)));
        }
    }
    all.into_iter().map(Measured::of).collect()
}

fn plain(address: SocketAddr) -> Target {
    Target { address, path: "/mcp".into(), tokens: Vec::new() }
}

/// Added times and calls a second over HTTP.
fn http(runtime: &tokio::runtime::Runtime) {
    let (_server, server) = helper(&["server"]);
    let (_forwarder, forwarder) = helper(&["forwarder", &server.to_string()]);
    let folder = tempfile::tempdir().expect("a folder");
    let nginx = nginx(server, folder.path());
    if nginx.is_none() {
        println!("nginx is not installed: the minimal forwarder is the reference");
    }
    let url = format!("http://{server}/mcp");
    let gateway = Gateway::start(16, &["--url", &url]);
    let reference = nginx.as_ref().map_or(forwarder, |(_, address)| *address);
    let name = if nginx.is_some() { "nginx" } else { "forwarder" };
    let targets = [plain(server), plain(reference), plain(forwarder), gateway.target()];
    for (tool, size) in [("small", "small"), ("big", "1 MB")] {
        for callers in CALLERS {
            let body = |id| tools_call(id, tool, false);
            let work = Work { method: "tools/call", name: tool, body: &body };
            let measured = rounds(runtime, &targets, callers, &work);
            let [direct, proxy, least, ours] = measured.as_slice() else { panic!("four targets") };
            for (share, word) in [(0.5, "median"), (0.99, "p99")] {
                let added = |of: &Measured| of.at(share) - direct.at(share);
                let label = format!("HTTP, {callers} callers, {size}, {word}: added to {:.0} µs", direct.at(share));
                let aim = if share < 0.9 { "<= 1.5 ×" } else { "" };
                row(&format!("{label}; {name}, gateway"), Some(added(proxy)), added(ours), "µs", aim);
                row(&format!("{label}; {name}, forwarder"), Some(added(proxy)), added(least), "µs", "");
            }
            let label = format!("HTTP, {callers} callers, {size}: calls/s; {name}, gateway");
            row(&label, Some(proxy.rate()), ours.rate(), "/s", "");
        }
    }
    let body = |id| tools_call(id, "small", false);
    let work = Work { method: "tools/call", name: "small", body: &body };
    let measured = rounds(runtime, &targets, 64, &work);
    if let [_, proxy, _, ours] = measured.as_slice() {
        row(&format!("HTTP, 64 callers: calls/s; {name}, gateway"), Some(proxy.rate()), ours.rate(), "/s", ">= 0.6 ×");
    }
}

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

/// Calls that become tasks, and looks at them.
fn handles(runtime: &tokio::runtime::Runtime) {
    let (_server, server) = helper(&["server"]);
    let url = format!("http://{server}/mcp");
    let gateway = Gateway::start(16, &["--url", &url]);
    let folder = tempfile::tempdir_in(gateway.home.path()).expect("a folder");
    let targets = [plain(server), gateway.target()];
    for callers in [1, 16, 64] {
        let body = |id| tools_call(id, "small", true);
        let quick = rounds(runtime, &targets, callers, &Work { method: "tools/call", name: "small", body: &body });
        let body = |id| tools_call(id, "task", true);
        let task = rounds(runtime, &targets, callers, &Work { method: "tools/call", name: "task", body: &body });
        let ([quick_direct, quick], [task_direct, task]) = (quick.as_slice(), task.as_slice()) else { panic!("two") };
        let more = (task.at(0.5) - task_direct.at(0.5)) - (quick.at(0.5) - quick_direct.at(0.5));
        let label = format!("handles, {callers} callers: a durable write, and what a task adds to a call");
        row(&label, Some(durable_write(folder.path())), more, "µs", "<= one commit more");
        row(&format!("handles, {callers} callers: handles/s"), None, task.rate(), "/s", "");
    }
    looks(runtime, server, &gateway);
}

/// Agents' polls, and how many of them the server behind saw.
fn looks(runtime: &tokio::runtime::Runtime, server: SocketAddr, gateway: &Gateway) {
    let target = Target { tokens: gateway.tokens.iter().take(1).cloned().collect(), ..gateway.target() };
    let task = runtime.block_on(async {
        let mut caller = Caller::connect(&target, 0).await.expect("the gateway accepts");
        caller.ask("tools/call", "task", &tools_call(0, "task", true)).await.expect("a reply");
        let reply: Value = serde_json::from_slice(caller.body()).expect("JSON");
        reply["result"]["taskId"].as_str().unwrap_or_else(|| panic!("a task, not {reply}")).to_owned()
    });
    let before = looks_seen(server);
    let body = |id| tasks_get(id, &task);
    let used = cpu(gateway.core.pid());
    let measured = rounds(runtime, &[target], 64, &Work { method: "tasks/get", name: &task, body: &body });
    let used = cpu(gateway.core.pid()) - used;
    let measured = measured.first().expect("one target");
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

/// 1,000 agents, ten open handles each.
fn memory(runtime: &tokio::runtime::Runtime) {
    let (_server, server) = helper(&["server"]);
    let url = format!("http://{server}/mcp");
    let mut gateway = Gateway::start(0, &["--url", &url]);
    let before = resident_kib(gateway.core.pid());
    gateway.agents(1_000);
    let target = gateway.target();
    let connected: Vec<Caller> = runtime.block_on(async {
        let mut connected = Vec::new();
        for nth in 0..1_000 {
            let mut caller = Caller::connect(&target, nth).await.expect("the gateway accepts");
            for number in 0..10 {
                let body = tools_call(nth as u64 * 10 + number, "task", true);
                let status = caller.ask("tools/call", "task", &body).await.expect("a reply");
                assert!(status == 200, "{status} {}", String::from_utf8_lossy(caller.body()));
            }
            connected.push(caller);
        }
        connected
    });
    let after = resident_kib(gateway.core.pid());
    row("1,000 connected agents with 10,000 open handles: memory of the core", None, after as f64 / 1024.0, "MiB", "");
    let each = after.saturating_sub(before) as f64 / 10_000.0;
    row("memory for each of 10,000 open handles, agents included", None, each, "KiB", "< 8");
    drop(connected);
}

/// A program that answers lines, its ends held by us.
struct Piped {
    _child: tokio::process::Child,
    read: tokio::io::BufReader<tokio::process::ChildStdout>,
    write: tokio::process::ChildStdin,
    next: u64,
}

impl Piped {
    fn start(command: Command) -> Self {
        let mut command = tokio::process::Command::from(command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("it starts");
        let read = tokio::io::BufReader::with_capacity(1 << 16, child.stdout.take().expect("its output"));
        let write = child.stdin.take().expect("its input");
        Self { _child: child, read, write, next: 1 }
    }

    async fn measure(&mut self, callers: usize, span: Duration, tool: &str) -> Measured {
        let measured = over_pipes((&mut self.read, &mut self.write), callers, span, tool, self.next).await;
        self.next += 1_000_000;
        measured
    }
}

/// Added times over pipes: a server of stdio, behind a program that only copies, and behind `connect` and the core.
fn stdio(runtime: &tokio::runtime::Runtime) {
    let here = std::env::current_exe().expect("the path of this program").display().to_string();
    let gateway = Gateway::start(0, &["--", &here, "lines"]);
    let added = gateway.home.json(["agents", "add", "pipes", "--json"]);
    let token = added["token"].as_str().expect("a token").to_owned();
    let mut connect = gateway.home.command();
    connect.args(["connect", "tiny", "--agent", "pipes"]).env("TASKWARDEN_TOKEN", token);
    let (mut lines, mut copier) = (this(), this());
    lines.arg("lines");
    copier.arg("copier");
    let _entered = runtime.enter();
    let mut targets = [Piped::start(lines), Piped::start(copier), Piped::start(connect)];
    for (tool, size) in [("small", "small"), ("big", "1 MB")] {
        for callers in CALLERS {
            let mut all: [Vec<Measured>; 3] = Default::default();
            for _ in 0..ROUNDS {
                for (target, measured) in targets.iter_mut().zip(&mut all) {
                    measured.push(runtime.block_on(target.measure(callers, round(), tool)));
                }
            }
            let [direct, least, ours] = all.map(Measured::of);
            for (share, word) in [(0.5, "median"), (0.99, "p99")] {
                let label = format!("stdio, {callers} callers, {size}, {word}: added to {:.0} µs", direct.at(share));
                let (least, ours) = (least.at(share) - direct.at(share), ours.at(share) - direct.at(share));
                row(&format!("{label}; a copier, gateway"), Some(least), ours, "µs", "");
            }
            let label = format!("stdio, {callers} callers, {size}: calls/s; a copier, gateway");
            row(&label, Some(least.rate()), ours.rate(), "/s", "");
        }
    }
}

/// Copies pipes to a server of its own and back.
fn copier() -> std::io::Result<()> {
    let mut child = this().arg("lines").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut there, mut back) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    std::thread::spawn(move || std::io::copy(&mut std::io::stdin(), &mut there));
    std::io::copy(&mut back, &mut std::io::stdout())?;
    child.wait().map(drop)
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
        [] => PARTS.iter().filter(|(name, _)| is_wanted(name)).for_each(|(_, part)| part(&runtime)),
        other => panic!("there is no part `{other:?}`"),
    }
}
