//! The two ways to have an api: beside a running engine, or on a registry that is only read (ruling 17).
//!
//! Holds what calls need and the list of open feeds; it caches nothing and starts nothing (`host` composes it). Calls are
//! in `calls/`, feeds in `feed/`.

use std::sync::Arc;

use domain::ids::{HandleId, PersonId};
use domain::policy::Policy;
use domain::ports::{Clock, Registry, Secrets, TokenCounter};
use domain::time::Timestamp;
use engine::{Draw, Engine};
use tokio::sync::watch;

use crate::calls::agents::connection_check::AgentDoors;
use crate::calls::clients::files::ClientFiles;
use crate::calls::core::findings::Examiner;
use crate::calls::core::sessions::BrowserSessions;
use crate::control::ControlFeeds;
use crate::dto::server::observed::ProcessName;
use crate::dto::{AgentsAt, CoreDto, NoticesGo};
use crate::error::ApiError;
use crate::feed::open_feeds::Feeds;

/// What only a running core has.
#[derive(Clone)]
pub struct LiveCore {
    pub engine: Engine,
    /// Where secret values of servers lie.
    pub secrets: Arc<dyn Secrets>,
    /// Random bits for new ids.
    pub draw: Draw,
    /// The command line of the built-in demo server; empty where this program has none.
    pub demo: Vec<String>,
    /// The command line that an agent's program starts to reach this core; empty where this program has none.
    pub connect: Vec<String>,
    /// The data directory, where that command line must be told of it.
    pub connect_home: Option<String>,
    /// Puts the token of an agent, by its name, into a file that only the user can read, and gives its path; `None` when
    /// that failed.
    pub save_token: SaveToken,
    /// The full path of a server's command, as this core finds it from the server's folder.
    pub locate: Locate,
    /// The processes of the group that this process leads, itself first, as the system names them now.
    pub process_group: ProcessGroupOf,
    /// Where agents reach it over HTTP at this moment.
    pub agents_at: Arc<dyn Fn() -> AgentsAt + Send + Sync>,
    /// The doors of agents, to try them.
    pub doors: Arc<dyn AgentDoors>,
    /// Browsers that are signed in.
    pub sessions: Arc<dyn BrowserSessions>,
    /// Checks what lies around the core.
    pub examiner: Arc<dyn Examiner>,
    /// Where notices go at this moment.
    pub notices: Arc<dyn Fn() -> NoticesGo + Send + Sync>,
    /// Files of agent programs on this machine.
    pub client_files: Arc<dyn ClientFiles>,
    /// What lies around the core.
    pub place: CoreSurroundings,
}

/// Saves a token; see [`LiveCore::save_token`].
pub type SaveToken = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// Finds a program by its name, from a folder: its full path.
pub type Locate = Arc<dyn Fn(&str, Option<&str>) -> Option<String> + Send + Sync>;

/// Names the processes of the group that a process leads.
pub type ProcessGroupOf = Arc<dyn Fn(u32) -> Vec<ProcessName> + Send + Sync>;

/// What lies around a core, as far as people are told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreSurroundings {
    /// When the core was started; `None` is now.
    pub started: Option<Timestamp>,
    /// Its data directory.
    pub home: String,
    /// Whether secrets lie in a file that only the user can read.
    pub secrets_in_file: bool,
    /// What the check of the registry found at the start.
    pub registry_findings: Vec<String>,
}

/// Everything that can be asked. Clones are the same api.
#[derive(Clone)]
pub struct Api {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: Policy,
    pub(crate) feeds: Feeds,
    /// Feeds of supervisor programs.
    pub(crate) control_feeds: ControlFeeds,
    /// How exact each family is; a running core weighs with the same.
    pub(crate) scale: Arc<dyn TokenCounter>,
    live: Option<LiveCore>,
    /// Held while files of agent programs are changed or what became of a change is found out: one at a time.
    pub(crate) changing_files: Arc<tokio::sync::Mutex<()>>,
    /// Held while a rule is compared with what it replaces and put: one at a time.
    pub(crate) changing_rules: Arc<tokio::sync::Mutex<()>>,
}

impl Api {
    /// An api that only reads, on a registry without a core beside it.
    #[must_use]
    pub fn reading(
        registry: Arc<dyn Registry>,
        clock: Arc<dyn Clock>,
        policy: Policy,
        scale: Arc<dyn TokenCounter>,
    ) -> Self {
        Self::of(registry, clock, policy, scale, None)
    }

    /// The api of a running core.
    #[must_use]
    pub fn running(registry: Arc<dyn Registry>, clock: Arc<dyn Clock>, policy: Policy, mut live: LiveCore) -> Self {
        live.place.started.get_or_insert_with(|| clock.now());
        let scale = Arc::clone(live.engine.scale());
        let gauges = live.engine.gauges().clone();
        let api = Self::of(registry, clock, policy, scale, Some(live));
        api.control_feeds.register(&gauges, &api.policy.control.tokens);
        api
    }

    fn of(
        registry: Arc<dyn Registry>,
        clock: Arc<dyn Clock>,
        policy: Policy,
        scale: Arc<dyn TokenCounter>,
        live: Option<LiveCore>,
    ) -> Self {
        let (feeds, control_feeds) = (Feeds::new(), ControlFeeds::default());
        Self {
            registry,
            clock,
            policy,
            feeds,
            control_feeds,
            scale,
            live,
            changing_files: Arc::default(),
            changing_rules: Arc::default(),
        }
    }

    /// Whether a core runs behind this api.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.live.is_some()
    }

    /// Whether a window shows this task to somebody now: then no notice is needed.
    #[must_use]
    pub fn is_on_screen(&self, task: HandleId) -> bool {
        self.feeds.is_on_screen(task)
    }

    /// Moves when views, snoozes or settings change; what they are then is asked by the calls.
    #[must_use]
    pub fn user_data_changes(&self) -> watch::Receiver<u64> {
        self.feeds.desk()
    }

    /// The core that answers.
    pub(crate) fn core(&self, person: &PersonId) -> Result<CoreDto, ApiError> {
        let live = self.live()?;
        let place = live.place.clone();
        Ok(CoreDto {
            version: env!("CARGO_PKG_VERSION").into(),
            process: std::process::id(),
            person: person.to_string(),
            started_at: place.started.unwrap_or_else(|| self.now()).to_string(),
            home: place.home,
            secrets: live.secrets.describe(),
            secrets_in_file: place.secrets_in_file,
            notifications: (live.notices)(),
            agents_at: (live.agents_at)(),
            registry_findings: place.registry_findings,
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.live.as_ref().map(|live| &live.engine)
    }

    /// What only a core can do.
    pub(crate) fn live(&self) -> Result<&LiveCore, ApiError> {
        self.live.as_ref().ok_or_else(ApiError::no_core)
    }
}
