//! An upstream server as configured, and what was last negotiated with it.
//!
//! Secret values (headers, environment) are not here: they live behind the `Secrets` port under the server's id;
//! only their names are. Nothing here connects.

pub mod halt;
pub mod pause;
pub mod route;
pub mod tool_memory;
pub mod tool_names;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::ids::{PersonId, ServerId, SessionKey};
use crate::time::Timestamp;

/// How the server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// Program: its full path. A bare name, as earlier versions kept it, is never run.
        command: String,
        /// Its arguments, as given.
        args: Vec<String>,
        /// Plain environment by name (ruling 15: nothing else is inherited but the basics).
        env: BTreeMap<String, String>,
        /// Names of environment variables whose values are secrets.
        secret_env: Vec<String>,
        /// Working directory; the user's home when absent.
        cwd: Option<String>,
    },
    /// Streamable HTTP, or the old HTTP+SSE when the probe finds so.
    Http {
        /// Absolute URL of the endpoint.
        url: String,
        /// Names of headers whose values are secrets (a bearer token is `Authorization`).
        secret_headers: Vec<String>,
    },
}

impl ServerAddress {
    /// The same address with another program; one without a program stays as it is.
    #[must_use]
    pub fn with_command(&self, program: String) -> Self {
        match self.clone() {
            Self::Stdio { args, env, secret_env, cwd, .. } => {
                Self::Stdio { command: program, args, env, secret_env, cwd }
            }
            http @ Self::Http { .. } => http,
        }
    }

    /// What the verdict and the consent are bound to: command, arguments, environment names, or URL.
    /// Another fingerprint means: ask again, probe again.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Stdio { command, args, env, secret_env, cwd } => {
                let names: Vec<&str> = env.keys().chain(secret_env).map(String::as_str).collect();
                format!("stdio {command:?} {args:?} {names:?} {:?}", cwd.as_deref().unwrap_or(""))
            }
            Self::Http { url, secret_headers } => format!("http {url:?} {secret_headers:?}"),
        }
    }
}

/// A person's agreement to run a command or to contact a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub by: PersonId,
    pub at: Timestamp,
    /// To what: [`ServerAddress::fingerprint`] at that time.
    pub fingerprint: String,
}

/// What a person may do to the connection of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAct {
    /// Its process is ended, or its connection closed, and opened anew.
    Restart,
    /// Its process is ended, and started by the next call.
    End,
    /// It is reached in another way from now on.
    Change,
}

/// Which wire the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Per-request metadata, 2026-07-28 and later.
    Modern,
    /// `initialize` handshake over stdio or Streamable HTTP.
    Legacy,
    /// `initialize` over HTTP+SSE of 2024-11-05.
    LegacySse,
}

impl Era {
    /// Word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
            Self::LegacySse => "legacySse",
        }
    }
}

/// Which tasks the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The 2026-07-28 extension.
    Extension2026,
    /// The 2025-11-25 experimental tasks.
    Experimental2025,
    /// No tasks: every call is a plain call.
    NoTasks,
}

impl Dialect {
    /// Word for JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Extension2026 => "2026-07-28",
            Self::Experimental2025 => "2025-11-25",
            Self::NoTasks => "none",
        }
    }
}

/// The outcome of the era probe, cached with the configuration it was found for (protocol.md §3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EraVerdict {
    /// [`ServerAddress::fingerprint`] when probed.
    pub fingerprint: String,
    pub era: Era,
}

/// What one connection negotiated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    pub era: Era,
    pub dialect: Dialect,
    /// Protocol version as agreed, verbatim.
    pub protocol_version: String,
    /// The server's name for itself, capped; self-reported, for display only.
    pub server_name: String,
    /// Its version of itself, capped.
    pub server_version: String,
    /// 2025: `tasks.list` was declared.
    pub can_list: bool,
    /// `tasks/cancel` may be called.
    pub can_cancel: bool,
    /// Where tasks of this connection live: the legacy session or child; `None` where they belong to the principal.
    pub session: Option<SessionKey>,
}

/// Whether the server can be reached now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerHealth {
    /// Not tried yet in this run.
    Unknown,
    Connecting,
    Up {
        since: Timestamp,
    },
    /// Not connected; tried again at `retry_at`.
    Down {
        since: Timestamp,
        /// One line, may quote the server's stderr (capped).
        why: String,
        /// What a person can do.
        hint: String,
        /// When it is tried again; `None` when only a change of configuration can help.
        retry_at: Option<Timestamp>,
    },
    /// A person ended its process: the next request starts it, and nothing else does.
    Ended {
        since: Timestamp,
        why: String,
        /// What starts it again.
        hint: String,
    },
    /// Needs sign-in or an upgrade.
    Blocked {
        since: Timestamp,
        why: String,
        /// What a person can do.
        hint: String,
    },
}

impl ServerHealth {
    /// Word for JSON.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Connecting => "connecting",
            Self::Up { .. } => "up",
            Self::Down { .. } => "down",
            Self::Ended { .. } => "ended",
            Self::Blocked { .. } => "blocked",
        }
    }
}

/// A configured server with what is durably known of it. Health of the moment is the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Our id, never reused.
    pub id: ServerId,
    /// The person's name for it: unique, 1-40 of `[a-z0-9._-]`.
    pub name: String,
    /// How it is reached.
    pub address: ServerAddress,
    /// Agreement to contact it; without it for this fingerprint, nothing runs.
    pub consent: Option<Consent>,
    /// Raised when its task ids were seen to start over.
    pub generation: u32,
    /// Era probe, cached.
    pub verdict: Option<EraVerdict>,
    /// What was last negotiated, for display while it is down and for resuming a legacy HTTP session.
    pub negotiated: Option<Negotiated>,
    /// When it was added.
    pub created: Timestamp,
}

/// Whether the host of a URL can only mean this machine.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// A name that cannot be a server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be a server name: use 1 to 40 of a-z, 0-9, dot, dash and underscore")]
pub struct BadServerName(String);

/// Checks a name for a server.
///
/// # Errors
/// When it is empty, longer than 40 or has other characters.
pub fn check_server_name(name: &str) -> Result<(), BadServerName> {
    let fits = (1..=40).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    if fits { Ok(()) } else { Err(BadServerName(name.chars().take(80).collect())) }
}
