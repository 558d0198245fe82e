//! Finds the core for a bridge, and starts one without a window when there is none and the client waits.
//!
//! A started core is no descendant of the bridge and outlives it (`detach.rs`). A person who does not want that says so
//! in the settings (*keep serving agents*); then the bridge waits for a core that somebody starts. What is said over
//! the stream is not known here.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use api::dto::SettingsDto;
use api::{ApiError, Code};
use mcp::gateway::model_text::core_away;
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde_json::Value;

use super::ledger::Ledger;
use crate::config::Config;
use crate::door::Door;
use crate::lock::CoreLock;
use crate::socket::{AGENT_HEADER, PROTOCOL, SERVER_HEADER};

/// The way to the core, in both directions.
pub(crate) type Stream = reqwest::Upgraded;

/// How a bridge introduces itself.
pub(crate) struct Way {
    client: reqwest::Client,
    config: Config,
    agent: String,
    token: String,
    /// One server, or all.
    server: Option<String>,
    /// What was started, and whether that may be done at all, once it is known.
    started: Arc<Mutex<Started>>,
}

/// What a starter and its core may say about a failure, in bytes; a few lines are read.
const FAILURE_BYTES: u64 = 16_384;
/// The longest reason that is told to a client, in characters.
const FAILURE_CHARS: usize = 300;

#[derive(Default)]
struct Started {
    /// Whether a core is on its way: it neither runs nor has it failed.
    is_starting: bool,
    /// How the last one ended, when it ended badly.
    failure: Option<String>,
    may_not: bool,
}

/// Why no stream was opened.
enum Shut {
    /// Nobody is there, or is not ready.
    NotThere,
    /// The core does not want this agent.
    Refused(ApiError),
}

impl Way {
    /// Prepares it. The token is a secret; there is no `Debug`.
    pub(crate) fn new(config: Config, agent: String, token: String, server: Option<String>) -> Result<Self, ApiError> {
        let client = reqwest::Client::builder()
            .unix_socket(config.paths.socket())
            .no_proxy()
            // No certificate is needed at a socket: bad ones of this machine are no reason to have no way to the core.
            .tls_certs_only([])
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(config.policy.hosting.attach_limit)
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| {
                ApiError::new(
                    Code::Failed,
                    format!("the way to the core could not be prepared: {error}"),
                    "Run `taskwarden doctor`.",
                )
            })?;
        Ok(Self { client, config, agent, token, server, started: Arc::default() })
    }

    /// Tries until there is a core. While the client waits for something and nobody has the data directory, it starts
    /// one. Dropped, it leaves what it started.
    pub(super) async fn find(&self, ledger: &Mutex<Ledger>) -> Result<Stream, ApiError> {
        let mut has_asked = false;
        loop {
            match self.open().await {
                Ok(stream) => return Ok(stream),
                Err(Shut::Refused(error)) => return Err(error),
                Err(Shut::NotThere) => {}
            }
            let is_wanted = ledger.lock().is_waiting();
            if is_wanted && CoreLock::holder(&self.config.paths.lock()).is_none() {
                if !std::mem::replace(&mut has_asked, true) {
                    let may = self.may_start().await;
                    self.started.lock().may_not = !may;
                }
                self.start();
            }
            tokio::time::sleep(self.config.policy.hosting.doorway.bridge_step).await;
        }
    }

    /// Why there is no core, for the client.
    pub(super) fn why_not(&self) -> String {
        let started = self.started.lock();
        match &started.failure {
            _ if started.may_not => core_away::start_not_allowed(),
            Some(how) => core_away::could_not_start(how),
            None => core_away::unreachable(),
        }
    }

    async fn open(&self) -> Result<Stream, Shut> {
        let mut asked = self
            .client
            .post("http://core/agent")
            .header("connection", "upgrade")
            .header("upgrade", PROTOCOL)
            .header(AGENT_HEADER, &self.agent)
            .bearer_auth(&self.token);
        if let Some(server) = &self.server {
            asked = asked.header(SERVER_HEADER, server);
        }
        let reply = asked.send().await.map_err(|_| Shut::NotThere)?;
        if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
            return reply.upgrade().await.map_err(|_| Shut::NotThere);
        }
        let is_refusal = reply.status().is_client_error() && reply.status() != StatusCode::TOO_MANY_REQUESTS;
        let text = reply.text().await.map_err(|_| Shut::NotThere)?;
        match serde_json::from_str::<ApiError>(&text) {
            Ok(error) if is_refusal => Err(Shut::Refused(error)),
            Ok(_) | Err(_) => Err(Shut::NotThere),
        }
    }

    /// Whether a person wants a core to be started for agents; they do as long as they did not say otherwise.
    async fn may_start(&self) -> bool {
        let Ok(door) = Door::any(&self.config).await else { return true };
        let kind = serde_json::json!({ "kind": "setting" });
        let Ok(desk) = door.ask::<Value>("desk.list", &kind).await else { return true };
        let kept = desk.pointer("/items/0/value").cloned().unwrap_or_default();
        serde_json::from_value::<SettingsDto>(kept).ok().and_then(|kept| kept.keep_serving_agents).unwrap_or(true)
    }

    fn start(&self) {
        let mut started = self.started.lock();
        if started.is_starting || started.may_not {
            return;
        }
        let told = Arc::clone(&self.started);
        let begun = self.command().and_then(|starter| {
            std::thread::Builder::new().name("core start".into()).spawn(move || {
                let failure = failure_of(starter);
                let mut started = told.lock();
                started.is_starting = false;
                started.failure = failure;
            })
        });
        match begun {
            Ok(_) => started.is_starting = true,
            Err(error) => started.failure = Some(error.to_string()),
        }
    }

    /// A core of its own: not in the agent's folder, not at its terminal, and with nothing of its environment.
    fn command(&self) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--background"]);
        command.env_clear().envs(crate::environment::of_background(&self.config.paths));
        command.current_dir(self.config.paths.home());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }
}

/// Waits until the core runs or its start has failed, and says how it failed. The core keeps the starter's standard
/// error open until it runs.
fn failure_of(mut starter: Child) -> Option<String> {
    let mut said = Vec::new();
    if let Some(mut errors) = starter.stderr.take() {
        // What is cut off is read all the same, so that nobody waits for room in the pipe.
        let _ = errors.by_ref().take(FAILURE_BYTES).read_to_end(&mut said);
        let _ = std::io::copy(&mut errors, &mut std::io::sink());
    }
    let status = starter.wait();
    let said = String::from_utf8_lossy(&said);
    let error = said.lines().find_map(|line| line.strip_prefix("error: "));
    match (error, status) {
        (Some(error), _) => Some(domain::policy::plain_text(error, FAILURE_CHARS)),
        (None, Ok(status)) if status.success() => None,
        (None, Ok(status)) => Some(status.to_string()),
        (None, Err(error)) => Some(error.to_string()),
    }
}
