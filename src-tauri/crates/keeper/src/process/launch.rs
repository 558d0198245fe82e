//! Starts the command of a server in its own process group.
//!
//! The child inherits a few basic variables (ruling 15) and what the configuration names, so that a token in our own
//! environment never reaches a server. Consent is the caller's business.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use domain::ports::Secret;
use process_wrap::tokio::{ChildWrapper, CommandWrap};

/// Variables that every child inherits, besides those that begin with one of [`INHERITED_PREFIXES`]. Ruling 15.
const INHERITED: [&str; 5] = ["PATH", "HOME", "USER", "LANG", "TMPDIR"];
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct LaunchError {
    /// One line that names the command.
    pub why: String,
    /// What a person can do.
    pub hint: String,
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// An absolute path; a bare name is never looked up.
    pub command: String,
    /// Arguments, without the program itself.
    pub args: Vec<String>,
    /// Variables beside the inherited basics.
    pub env: BTreeMap<String, String>,
    /// Variables with secret values.
    pub secret_env: BTreeMap<String, Secret>,
    /// Working directory; the home directory when absent.
    pub cwd: Option<String>,
}

impl Launch {
    /// Starts it with all three pipes.
    ///
    /// # Errors
    /// Says why it cannot be started, and what a person can do.
    pub fn spawn(&self) -> Result<Box<dyn ChildWrapper>, LaunchError> {
        if !Path::new(&self.command).is_absolute() {
            // A person approved one program, not any program that has its name today.
            return Err(self.not_started(&io::ErrorKind::NotFound.into()));
        }
        let home = std::env::home_dir().filter(|home| home.is_dir());
        let cwd = self.cwd.as_deref().map(Path::new).or(home.as_deref());
        if let Some(cwd) = cwd
            && !cwd.is_dir()
        {
            return Err(LaunchError {
                why: format!("there is no working directory `{}` for `{}`", cwd.display(), self.command),
                hint: "Create the directory, or add the server again with another one.".into(),
            });
        }
        let mut command = CommandWrap::with_new(&self.command, |command| {
            command.args(&self.args).env_clear().envs(inherited()).envs(&self.env);
            command.envs(self.secret_env.iter().map(|(name, secret)| (name, secret.reveal())));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(cwd) = cwd {
                command.current_dir(cwd);
            }
        });
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        command.spawn().map_err(|error| self.not_started(&error))
    }

    fn not_started(&self, error: &io::Error) -> LaunchError {
        let name = &self.command;
        let has_path = name.contains('/');
        let (why, hint) = match error.kind() {
            io::ErrorKind::NotFound if has_path && Path::new(name).exists() => (
                format!("`{name}` cannot be started: the interpreter named in its first line does not exist"),
                "Install the interpreter, or start the server with it: `servers add NAME -- python3 FILE`.".into(),
            ),
            io::ErrorKind::NotFound if has_path => {
                (format!("there is no command `{name}`"), "Check the path and its spelling.".into())
            }
            io::ErrorKind::NotFound => (
                format!("there is no command `{name}` on PATH"),
                "Install it or check its spelling, then remove the server and add it again.".into(),
            ),
            io::ErrorKind::PermissionDenied => (
                format!("`{name}` may not be executed"),
                format!("Make it executable: `chmod +x {name}`; a directory cannot be run."),
            ),
            _ => (format!("`{name}` cannot be started: {error}"), "Start it by hand to see what is wrong.".into()),
        };
        LaunchError { why, hint }
    }
}

pub(crate) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        name.to_str().is_some_and(|name| {
            INHERITED.contains(&name) || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
    })
}
