//! Added times, calls a second and CPU on every route from an agent to a server.
//!
//! HTTP to HTTP as of 2026-07-28 and in sessions of 2025-11-25, HTTP to a stdio server, and `taskwarden connect` before
//! both. Counting is on, as it ships.

use tests::load::{Piped, Speech};

use crate::figures::{Compared, Figures, Place, callers_text};
use crate::processes::{Gateway, Helper, helper, nginx, plain, this};
use crate::rounds::{Contender, Rounds, contest};

/// Results: the tool that gives them, and their size in words.
const SIZES: [(&str, &str); 3] = [("small", "200 B"), ("middle", "50 KB"), ("big", "1 MB")];
const CALLERS: [usize; 4] = [1, 16, 64, 256];
/// The same where many large results at once say nothing new.
const FEWER_CALLERS: [usize; 3] = [1, 16, 64];
/// Agents that share the callers.
const AGENTS: usize = 16;

/// A server, and what stands in front of it beside the gateway.
struct Stage {
    _server: Helper,
    forwarder: Helper,
    proxy: Option<Helper>,
    _folder: tempfile::TempDir,
    server_at: std::net::SocketAddr,
    forwarder_at: std::net::SocketAddr,
    proxy_at: std::net::SocketAddr,
}

impl Stage {
    fn set() -> Self {
        let (server, server_at) = helper(&["server"]);
        let (forwarder, forwarder_at) = helper(&["forwarder", &server_at.to_string()]);
        let folder = tempfile::tempdir().expect("a folder");
        let (proxy, proxy_at) = match nginx(server_at, folder.path()) {
            Some((proxy, at)) => (Some(proxy), at),
            None => {
                println!("nginx is not installed: the minimal forwarder is the reference");
                (None, forwarder_at)
            }
        };
        Self { _server: server, forwarder, proxy, _folder: folder, server_at, forwarder_at, proxy_at }
    }

    fn proxy_name(&self) -> &'static str {
        if self.proxy.is_some() { "nginx" } else { "forwarder" }
    }

    /// Direct, the reference, and the forwarder.
    fn contenders(&self, path: &str, speech: Speech) -> Vec<Contender> {
        let forwarder = vec![self.forwarder.pid()];
        let proxy = self.proxy.as_ref().map_or_else(|| forwarder.clone(), |proxy| tests::bench::family(proxy.pid()));
        vec![
            Contender::http(plain(self.server_at, path, speech), Vec::new()),
            Contender::http(plain(self.proxy_at, path, speech), proxy),
            Contender::http(plain(self.forwarder_at, path, speech), forwarder),
        ]
    }
}

fn callers_of(tool: &str) -> &'static [usize] {
    if tool == "small" { &CALLERS } else { &FEWER_CALLERS }
}

/// Prints what every cell of the table has, and collects the figures that have an aim on the first route.
pub(crate) fn http(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let stage = Stage::set();
    let gateway = Gateway::start(AGENTS);
    gateway.server("tiny", &["--url", &format!("http://{}/mcp", stage.server_at)]);
    let mut contenders = stage.contenders("/mcp", Speech::Modern);
    contenders.push(Contender::http(gateway.target("tiny", Speech::Modern), vec![gateway.pid()]));
    let entered = runtime.enter();
    contenders.push(Contender::pipes(Piped::start(gateway.bridge("tiny")), vec![gateway.pid()]));
    drop(entered);
    for (tool, size) in SIZES {
        for &callers in callers_of(tool) {
            let rounds = contest(runtime, &mut contenders, tool, callers);
            let [direct, proxy, forwarder, ours, bridge] = rounds.as_slice() else { panic!("five contenders") };
            let load = format!("{}, {size}", callers_text(callers));
            let route = format!("HTTP→HTTP, {load}");
            let reference = Some((stage.proxy_name(), proxy));
            let compared = Compared { route: &route, direct, reference, ours, name: "gateway" };
            details(&compared);
            Compared { ours: forwarder, name: "forwarder", ..compared }.added("").print();
            let bridged = format!("bridge→HTTP, {load}");
            details(&Compared { route: &bridged, reference: None, ours: bridge, ..compared });
            match (tool, callers) {
                ("small", 1) => figures.add(Place::AddedAlone, compared.added("<= 1.5 ×; reach 1.2 ×")),
                ("small", 16) => {
                    figures.add(Place::AddedTogether, compared.added("<= 1.5 ×; reach 1.25 ×"));
                    figures.add(Place::Tail, compared.tail("<= 1.2 ×; reach 1 ×"));
                }
                ("small", 64) => {
                    figures.add(Place::AddedTogether, compared.added("<= 1.5 ×; reach 1.25 ×"));
                    figures.add(Place::Rate, compared.rate(">= 0.6 ×; reach 0.85 ×"));
                    figures.add(Place::Cpu, compared.cpu("<= 2 ×; reach 1.5 ×"));
                }
                ("big", 1) => figures.add(Place::Large, compared.added("<= 1.5 ×")),
                _ => {}
            }
        }
    }
}

fn details(compared: &Compared<'_>) {
    for row in [compared.added(""), compared.added_p99(), compared.rate(""), compared.cpu("")] {
        row.print();
    }
}

/// Sessions of 2025-11-25 on both sides.
pub(crate) fn sessions(runtime: &tokio::runtime::Runtime, _figures: &mut Figures) {
    let stage = Stage::set();
    let gateway = Gateway::start(AGENTS);
    gateway.server("tiny", &["--url", &format!("http://{}/session", stage.server_at)]);
    let mut contenders = stage.contenders("/session", Speech::Session);
    contenders.truncate(2);
    contenders.push(Contender::http(gateway.target("tiny", Speech::Session), vec![gateway.pid()]));
    for (tool, size) in SIZES {
        for &callers in callers_of(tool) {
            let rounds = contest(runtime, &mut contenders, tool, callers);
            let [direct, proxy, ours] = rounds.as_slice() else { panic!("three contenders") };
            let route = format!("HTTP→HTTP 2025 session, {}, {size}", callers_text(callers));
            let reference = Some((stage.proxy_name(), proxy));
            details(&Compared { route: &route, direct, reference, ours, name: "gateway" });
        }
    }
}

/// A server of stdio: behind a program that only copies, behind the gateway, and behind `connect` and the gateway.
pub(crate) fn stdio(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let here = std::env::current_exe().expect("the path of this program").display().to_string();
    let gateway = Gateway::start(AGENTS);
    gateway.server("tiny", &["--", &here, "lines"]);
    let (mut lines, mut copier) = (this(), this());
    lines.arg("lines");
    copier.arg("copier");
    let entered = runtime.enter();
    // The server itself is nobody's cost; the copier starts one of its own, which is not counted as a child.
    let mut contenders = [
        Contender::pipes(Piped::start(lines), Vec::new()),
        Contender::pipes(Piped::start(copier), Vec::new()),
        Contender::http(gateway.target("tiny", Speech::Modern), vec![gateway.pid()]),
        Contender::pipes(Piped::start(gateway.bridge("tiny")), vec![gateway.pid()]),
    ];
    drop(entered);
    for (tool, size) in SIZES {
        for &callers in callers_of(tool) {
            let rounds = contest(runtime, &mut contenders, tool, callers);
            let [direct, copier, http, bridge] = rounds.as_slice() else { panic!("four contenders") };
            for (route, ours) in [("HTTP→stdio", http), ("bridge→stdio", bridge)] {
                let label = format!("{route}, {}, {size}", callers_text(callers));
                let reference = Some(("copier", copier));
                details(&Compared { route: &label, direct, reference, ours, name: "gateway" });
                if (tool, callers) == ("small", 1) {
                    figures.add(Place::Stdio, over_a_pipe(route, direct, ours));
                }
            }
        }
    }
}

/// What a call of a stdio server takes through us, less what it takes over a pipe of one's own.
fn over_a_pipe(route: &str, direct: &Rounds, ours: &Rounds) -> tests::bench::Row {
    let route = format!("{route}, 1 caller, 200 B, over a direct pipe");
    let aim = if route.starts_with("HTTP") { "<= 60 µs; reach 40 µs" } else { "" };
    Compared { route: &route, direct, reference: None, ours, name: "gateway" }.added(aim)
}
