//! Settings in three layers: built in, `config.toml` in the data directory, environment `TASKWARDEN_…`.
//!
//! `log` (a tracing filter), `secrets` (`auto`, `keychain`, `file`), `notifications`, `listen` (an address or `off`),
//! `strict_agents` (whether what started a bridge may decide nothing at the socket), `client_document` (a published
//! description of Taskwarden as an OAuth client), and every number of `domain::policy` under `[policy]`. An unknown key is an error that names the file and the key, because a misspelt
//! limit that is ignored is worse than none. Nothing is written here.

pub mod paths;
mod policy_keys;

pub(crate) use policy_keys::span;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use domain::policy::{BadPolicy, Policy};

use crate::config::paths::{HomeError, Paths};

/// Where secrets are to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretsChoice {
    /// In the keychain if it works, otherwise in the file.
    Auto,
    /// Only in the keychain.
    Keychain,
    /// Only in the file.
    File,
}

/// Where agents and the window in the browser are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenSetting {
    /// Not at all; `off` in the file.
    Off,
    /// At this loopback address.
    At(SocketAddr),
}

impl std::str::FromStr for ListenSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::At(address)),
            Ok(_) | Err(_) => Err("a loopback address with a port, such as `127.0.0.1:7717`, or `off`".into()),
        }
    }
}

/// The port of the product. Ruling 18 and product.md.
const PORT: u16 = 7717;

/// All settings of a core or a command.
#[derive(Debug, Clone)]
pub struct Config {
    /// The data directory.
    pub paths: Paths,
    /// What is logged, as a tracing filter; `None` is the built-in choice.
    pub log: Option<String>,
    /// Where secrets are to be stored.
    pub secrets: SecretsChoice,
    /// Whether desktop notifications are shown.
    pub notifications: bool,
    /// Where `serve` serves agents and the window in the browser.
    pub listen: ListenSetting,
    /// Whether the program that started a bridge, and what that program starts, may decide nothing at the socket
    /// (decision 0013).
    pub strict_agents: bool,
    /// The URL of the document that describes Taskwarden as an OAuth client, where somebody publishes one.
    pub client_document: Option<String>,
    /// Limits, intervals and sizes.
    pub policy: Policy,
}

/// What is wrong with the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The file cannot be read.
    #[error("the configuration `{path}` cannot be read: {source}")]
    Unreadable {
        /// The configuration file.
        path: PathBuf,
        /// The cause of it.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration `{path}` is not TOML: {why}")]
    NotToml {
        /// The configuration file.
        path: PathBuf,
        /// Where and why, in one line.
        why: String,
    },
    /// There is no such key.
    #[error("{place}: there is no key `{key}`")]
    UnknownKey {
        /// File or environment.
        place: String,
        /// The key as written.
        key: String,
        /// The most similar key that exists.
        near: Option<String>,
    },
    /// The value is not of the right kind.
    #[error("{place}: `{key}` must be {expected}")]
    BadValue {
        /// File or environment.
        place: String,
        /// The key as written.
        key: String,
        /// What would fit.
        expected: String,
    },
    /// The numbers do not fit together.
    #[error(transparent)]
    Policy(#[from] BadPolicy),
}

impl ConfigError {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Home(inner) => inner.hint(),
            Self::Unreadable { .. } => "Check its owner and permissions.".into(),
            Self::NotToml { .. } => "Fix that line, or move the file away.".into(),
            Self::UnknownKey { near: Some(near), .. } => format!("Did you mean `{near}`?"),
            Self::UnknownKey { near: None, .. } => {
                "The keys are `log`, `secrets`, `notifications`, `listen`, `strict_agents`, `client_document` and the numbers under `[policy]`.".into()
            }
            Self::BadValue { .. } | Self::Policy(_) => "Change the value, or remove the key.".into(),
        }
    }
}

/// A document that can stand for a client has a URL with TLS and a path (SEP-991).
fn is_client_document(value: &str) -> bool {
    url::Url::parse(value).is_ok_and(|url| url.scheme() == "https" && url.has_host() && url.path() != "/")
}

/// The variable that names the data directory.
const HOME: &str = "TASKWARDEN_HOME";
/// The prefix of all environment variables.
const PREFIX: &str = "TASKWARDEN_";
/// The prefix of those that set a number.
const POLICY_PREFIX: &str = "TASKWARDEN_POLICY_";

impl Config {
    /// Reads the three layers.
    ///
    /// # Errors
    /// Names the place and the key.
    pub fn load() -> Result<Self, ConfigError> {
        Self::from_env(&std::env::vars().filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }

    /// Reads the layers for a core that a bridge starts: of the environment only the data directory counts, because
    /// whoever starts the bridge sets it.
    ///
    /// # Errors
    /// Names the place and the key.
    pub fn load_for_background() -> Result<Self, ConfigError> {
        Self::from_env(&std::env::vars().filter(|(name, _)| name == HOME).collect())
    }

    /// Reads the layers with this environment.
    ///
    /// # Errors
    /// Names the place and the key.
    pub fn from_env(env: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let paths = Paths::find(env.get(HOME).map(String::as_str))?;
        let mut config = Self::built_in(paths);
        config.read_file()?;
        for (name, value) in env {
            let place = format!("environment variable `{name}`");
            if let Some(key) = name.strip_prefix(POLICY_PREFIX) {
                policy_keys::set(&mut config.policy, &key.to_lowercase(), value)
                    .map_err(|misfit| misfit.at(&place, &key.to_lowercase()))?;
            } else if let Some(key @ ("LOG" | "SECRETS" | "NOTIFICATIONS" | "LISTEN")) = name.strip_prefix(PREFIX) {
                config.set(&place, &key.to_lowercase(), value)?;
            }
            // Other names may belong to other programs of the family.
        }
        config.policy.check()?;
        Ok(config)
    }

    /// The built-in layer for a data directory.
    #[must_use]
    pub fn built_in(paths: Paths) -> Self {
        let listen = ListenSetting::At(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
        let (log, secrets, policy) = (None, SecretsChoice::Auto, Policy::default());
        let client_document = None;
        Self { paths, log, secrets, notifications: true, listen, strict_agents: false, client_document, policy }
    }

    fn read_file(&mut self) -> Result<(), ConfigError> {
        let path = self.paths.config();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        let table: toml::Table = toml::from_str(&text)
            .map_err(|error| ConfigError::NotToml { path: path.clone(), why: one_line(&text, &error) })?;
        let place = format!("configuration `{}`", path.display());
        for (key, value) in table {
            match (key.as_str(), value) {
                ("policy", toml::Value::Table(numbers)) => {
                    for (name, number) in numbers {
                        let parts = match number {
                            toml::Value::Table(part) => {
                                part.into_iter().map(|(key, number)| (format!("{name}.{key}"), number)).collect()
                            }
                            number => vec![(name, number)],
                        };
                        for (name, number) in parts {
                            policy_keys::set(&mut self.policy, &name, &plain(&number))
                                .map_err(|misfit| misfit.at(&place, &format!("policy.{name}")))?;
                        }
                    }
                }
                ("policy", _) => {
                    return Err(ConfigError::BadValue { place, key, expected: "a table of numbers".into() });
                }
                (_, value) => self.set(&place, &key, &plain(&value))?,
            }
        }
        Ok(())
    }

    fn set(&mut self, place: &str, key: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |expected: &str| ConfigError::BadValue {
            place: place.to_owned(),
            key: key.to_owned(),
            expected: expected.to_owned(),
        };
        match key {
            "log" => {
                let readable = value.parse::<tracing_subscriber::filter::Targets>().is_ok();
                if !readable {
                    return Err(bad("a filter such as `info` or `info,mcp=debug`"));
                }
                self.log = Some(value.to_owned());
            }
            "secrets" => {
                self.secrets = match value {
                    "auto" => SecretsChoice::Auto,
                    "keychain" => SecretsChoice::Keychain,
                    "file" => SecretsChoice::File,
                    _ => return Err(bad("`auto`, `keychain` or `file`")),
                }
            }
            "notifications" => self.notifications = value.parse().map_err(|_| bad("`true` or `false`"))?,
            "strict_agents" => self.strict_agents = value.parse().map_err(|_| bad("`true` or `false`"))?,
            "client_document" => {
                if !is_client_document(value) {
                    return Err(bad("an `https` URL with a path, such as `https://example.com/taskwarden.json`"));
                }
                self.client_document = Some(value.to_owned());
            }
            "listen" => self.listen = value.parse().map_err(|expected: String| bad(&expected))?,
            _ => {
                let known = ["log", "secrets", "notifications", "listen", "strict_agents", "client_document", "policy"];
                return Err(ConfigError::UnknownKey {
                    place: place.to_owned(),
                    key: key.to_owned(),
                    near: api::suggestion::nearest(key, known).map(str::to_owned),
                });
            }
        }
        Ok(())
    }
}

/// A TOML value as its text.
fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.lines().count().max(1));
    format!("line {line}: {}", error.message().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn load(file: &str, env: &[(&str, &str)]) -> Result<Config, String> {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("config.toml"), file).expect("a file");
        let mut env: BTreeMap<String, String> = env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        env.insert("TASKWARDEN_HOME".into(), dir.path().display().to_string());
        Config::from_env(&env).map_err(|error| {
            let said = format!("{error} | {}", error.hint());
            said.replace(&dir.path().display().to_string(), "HOME")
        })
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_what_is_built_in() {
        let file = "log = \"debug\"\nsecrets = \"file\"\n[policy]\npoll_first = \"2s\"\nsilent_misses = 5\n";
        let config = load(file, &[("TASKWARDEN_POLICY_POLL_FIRST", "500ms")]).expect("it fits");
        assert_eq!(config.policy.poll_first, Duration::from_millis(500));
        assert_eq!((config.policy.silent_misses, config.secrets), (5, SecretsChoice::File));
        assert_eq!(config.policy.poll_last, Policy::default().poll_last);
    }

    #[test]
    fn a_key_that_is_misspelt_is_named_with_its_file() {
        let said = |file: &str| load(file, &[]).expect_err("it does not fit");
        assert_eq!(
            said("secret = \"file\"\n"),
            "configuration `HOME/config.toml`: there is no key `secret` | Did you mean `secrets`?"
        );
        assert_eq!(
            said("[policy]\npoll_frist = \"1s\"\n"),
            "configuration `HOME/config.toml`: there is no key `policy.poll_frist` | Did you mean `poll_first`?"
        );
        assert!(said("[policy]\npoll_first = \"soon\"\n").contains("`policy.poll_first` must be a time such as `5s`"));
        assert!(said("[policy]\npoll_last = \"1ms\"\n").contains("must not be below poll_first"));
        assert!(said("listen = \"0.0.0.0:7717\"\n").contains("must be a loopback address"), "never for other machines");
        assert!(said("log = = 1").contains("line 1"), "the line is named");
        assert!(
            load("", &[("TASKWARDEN_POLICY_NONSENSE", "1")])
                .expect_err("unknown")
                .contains("TASKWARDEN_POLICY_NONSENSE"),
            "the variable is named"
        );
    }
}
