//! `taskwarden serve`: the core in the foreground until Ctrl-C; and `demo-server`.
//!
//! The first signal drains, a second one ends at once. What the core resumed, where it listens and the sign-in link are
//! printed once.

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use api::format::time::count;
use api::{ApiError, Code};
use clap::Args;
use domain::policy::{HostPolicy, Policy};
use engine::SystemClock;
use engine::runtime::supervisor::Supervisor;

use super::ui;
use crate::app::compose::{self, Adapters};
use crate::app::environment;
use crate::app::locked_data_dir::LockedDataDir;
use crate::app::shutdown_signals::ShutdownSignals;
use crate::app::start_error::StartError;
use crate::bridge::detached_core;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::config::{Config, ListenSetting};
use crate::os::core_lock::LockError;
use crate::os::random;
use crate::socket;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address for agents and the window in the browser: a loopback address with a port (0 takes a free one), or `off`
    /// [default: `listen` of the configuration, or 127.0.0.1:7717].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<ListenSetting>,
    /// Starts a detached core and ends; a bridge starts a core like this.
    #[arg(long, hide = true)]
    background: bool,
    /// This process is the detached core.
    #[arg(long, hide = true, requires = "background")]
    detached: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoServerArgs {
    /// Serve over HTTP on this port of 127.0.0.1 (0 takes a free one) instead of standard input and output.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
}

impl ServeArgs {
    /// Whether a bridge started it, not a person.
    pub(crate) const fn is_background(&self) -> bool {
        self.background
    }
}

pub(crate) async fn run(
    command: ServeArgs,
    config: Config,
    screen: &Screen,
    wrap: impl FnOnce(Adapters) -> Adapters,
) -> CommandResult {
    if command.background && !command.detached {
        return detached_core::start_core().map(|()| DONE).map_err(|error| {
            ApiError::new(Code::Failed, error.to_string(), "Run `taskwarden serve` in a terminal to see why.")
        });
    }
    // Read while what started us is still our parent.
    let is_below_agent = socket::is_below_agent();
    let starters = command.detached.then(detached_core::detach);
    let paths = config.paths.clone();
    let listen = command.listen.unwrap_or(config.listen);
    let mut signals = ShutdownSignals::listen(&config.policy.hosting)?;
    let mut held = LockedDataDir::take(config).map_err(failed)?;
    held.set_starters(starters);
    if !command.background && std::io::stdin().is_terminal() {
        environment::note(&paths);
    }
    let adapters = wrap(Adapters::production(&held).await.map_err(failed)?);
    let running = Box::pin(compose::start(held, adapters)).await.map_err(failed)?;
    let bound = match (listen, command.listen) {
        (ListenSetting::Off, _) => None,
        (ListenSetting::At(address), asked) => match running.listen(address).await {
            Ok(bound) => Some(bound),
            Err(error) if asked.is_some() => {
                Box::pin(running.shutdown()).await;
                return Err(ApiError::new(Code::Failed, error.to_string(), error.hint()));
            }
            Err(error) => {
                // The address was not given on the command line: run without it rather than not at all.
                screen.note(&format!("The window in the browser is not available: {error}. {}", error.hint()));
                None
            }
        },
    };
    let browser = bound.filter(|_| !is_below_agent).map(|bound| running.first_invitation(bound));
    let taken = running.api().startup_summary().await?;
    if screen.is_json() {
        screen.json_line(&serde_json::json!({
            "listening": paths.socket(),
            "process": std::process::id(),
            "servers": taken.servers,
            "openTasks": taken.open_tasks,
            "openRequests": taken.open_requests,
            "url": bound.map(ui::page_url),
            "link": browser.as_ref().map(|browser| &browser.link),
            "code": browser.as_ref().map(|browser| &browser.code),
        }))?;
    } else {
        screen.note(&format!("Taskwarden {} listens on {}", env!("CARGO_PKG_VERSION"), paths.socket().display()));
        screen.note(&format!(
            "Resumed {}, {} and {}. Press Ctrl-C to stop.",
            count(taken.servers, "server"),
            count(taken.open_tasks, "open task"),
            count(taken.open_requests, "open question")
        ));
        match (&browser, bound) {
            (Some(browser), _) => ui::note(browser, screen),
            (None, Some(bound)) => ui::note_without_link(bound, screen),
            (None, None) => {}
        }
    }
    if command.detached {
        detached_core::close_stderr();
    }
    signals.next().await;
    screen.note(
        "Stopping. Servers started here end; those with open tasks wait a while for the next core. Press Ctrl-C again to \
         end at once.",
    );
    tokio::select! {
        () = Box::pin(running.shutdown()) => Ok(DONE),
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
pub(crate) async fn demo(command: DemoServerArgs, screen: &Screen) -> CommandResult {
    let supervisor = Supervisor::new();
    let parts = demo::Parts {
        clock: Arc::new(SystemClock),
        draw: random::draw(),
        policy: Policy::default(),
        supervisor: supervisor.clone(),
    };
    let drain = parts.policy.drain_limit;
    let mut signals = ShutdownSignals::listen(&HostPolicy::default())?;
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
            "If the port is in use, `--http 0` takes a free one.",
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
        screen.note("The demo server listens at this address. Add it: taskwarden servers add demo --url URL");
    }
}
