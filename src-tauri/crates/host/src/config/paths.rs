//! Where everything in a data directory is.
//!
//! The directory is `TASKWARDEN_HOME`, or the platform's data folder. It belongs to the user alone (0700); a directory
//! with other people's files in it is refused, not tightened. Nothing is read here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files and folders of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    home: PathBuf,
}

/// Why a data directory cannot be used. The hint is a sentence.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The platform has no data folder for this user.
    #[error("there is no data folder for this user on this platform")]
    Nowhere,
    /// It cannot be made, read or tightened.
    #[error("the data folder `{path}` cannot be used: {source}")]
    Unusable {
        /// The path in question.
        path: PathBuf,
        /// The cause of it.
        source: io::Error,
    },
    /// Others can read it, and Taskwarden did not create it.
    #[error("the data folder `{path}` is open to other users and holds other files")]
    Shared {
        /// The path in question.
        path: PathBuf,
    },
    /// The path of the socket would be too long for the system.
    #[error("the path `{path}` is too long for a socket ({bytes} bytes, at most {most})")]
    TooLong {
        /// The path in question.
        path: PathBuf,
        /// The length of it.
        bytes: usize,
        /// The longest that fits.
        most: usize,
    },
}

impl HomeError {
    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Nowhere => "Set `TASKWARDEN_HOME` to a folder of your own.".into(),
            Self::Unusable { .. } => {
                "Check its owner and permissions, or set `TASKWARDEN_HOME` to another folder.".into()
            }
            Self::Shared { path } => {
                format!("Choose an empty folder, or run `chmod 700 {}` if it is yours alone.", path.display())
            }
            Self::TooLong { .. } => "Set `TASKWARDEN_HOME` to a shorter path.".into(),
        }
    }
}

/// `sun_path` holds 108 bytes on Linux and 104 on macOS, one of them the end mark.
const SOCKET_PATH_MOST: usize = 103;

impl Paths {
    /// The paths below this directory.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// `TASKWARDEN_HOME` when it is set, else the platform's data folder.
    ///
    /// # Errors
    /// When the platform names none.
    pub fn find(home: Option<&str>) -> Result<Self, HomeError> {
        match home.filter(|text| !text.is_empty()) {
            Some(text) => {
                let given = PathBuf::from(text);
                let whole =
                    std::path::absolute(&given).map_err(|source| HomeError::Unusable { path: given, source })?;
                Ok(Self::new(whole))
            }
            None => directories::ProjectDirs::from("", "", "taskwarden")
                .map(|dirs| Self::new(dirs.data_local_dir()))
                .ok_or(HomeError::Nowhere),
        }
    }

    /// Makes the directory, for the user alone.
    ///
    /// # Errors
    /// When it cannot be made or tightened, or is shared with others.
    pub fn prepare(&self) -> Result<(), HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.home.clone(), source };
        let bytes = self.socket().as_os_str().len();
        if bytes > SOCKET_PATH_MOST {
            return Err(HomeError::TooLong { path: self.socket(), bytes, most: SOCKET_PATH_MOST });
        }
        private_dir(&self.home).map_err(unusable)?;
        if is_private(&self.home).map_err(unusable)? {
            return Ok(());
        }
        let is_ours = self.registry().exists() || fs::read_dir(&self.home).map_err(unusable)?.next().is_none();
        if !is_ours {
            return Err(HomeError::Shared { path: self.home.clone() });
        }
        tighten(&self.home).map_err(unusable)
    }

    /// Closes files with secrets or work to other users, in case a copy or a restored backup opened them.
    ///
    /// # Errors
    /// When one cannot be closed.
    pub(crate) fn close_files(&self) -> Result<(), HomeError> {
        let log = self.home.join("registry.db-wal");
        let shared = self.home.join("registry.db-shm");
        let intents = ["intents.sqlite", "intents.sqlite-wal", "intents.sqlite-shm"].map(|name| self.home.join(name));
        for path in [self.registry(), log, shared, self.secrets()].into_iter().chain(intents) {
            let done = match is_private(&path) {
                Ok(true) => Ok(()),
                Ok(false) => close(&path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            done.map_err(|source| HomeError::Unusable { path, source })?;
        }
        Ok(())
    }

    /// Copies of files of agent programs from before they were changed.
    pub(crate) fn client_backups(&self) -> PathBuf {
        self.home.join("backups").join("clients")
    }

    /// The file by which anybody halts all calls.
    pub(crate) fn halt_file(&self) -> PathBuf {
        self.home.join("HALT")
    }

    /// The directory itself.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The value of `TASKWARDEN_HOME` for programs started elsewhere; `None` if they find the directory without it.
    #[must_use]
    pub fn named_home(&self) -> Option<String> {
        let is_usual = Self::find(None).is_ok_and(|usual| usual.home == self.home);
        (!is_usual).then(|| self.home.display().to_string())
    }

    /// The configuration file; it may be absent.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// The registry's database.
    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.home.join("registry.db")
    }

    /// What tells whether this folder is a copy.
    #[must_use]
    pub fn origin(&self) -> PathBuf {
        self.home.join("origin.json")
    }

    /// The socket of the core.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.home.join("core.sock")
    }

    /// The lock that a running core holds, with its process id.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.home.join("core.lock")
    }

    /// The folder of logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// Records of running children.
    #[must_use]
    pub fn children(&self) -> PathBuf {
        self.home.join("children")
    }

    /// Folders of keepers, one for each kept process.
    #[must_use]
    pub fn keepers(&self) -> PathBuf {
        self.home.join("keep")
    }

    /// Saved tokens of agents, for their bridges.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.home.join("agents")
    }

    /// The saved token of one agent.
    #[must_use]
    pub fn agent_token(&self, agent: &str) -> PathBuf {
        self.agents().join(format!("{agent}.token"))
    }

    /// Calls that were sent and not settled, beside the registry.
    #[must_use]
    pub fn intents(&self) -> PathBuf {
        self.home.join("intents.sqlite")
    }

    /// Secrets, if there is no keychain.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.home.join("secrets.json")
    }

    /// The saved environment for cores that a bridge starts.
    #[must_use]
    pub fn environment(&self) -> PathBuf {
        self.home.join("environment.json")
    }

    /// Which store for secrets was chosen when the directory was new.
    #[must_use]
    pub fn secrets_place(&self) -> PathBuf {
        self.home.join("secrets.place")
    }
}

/// Creates a directory with its parents; the last one for the user alone.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// Whether a file or directory is closed to all other users.
#[cfg(unix)]
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 == 0)
}

#[cfg(unix)]
fn tighten(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(unix)]
fn close(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

// Not run here: on Windows the profile folder is the user's alone by inheritance.
#[cfg(not(unix))]
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}

#[cfg(not(unix))]
fn tighten(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn close(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_data_directory_is_made_for_its_user_alone() {
        let around = tempfile::tempdir().expect("a folder");
        let paths = Paths::new(around.path().join("deep/data"));
        paths.prepare().expect("it can be made");
        assert!(is_private(paths.home()).expect("it is there"), "no one else may look into it");
    }

    #[test]
    fn only_a_directory_that_is_not_the_usual_one_has_to_be_named() {
        assert_eq!(Paths::new("/data/mine").named_home().as_deref(), Some("/data/mine"));
        assert_eq!(Paths::find(None).expect("a home").named_home(), None);
    }

    #[test]
    fn a_shared_folder_with_other_files_is_refused_and_left_as_it_is() {
        let around = tempfile::tempdir().expect("a folder");
        let shared = around.path().join("shared");
        fs::create_dir(&shared).expect("a folder");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).expect("its mode");
        fs::write(shared.join("holiday.jpg"), "x").expect("a file");
        let refused = Paths::new(&shared).prepare().expect_err("it is not ours");
        assert!(refused.hint().contains("chmod 700"), "the way out is named: {}", refused.hint());
        let mode = fs::metadata(&shared).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "somebody else's folder keeps its mode");
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_named_before_anything_is_made() {
        let long = Paths::new(Path::new("/tmp").join("x".repeat(120)));
        assert!(matches!(long.prepare(), Err(HomeError::TooLong { .. })), "the system would refuse it later");
    }

    #[test]
    fn a_relative_data_directory_is_taken_from_where_the_command_runs() {
        let paths = Paths::find(Some("some/data")).expect("a directory");
        assert!(paths.home().is_absolute(), "a child in another folder finds the same one: {paths:?}");
        assert!(paths.home().ends_with("some/data"), "{paths:?}");
    }
}
