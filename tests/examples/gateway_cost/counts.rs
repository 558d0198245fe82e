//! What one call of a single caller costs in things that can be counted: allocations, system calls, context switches,
//! instructions.
//!
//! Counts say more than times on a machine that does other work as well. Allocations are those of `counted_core`, the
//! same core with an allocator that counts.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tests::bench::{KernelCount, KernelCounts, Row, Switches, family};
use tests::load::{Piped, Speech};

use crate::figures::{Figures, Place, callers_text};
use crate::processes::{Gateway, helper, nginx, plain};
use crate::rounds::{Contender, Load};

/// How long calls are counted. Judgement: thousands of calls, so that what a core does by itself hardly counts.
const SPAN: Duration = Duration::from_secs(2);
/// Before that: connections are made, tables read, counts of texts remembered.
const WARM: Duration = Duration::from_millis(500);
/// Bytes of the large result, as `tests::tiny` makes it.
const LARGE: f64 = (1 << 20) as f64;

fn load(tool: &str, callers: usize, span: Duration) -> Load<'_> {
    Load { tool, callers, span }
}

/// What the allocator of a counted core has counted: allocations, and bytes.
#[derive(Debug, Clone, Copy)]
struct Allocated {
    times: f64,
    bytes: f64,
}

impl Allocated {
    fn read(at: &Path) -> Self {
        let mut told = String::new();
        let mut socket = UnixStream::connect(at).expect("the counted core listens");
        socket.read_to_string(&mut told).expect("it tells");
        let numbers: Vec<f64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [times, bytes] = numbers.as_slice() else { panic!("two numbers, not `{told}`") };
        Self { times: *times, bytes: *bytes }
    }
}

/// Allocations on every route, and how much is allocated for a large result.
fn allocations(runtime: &tokio::runtime::Runtime, server: &str, figures: &mut Figures) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("counts.sock");
    let gateway = Gateway::start_counted(1, &at);
    let here = std::env::current_exe().expect("the path of this program").display().to_string();
    gateway.server("tiny", &["--url", &format!("{server}/mcp")]);
    gateway.server("older", &["--url", &format!("{server}/session")]);
    gateway.server("pipes", &["--", &here, "lines"]);
    let entered = runtime.enter();
    let mut routes = [
        ("HTTP→HTTP", Contender::http(gateway.target("tiny", Speech::Modern), Vec::new())),
        ("HTTP→HTTP 2025 session", Contender::http(gateway.target("older", Speech::Session), Vec::new())),
        ("HTTP→stdio", Contender::http(gateway.target("pipes", Speech::Modern), Vec::new())),
        ("bridge→HTTP", Contender::pipes(Piped::start(gateway.bridge("tiny")), Vec::new())),
        ("bridge→stdio", Contender::pipes(Piped::start(gateway.bridge("pipes")), Vec::new())),
    ];
    drop(entered);
    for (route, contender) in &mut routes {
        let mut each = |tool: &str| {
            contender.play(runtime, load(tool, 1, WARM));
            let before = Allocated::read(&at);
            let calls = contender.play(runtime, load(tool, 1, SPAN)).calls;
            let after = Allocated::read(&at);
            Allocated { times: (after.times - before.times) / calls, bytes: (after.bytes - before.bytes) / calls }
        };
        let (small, large) = (each("small"), each("big"));
        let note = format!("{:.1} KiB", small.bytes / 1024.0);
        let count = Row {
            metric: format!("{route}, 1 caller, 200 B: allocations per call"),
            ours: Some(small.times),
            note,
            ..Row::default()
        };
        // One buffer receives it, whatever happens then.
        let copies = Row {
            metric: format!("{route}, 1 caller, 1 MB: copies of the result (bytes allocated over its size, less one)"),
            ours: Some((large.bytes / LARGE - 1.0).max(0.0)),
            ..Row::default()
        };
        if *route == "HTTP→HTTP" {
            figures.add(Place::Counts, Row { aim: "<= 60; reach 30".into(), ..count });
            figures.add(Place::Large, Row { aim: "<= 1; reach 0".into(), ..copies });
        } else {
            count.print();
            copies.print();
        }
    }
}

/// What the kernel counts for some processes while one contender calls, for each call.
struct PerCall {
    kernel: KernelCount,
    waited: f64,
    preempted: f64,
    reason: &'static str,
}

impl PerCall {
    fn of(runtime: &tokio::runtime::Runtime, contender: &mut Contender, callers: usize) -> Self {
        contender.play(runtime, load("small", callers, WARM));
        let switches = |pids: &[u32]| {
            pids.iter().map(|&pid| Switches::of(pid)).fold(Switches::default(), |sum, of| Switches {
                waited: sum.waited + of.waited,
                preempted: sum.preempted + of.preempted,
            })
        };
        // Two runs: whoever counts for `strace` stops the threads it counts.
        let before = switches(&contender.pids);
        let calls = contender.play(runtime, load("small", callers, SPAN)).calls;
        let switched = switches(&contender.pids).since(before);
        let (kernel, reason) = match KernelCounts::begin(&contender.pids) {
            Err(reason) => (KernelCount::default(), reason),
            Ok(counting) => {
                let calls = contender.play(runtime, load("small", callers, SPAN)).calls;
                let all = counting.finish();
                let each = |count: Option<f64>| count.map(|count| count / calls);
                (
                    KernelCount {
                        system_calls: each(all.system_calls),
                        user: each(all.user),
                        kernel: each(all.kernel),
                    },
                    "",
                )
            }
        };
        Self { kernel, waited: switched.waited as f64 / calls, preempted: switched.preempted as f64 / calls, reason }
    }
}

/// System calls, context switches and instructions, of nginx and of us.
fn kernel(runtime: &tokio::runtime::Runtime, server: std::net::SocketAddr, figures: &mut Figures) {
    let folder = tempfile::tempdir().expect("a folder");
    let proxy = nginx(server, folder.path());
    let gateway = Gateway::start(16);
    gateway.server("tiny", &["--url", &format!("http://{server}/mcp")]);
    let mut ours = Contender::http(gateway.target("tiny", Speech::Modern), vec![gateway.pid()]);
    let mut theirs =
        proxy.as_ref().map(|(proxy, at)| Contender::http(plain(*at, "/mcp", Speech::Modern), family(proxy.pid())));
    for callers in [1, 64] {
        let reference = theirs.as_mut().map(|theirs| PerCall::of(runtime, theirs, callers));
        let ours = PerCall::of(runtime, &mut ours, callers);
        let row = |what: &str, of: &dyn Fn(&PerCall) -> Option<f64>| Row {
            metric: format!("HTTP→HTTP, {}, 200 B: {what} per call; nginx, gateway", callers_text(callers)),
            reference: reference.as_ref().and_then(of),
            ours: of(&ours),
            note: if of(&ours).is_none() { ours.reason.to_owned() } else { String::new() },
            ..Row::default()
        };
        let system_calls = row("system calls", &|of| of.kernel.system_calls);
        let waits = row("context switches", &|of| Some(of.waited));
        if callers == 1 {
            figures.add(Place::Counts, Row { aim: "<= 10; reach 8".into(), ..system_calls });
            figures.add(Place::Counts, Row { aim: "<= 2.5; reach 2".into(), ..waits });
        } else {
            system_calls.print();
            waits.print();
        }
        row("threads preempted", &|of| Some(of.preempted)).print();
        row("instructions", &|of| of.kernel.user).print();
        row("instructions in the kernel", &|of| of.kernel.kernel).print();
    }
}

pub(crate) fn measure(runtime: &tokio::runtime::Runtime, figures: &mut Figures) {
    let (_server, server) = helper(&["server"]);
    allocations(runtime, &format!("http://{server}"), figures);
    kernel(runtime, server, figures);
}
