//! Finds the core for a bridge, and starts one without a window if there is none and the client waits.
//!
//! A started core is not a descendant of the bridge and outlives it (`detached_core.rs`). A person can turn that off in
//! the settings (*keep serving agents*); then the bridge waits until somebody starts a core. What is said over the
//! stream is not known here.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use api::ApiError;
use api::dto::SettingsDto;
use mcp::gateway::model_text::core_away;
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde_json::Value;

use crate::agent_access::token_file;
use crate::app::core_client::CoreClient;
use crate::app::socket_client::{connect_options, unprepared};
use crate::bridge::unanswered::ForwardedRequests;
use crate::config::Config;
use crate::os::core_lock::CoreLock;
use crate::os::own_program::own_program;
use crate::socket::{AGENT_HEADER, PROTOCOL, SERVER_HEADER};

/// A stream to the core, in both directions.
pub(crate) type CoreStream = reqwest::Upgraded;

/// Finds or starts a core, and introduces the agent to it.
pub(crate) struct CoreFinder {
    client: reqwest::Client,
    config: Config,
    agent: String,
    /// Replaced when the agent was given a new one and the file has it.
    token: Mutex<String>,
    /// One server, or all.
    server: Option<String>,
    /// The core that is being started, and whether starting is allowed.
    started: Arc<Mutex<Started>>,
}

/// How much a failing start may print, in bytes; a few lines are read.
const FAILURE_BYTES: u64 = 16_384;
/// How often a refused bridge reads its saved token again. Judgement: a second, a saved token is there in milliseconds.
const REFUSALS: u32 = 20;
/// The longest reason shown to a client, in characters.
const FAILURE_CHARS: usize = 300;

#[derive(Default)]
struct Started {
    /// Whether a start is in progress: it has neither succeeded nor failed.
    is_starting: bool,
    /// How the last start failed.
    failure: Option<String>,
    may_not: bool,
}

/// Why no stream was opened.
enum OpenError {
    /// There is no core, or it is not ready.
    NotThere,
    /// The core refuses this agent.
    Refused(ApiError),
}

impl CoreFinder {
    /// Prepares the client. There is no `Debug`, because the token is a secret.
    pub(crate) fn new(config: Config, agent: String, token: String, server: Option<String>) -> Result<Self, ApiError> {
        let options = connect_options(&config.paths, &config.policy).pool_max_idle_per_host(0);
        let client = options.build().map_err(|error| unprepared(&error))?;
        Ok(Self { client, config, agent, token: Mutex::new(token), server, started: Arc::default() })
    }

    /// Tries until there is a core. Starts one if the client waits for something and no core has the data directory.
    /// Dropping the future leaves a started core alone.
    pub(crate) async fn find(&self, requests: &Mutex<ForwardedRequests>) -> Result<CoreStream, ApiError> {
        let (mut has_asked, mut refused) = (false, 0);
        loop {
            match self.open().await {
                Ok(stream) => return Ok(stream),
                // The connection of an agent ends when it is given a new token, a moment before the file has it.
                Err(OpenError::Refused(error)) if refused >= REFUSALS || !self.has_saved_token() => return Err(error),
                Err(OpenError::Refused(_)) => {
                    refused += 1;
                    self.read_saved_token();
                    tokio::time::sleep(self.config.policy.hosting.doorway.bridge_step).await;
                    continue;
                }
                Err(OpenError::NotThere) => {}
            }
            let is_wanted = requests.lock().is_waiting();
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
    pub(crate) fn why_not(&self) -> String {
        let started = self.started.lock();
        match &started.failure {
            _ if started.may_not => core_away::start_not_allowed(),
            Some(how) => core_away::could_not_start(how),
            None => core_away::unreachable(),
        }
    }

    /// Whether the token comes from the file that the core keeps current; one from the environment stays as it is.
    fn has_saved_token(&self) -> bool {
        std::env::var_os(token_file::VARIABLE).is_none() && self.config.paths.agent_token(&self.agent).exists()
    }

    fn read_saved_token(&self) {
        if let Ok(token) = token_file::find(&self.config.paths, &self.agent) {
            *self.token.lock() = token;
        }
    }

    async fn open(&self) -> Result<CoreStream, OpenError> {
        let mut asked = self
            .client
            .post("http://core/agent")
            .header("connection", "upgrade")
            .header("upgrade", PROTOCOL)
            .header(AGENT_HEADER, &self.agent)
            .bearer_auth(self.token.lock().as_str());
        if let Some(server) = &self.server {
            asked = asked.header(SERVER_HEADER, server);
        }
        let reply = asked.send().await.map_err(|_| OpenError::NotThere)?;
        if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
            return reply.upgrade().await.map_err(|_| OpenError::NotThere);
        }
        let is_refusal = reply.status().is_client_error() && reply.status() != StatusCode::TOO_MANY_REQUESTS;
        let text = reply.text().await.map_err(|_| OpenError::NotThere)?;
        match serde_json::from_str::<ApiError>(&text) {
            Ok(error) if is_refusal => Err(OpenError::Refused(error)),
            Ok(_) | Err(_) => Err(OpenError::NotThere),
        }
    }

    /// Whether a core may be started for agents: yes, unless the person turned it off.
    async fn may_start(&self) -> bool {
        let Ok(core) = CoreClient::attach_or_read(&self.config).await else { return true };
        let kind = serde_json::json!({ "kind": "setting" });
        let Ok(desk) = core.request::<Value>("desk.list", &kind).await else { return true };
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

    /// The command that starts a core outside of the agent's folder, terminal and environment.
    fn command(&self) -> std::io::Result<Child> {
        let mut command = Command::new(own_program()?);
        command.args(["serve", "--background"]);
        command.env_clear().envs(crate::app::environment::of_background(&self.config.paths));
        command.current_dir(self.config.paths.home());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }
}

/// Waits until the core runs or its start has failed, and returns the failure. The core keeps the starter's standard
/// error open until it runs.
fn failure_of(mut starter: Child) -> Option<String> {
    let mut said = Vec::new();
    if let Some(mut errors) = starter.stderr.take() {
        // The rest is read too, so that the starter never blocks on a full pipe.
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
