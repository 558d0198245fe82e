//! Servers: add, list, show, their tools, remove.
//!
//! Nothing is contacted before a person saw the address and agreed, and what was agreed to is recorded with it. Showing the
//! address and asking is the door's part (the command line, the window). What a person does to a server that is there is in
//! `change.rs`, `running.rs` and `sign_in.rs`, its tools are in `tools.rs`.

pub mod change;
pub mod running;
pub mod sign_in;
pub mod tools;

use std::collections::{BTreeMap, BTreeSet};

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::ServerId;
use domain::ports::{Secret, ServerUnit};
use domain::server::pause::{PauseSubject, SendWaiting};
use domain::server::{Consent, Server, ServerAddress, ServerHealth, check_server_name};
use domain::task::figures::TaskTally;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::left_entries::{GoneName, LeftEntries};
use super::{Nothing, OneServer};
use crate::api::{Api, LiveCore};
use crate::caller::Caller;
use crate::dto::server::ServerContext;
use crate::dto::{AddressDto, ServerDto, TaskFigures, ToolDto};
use crate::error::{ApiError, Code};
use crate::format::time::count;

/// A server to add. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddServer {
    /// Its name here.
    pub name: String,
    /// How it is reached.
    pub address: AddressDto,
    /// Values of its secret environment variables or headers, by name.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub secrets: BTreeMap<String, String>,
    /// Whether the person was shown exactly this address and agreed.
    pub agreed: bool,
}

/// A command to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocateProgram {
    /// The program as it was typed.
    pub command: String,
    /// The folder in which it will run; the home folder when absent.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// Where a command was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProgramLocated {
    /// Its full path, which will run; null when there is no such program.
    pub program: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerAdded {
    /// The server, as it is after the first attempt to connect.
    pub server: ServerDto,
    /// Its tools; null when it could not be reached, or when its tools could not be listed.
    pub tools: Option<Vec<ToolDto>>,
    /// Why its tools could not be listed, although it is connected; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub tools_failed: Option<String>,
}

/// All servers by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerList {
    pub servers: Vec<ServerDto>,
}

/// A server to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveServer {
    pub name: String,
    /// Whether the person knows that its open tasks are lost with it.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub even_with_open_tasks: bool,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerRemoved {
    pub name: String,
    /// Open tasks that are lost with it.
    pub lost_tasks: u64,
    /// Entries of agent programs that still lead to it.
    pub left: Vec<LeftEntries>,
}

impl Api {
    /// Adds a server a person agreed to, connects, and says what was found.
    ///
    /// # Errors
    /// When the name cannot be one or is taken, nobody agreed, or it cannot be recorded.
    pub async fn server_add(&self, caller: &Caller, input: AddServer) -> Result<ServerAdded, ApiError> {
        let live = self.live()?;
        let AddServer { name, address, secrets, agreed } = input;
        check_server_name(&name)
            .map_err(|bad| ApiError::new(Code::Usage, bad.to_string(), "Choose a name such as `files` or `ci-2`."))?;
        let address = with_full_path(live, ServerAddress::from(address));
        check_address(&address, &secrets)?;
        if self.registry.servers().await?.iter().any(|server| server.name == name) {
            return Err(ApiError::new(
                Code::Refused,
                format!("there is a server `{name}` already"),
                format!("Choose another name, or remove it first with `taskwarden servers remove {name}`."),
            ));
        }
        if !agreed {
            return Err(ApiError::new(
                Code::Refused,
                format!("contacting server `{name}` was not agreed to"),
                "Check the address and agree, or pass `--yes`.",
            ));
        }
        let id = ServerId::from_random((live.draw)());
        keep_secrets(live, id, &secrets)?;
        let server = new_server(id, name, address, caller, self.now());
        let unit = ServerUnit { audit: added(&server, caller, self.now()), server };
        if let Err(error) = self.registry.put_server(unit).await {
            forget_secrets(live, id, secrets.keys());
            return Err(error.into());
        }
        live.engine.server_changed(id).await?;
        let limit = self.policy.probe_first_output.saturating_add(self.policy.initialize_limit);
        let health = live.engine.settled(id, limit).await;
        let tools = match health {
            ServerHealth::Up { .. } => Some(live.engine.tools(id).await),
            ServerHealth::Unknown
            | ServerHealth::Connecting
            | ServerHealth::Down { .. }
            | ServerHealth::Ended { .. }
            | ServerHealth::Blocked { .. } => None,
        };
        let (tools, tools_failed) = match tools {
            Some(Ok(tools)) => (Some(ToolDto::list(tools)), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let server = self.registry.server(id).await?.ok_or(engine::EngineError::UnknownServer)?;
        Ok(ServerAdded {
            server: self.server_dto(&server, &self.registry.tallies().await?).await?,
            tools,
            tools_failed,
        })
    }

    /// Where a command lies, so that a person sees what will run before agreeing to it.
    ///
    /// # Errors
    /// When no core runs.
    pub async fn server_locate(&self, _caller: &Caller, input: LocateProgram) -> Result<ProgramLocated, ApiError> {
        Ok(ProgramLocated { program: (self.live()?.locate)(&input.command, input.cwd.as_deref()) })
    }

    /// All servers.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn server_list(&self, _caller: &Caller, _input: Nothing) -> Result<ServerList, ApiError> {
        let tallies = self.registry.tallies().await?;
        let mut servers = Vec::new();
        for server in self.registry.servers().await? {
            servers.push(self.server_dto(&server, &tallies).await?);
        }
        Ok(ServerList { servers })
    }

    /// One server.
    ///
    /// # Errors
    /// When there is none of this name.
    pub async fn server_show(&self, _caller: &Caller, input: OneServer) -> Result<ServerDto, ApiError> {
        let server = self.find_server(&input.name).await?;
        self.server_dto(&server, &self.registry.tallies().await?).await
    }

    /// A person agrees to contact a server, after its address was shown.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be recorded.
    pub async fn server_agree(&self, caller: &Caller, input: OneServer) -> Result<ServerDto, ApiError> {
        let live = self.live()?;
        let mut server = self.find_server(&input.name).await?;
        let fingerprint = server.address.fingerprint();
        if server.consent.as_ref().is_none_or(|given| given.fingerprint != fingerprint) {
            let now = self.now();
            server.consent = Some(Consent { by: caller.person.clone(), at: now, fingerprint });
            let audit = vec![fact(&server, caller, Verb::ServerAllowed, now)];
            self.registry.put_server(ServerUnit { server: server.clone(), audit }).await?;
            live.engine.server_changed(server.id).await?;
        }
        self.server_dto(&server, &self.registry.tallies().await?).await
    }

    /// How the built-in demo server is started.
    ///
    /// # Errors
    /// When this program has none.
    pub async fn demo_address(&self, _caller: &Caller, _input: Nothing) -> Result<AddressDto, ApiError> {
        match self.live()?.demo.split_first() {
            Some((command, args)) => Ok(AddressDto::Stdio {
                command: command.clone(),
                args: args.to_vec(),
                env: BTreeMap::new(),
                secret_env: Vec::new(),
                cwd: None,
            }),
            None => Err(ApiError::new(Code::NotFound, "this program has no demo server", "Add a server of your own.")),
        }
    }

    /// Removes a server; its tasks stay for the record.
    ///
    /// # Errors
    /// When it has open tasks and the person was not told, or it cannot be recorded.
    pub async fn server_remove(&self, caller: &Caller, input: RemoveServer) -> Result<ServerRemoved, ApiError> {
        let live = self.live()?;
        let server = self.find_server(&input.name).await?;
        let open = self.registry.open_count(Some(server.id)).await?;
        if open > 0 && !input.even_with_open_tasks {
            return Err(ApiError::new(
                Code::Refused,
                format!("server `{}` has {}, which would be lost", server.name, count(open, "open task")),
                "Cancel them first with `taskwarden tasks cancel --server`, or remove it with `--yes`.",
            ));
        }
        let fact = fact(&server, caller, Verb::ServerRemoved, self.now());
        self.registry.remove_server(server.id, vec![fact]).await?;
        live.engine.server_removed(server.id).await?;
        let subject = PauseSubject::Server(server.id);
        if live.engine.pause_of(subject).is_some() {
            // Nobody could name it any more to end it.
            let sends_none = SendWaiting::Only(BTreeSet::new());
            live.engine.end_pause(subject, caller.person.clone(), Some(sends_none)).await?;
        }
        live.engine.forget_sign_in(&server).await;
        forget_secrets(live, server.id, secret_names(&server.address).iter());
        let left = self.left_entries(GoneName::Server(&server.name)).await;
        Ok(ServerRemoved { name: server.name, lost_tasks: open, left })
    }

    /// A server as it is shown, with its figures out of those of all tasks.
    pub(crate) async fn server_dto(&self, server: &Server, tallies: &[TaskTally]) -> Result<ServerDto, ApiError> {
        let engine = self.engine();
        Ok(ServerDto::of(
            server,
            ServerContext {
                health: engine.map_or(ServerHealth::Unknown, |engine| engine.health(server.id)),
                figures: TaskFigures::of(tallies.iter().filter(|tally| tally.server == server.id)),
                stderr_tail: engine.map(|engine| engine.stderr_tail(server.id)).unwrap_or_default(),
                pushes: engine.is_some_and(|engine| engine.pushes(server.id)),
                tools: engine.and_then(|engine| engine.known_tools(server.id)),
                changed_tools: engine.map(|engine| engine.changed_tools(server.id)).unwrap_or_default(),
                not_offered: engine.map(|engine| engine.tools_not_offered(server.id)).unwrap_or_default(),
                cancels: self.registry.cancels(server.id).await?,
                refused_questions: engine.and_then(|engine| engine.refused_questions(server.id)),
                sign_in: engine.map(|engine| engine.sign_in_status(server)).unwrap_or_default(),
                frozen: self.pause_of(PauseSubject::Server(server.id), &server.name),
            },
        ))
    }
}

/// The address with the full path of its command. A command that is not found stays as it was named; it is not run.
pub(super) fn with_full_path(live: &LiveCore, address: ServerAddress) -> ServerAddress {
    match &address {
        ServerAddress::Stdio { command, cwd, .. } => match (live.locate)(command, cwd.as_deref()) {
            Some(found) => address.with_command(found),
            None => address,
        },
        ServerAddress::Http { .. } => address,
    }
}

pub(super) fn new_server(
    id: ServerId,
    name: String,
    address: ServerAddress,
    caller: &Caller,
    now: Timestamp,
) -> Server {
    let fingerprint = address.fingerprint();
    Server {
        id,
        name,
        address,
        consent: Some(Consent { by: caller.person.clone(), at: now, fingerprint }),
        generation: 0,
        verdict: None,
        negotiated: None,
        created: now,
    }
}

fn fact(server: &Server, caller: &Caller, verb: Verb, now: Timestamp) -> AuditEvent {
    AuditEvent {
        at: now,
        actor: Actor::Person(caller.person.clone()),
        verb,
        subject: Subject::Server(server.id),
        note: server.name.clone(),
    }
}

pub(super) fn added(server: &Server, caller: &Caller, now: Timestamp) -> Vec<AuditEvent> {
    [Verb::ServerAdded, Verb::ServerAllowed].map(|verb| fact(server, caller, verb, now)).into()
}

pub(super) fn check_address(address: &ServerAddress, secrets: &BTreeMap<String, String>) -> Result<(), ApiError> {
    match address {
        ServerAddress::Stdio { command, .. } if command.trim().is_empty() => Err(ApiError::new(
            Code::Usage,
            "the command is empty",
            "Give the program after `--`, such as `-- npx -y some-server`.",
        )),
        ServerAddress::Http { url, .. } if !(url.starts_with("http://") || url.starts_with("https://")) => {
            Err(ApiError::new(
                Code::Usage,
                "the URL of a server must begin with `https://` or `http://`",
                "Give the whole address, such as `https://host/mcp`.",
            ))
        }
        ServerAddress::Stdio { .. } | ServerAddress::Http { .. } => {
            let names = secret_names(address);
            match names.iter().find(|name| !secrets.contains_key(*name)) {
                Some(name) => Err(ApiError::new(
                    Code::Usage,
                    format!("secret `{name}` has no value"),
                    "Set it in your environment, or type it when asked.",
                )),
                None => Ok(()),
            }
        }
    }
}

/// Names under which an address has secrets.
fn secret_names(address: &ServerAddress) -> &[String] {
    match address {
        ServerAddress::Stdio { secret_env, .. } => secret_env,
        ServerAddress::Http { secret_headers, .. } => secret_headers,
    }
}

pub(super) fn keep_secrets(live: &LiveCore, id: ServerId, secrets: &BTreeMap<String, String>) -> Result<(), ApiError> {
    for (name, value) in secrets {
        if let Err(error) = live.secrets.put(id, name, &Secret::new(value.clone())) {
            forget_secrets(live, id, secrets.keys());
            return Err(ApiError::new(
                Code::Failed,
                format!("secret `{name}` could not be stored: {error}"),
                "`taskwarden doctor` shows where secrets are stored and how to repair it; nothing was added.",
            ));
        }
    }
    Ok(())
}

pub(super) fn forget_secrets<'a>(live: &LiveCore, id: ServerId, names: impl Iterator<Item = &'a String>) {
    for name in names {
        // A secret that cannot be forgotten names no server any more; `doctor` tells about the place itself.
        let _ = live.secrets.forget(id, name);
    }
}
