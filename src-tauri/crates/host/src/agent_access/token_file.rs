//! Files with a token that only the user can read: where `taskwarden connect` finds its agent's token (or in the
//! environment), and where a supervisor program keeps its control token.
//!
//! The core stores no token, only its digest. A file that others can read is refused, and nothing here prints or logs
//! what is in it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use api::{ApiError, Code};
use domain::agent::check_agent_name;

use crate::config::paths::{Paths, private_dir};

/// The environment variable that is read first.
pub(crate) const VARIABLE: &str = "TASKWARDEN_TOKEN";
/// The longest token that is read; ours have 47 characters.
const LONGEST: u64 = 1_024;

/// The token of an agent.
pub(crate) fn find(paths: &Paths, agent: &str) -> Result<String, ApiError> {
    check_agent_name(agent).map_err(|bad| {
        ApiError::new(Code::Usage, bad.to_string(), "Give the name as `taskwarden agents list` shows it.")
    })?;
    let given = std::env::var(VARIABLE).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    if let Some(token) = given {
        return Ok(token);
    }
    let path = paths.agent_token(agent);
    match read(&path) {
        Ok(token) => Ok(token),
        Err(TokenFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Err(ApiError::new(
            Code::NotFound,
            format!("there is no token for agent `{agent}`"),
            format!(
                "Set `{VARIABLE}` in the settings of the agent's program, or add it with `taskwarden agents add {agent} --save`."
            ),
        )),
        Err(error) => Err(ApiError::new(
            Code::Failed,
            format!("the token in `{}` cannot be read: {error}", path.display()),
            format!("Run `chmod 600` on it so that only you can read it, or set `{VARIABLE}`."),
        )),
    }
}

/// Saves a token for [`find`], replacing an earlier one of the same name.
pub(crate) fn save(paths: &Paths, agent: &str, token: &str) -> io::Result<PathBuf> {
    private_dir(&paths.agents())?;
    let path = paths.agent_token(agent);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(&path)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    // It is shown once and stored nowhere else, so a power cut must not leave the file empty.
    file.sync_all()?;
    Ok(path)
}

/// Deletes the token of an agent that no longer has access.
pub(crate) fn forget(paths: &Paths, agent: &str) {
    // A file that cannot be deleted opens nothing.
    let _ = fs::remove_file(paths.agent_token(agent));
}

/// Why there is no token to be had from a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenFileError {
    /// Its permissions let more than its owner read or write it.
    #[error("others can read it")]
    OthersCanRead,
    /// It is another user's, who can read it.
    #[error("it belongs to another user")]
    NotYours,
    #[error("it is empty")]
    Empty,
    /// More bytes than any token has.
    #[error("it is longer than a token")]
    TooLong,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The token in a file that only the user can read.
pub(crate) fn read(path: &Path) -> Result<String, TokenFileError> {
    let file = fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        // Of the open file: what the path names may be replaced meanwhile.
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        if facts.permissions().mode() & 0o077 != 0 {
            return Err(TokenFileError::OthersCanRead);
        }
        if facts.uid() != crate::os::user::own_uid() {
            return Err(TokenFileError::NotYours);
        }
    }
    let text = io::read_to_string(io::Read::take(file, LONGEST + 1))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > LONGEST {
        return Err(TokenFileError::TooLong);
    }
    let token = text.trim().to_owned();
    if token.is_empty() { Err(TokenFileError::Empty) } else { Ok(token) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_saved_token_is_found_by_its_user_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let paths = Paths::new(dir.path());
        assert_eq!(find(&paths, "claude").expect_err("nothing is saved").code, Code::NotFound);
        assert_eq!(find(&paths, "../core").expect_err("no name").code, Code::Usage, "a name is no path");
        let path = save(&paths, "claude", "twa_x").expect("it is saved");
        assert_eq!(find(&paths, "claude").expect("it is found"), "twa_x");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
        let error = find(&paths, "claude").expect_err("others can read it");
        assert!(error.message.contains("others can read it") && !error.message.contains("twa_x"), "{error:?}");
        forget(&paths, "claude");
        assert_eq!(find(&paths, "claude").expect_err("it is gone").code, Code::NotFound);
    }
}
