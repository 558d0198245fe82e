//! `taskwarden serve`: the core in the foreground, until Ctrl-C; and `demo-server`.
//!
//! The first signal drains, a second one ends at once. What the core took up, where it listens and the code of the
//! browser's door are said once.

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;
use domain::policy::{HostPolicy, Policy};
use engine::SystemClock;
use engine::runtime::supervisor::Supervisor;

use super::screen::Screen;
use super::ui;
use super::{DONE, Ended, INTERRUPTED};
use crate::compose::{self, Adapters, Held, StartError};
use crate::config::{Config, Listen};
use crate::lock::LockError;
use crate::random;
use crate::signals::Signals;
use crate::{detach, environment};

/// The core.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where agents and the window in the browser are served: a loopback address with a port (0 takes a free one), or `off`
    /// [default: 127.0.0.1:7717, or `listen` of the configuration].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,
    /// Starts a core that belongs to nobody, and ends; a bridge starts a core like this.
    #[arg(long, hide = true)]
    background: bool,
    /// This process is that core.
    #[arg(long, hide = true, requires = "background")]
    detached: bool,
}

/// The demo server.
#[derive(Debug, Args)]
pub(crate) struct DemoServer {
    /// Serve over HTTP on this port of 127.0.0.1 instead of standard input and output; 0 takes a free one.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
}

impl Serve {
    /// Whether a bridge started it, and no person did.
    pub(crate) const fn is_background(&self) -> bool {
        self.background
    }
}

pub(crate) async fn run(
    command: Serve,
    config: Config,
    screen: &Screen,
    wrap: impl FnOnce(Adapters) -> Adapters,
) -> Ended {
    if command.background && !command.detached {
        return detach::start_core().map(|()| DONE).map_err(|error| {
            ApiError::new(Code::Failed, error.to_string(), "`taskwarden serve` in a terminal says why.")
        });
    }
    let starters = command.detached.then(detach::leave);
    let paths = config.paths.clone();
    let listen = command.listen.unwrap_or(config.listen);
    let mut signals = Signals::listen(&config.policy.hosting)?;
    let mut held = Held::take(config).map_err(failed)?;
    held.set_starters(starters);
    if !command.background && std::io::stdin().is_terminal() {
        environment::note(&paths);
    }
    let adapters = wrap(Adapters::production(&held).await.map_err(failed)?);
    let running = Box::pin(compose::start(held, adapters)).await.map_err(failed)?;
    let browser = match (listen, command.listen) {
        (Listen::Off, _) => None,
        (Listen::At(address), asked) => match running.listen(address).await {
            Ok(invitation) => Some(invitation),
            Err(error) if asked.is_some() => {
                Box::pin(running.stop()).await;
                return Err(ApiError::new(Code::Failed, error.to_string(), error.hint()));
            }
            Err(error) => {
                // Not asked for by name: the core is worth more than its page.
                screen.note(&format!("No window in the browser: {error}. {}", error.hint()));
                None
            }
        },
    };
    let taken = running.api().startup_summary().await?;
    if screen.is_json() {
        screen.json_line(&serde_json::json!({
            "listening": paths.socket(),
            "process": std::process::id(),
            "servers": taken.servers,
            "openTasks": taken.open_tasks,
            "openRequests": taken.open_requests,
            "url": browser.as_ref().map(|browser| &browser.url),
            "code": browser.as_ref().map(|browser| &browser.code),
        }))?;
    } else {
        screen.note(&format!("Taskwarden {} listens on {}", env!("CARGO_PKG_VERSION"), paths.socket().display()));
        screen.note(&format!(
            "Took up {}, {} and {}. Ctrl-C stops it.",
            count(taken.servers, "server"),
            count(taken.open_tasks, "open task"),
            count(taken.open_requests, "open question")
        ));
        if let Some(browser) = &browser {
            ui::say(browser, screen);
        }
    }
    if command.detached {
        detach::is_started();
    }
    signals.next().await;
    screen.note(
        "Stopping. Servers that were started here end; those with open tasks wait a while for the next core. \
         Once more ends at once.",
    );
    tokio::select! {
        () = Box::pin(running.stop()) => Ok(DONE),
        () = signals.next() => Ok(INTERRUPTED),
    }
}

fn failed(error: StartError) -> ApiError {
    let code = match &error {
        StartError::Lock(LockError::Held { .. }) => Code::Refused,
        StartError::Home(_)
        | StartError::Lock(LockError::Unusable { .. })
        | StartError::Logs { .. }
        | StartError::Vault(_)
        | StartError::Registry(_)
        | StartError::Attach(_)
        | StartError::Thread(_)
        | StartError::Socket { .. } => Code::Failed,
    };
    ApiError::new(code, error.to_string(), error.hint())
}

/// Runs the built-in demo server until its client leaves or Ctrl-C.
pub(crate) async fn demo(command: DemoServer, screen: &Screen) -> Ended {
    let supervisor = Supervisor::new();
    let parts = demo::Parts {
        clock: Arc::new(SystemClock),
        draw: random::draw(),
        policy: Policy::default(),
        supervisor: supervisor.clone(),
    };
    let drain = parts.policy.drain_limit;
    let mut signals = Signals::listen(&HostPolicy::default())?;
    let serving = async {
        match command.http {
            None => demo::serve_stdio(parts).await,
            Some(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                demo::serve_http(parts, address, |url| announce(url, screen)).await
            }
        }
    };
    let ended = tokio::select! {
        served = serving => served.map(|()| DONE).map_err(|error| ApiError::new(
            Code::Failed,
            format!("the demo server ended: {error}"),
            "If the port is taken, `--http 0` takes a free one.",
        )),
        () = signals.next() => Ok(DONE),
    };
    supervisor.stop(drain).await;
    ended
}

fn announce(url: &str, screen: &Screen) {
    if screen.is_json() {
        screen.raw(format!("{}\n", serde_json::json!({ "url": url })).as_bytes());
    } else {
        screen.line(url);
        screen.note("The demo server listens there. Add it: taskwarden servers add demo --url URL");
    }
}
