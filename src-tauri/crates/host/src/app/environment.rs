//! The environment of a core that a bridge starts: what a person's own core had, never the agent's.
//!
//! A core that a person starts notes a few variables in the data directory; without that note the values are the
//! system's: the user's home, a fixed search path, the session's bus. The environment sets nothing of ours but the data
//! directory; settings are in `config.toml`. What this cannot prevent is in decision 0017.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::config::paths::Paths;
use crate::os::user;

/// Ruling 15 for servers; then what the core itself needs to reach the desktop and servers over HTTP.
const NAMES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "TMPDIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The search path when none was noted; the same as `sudo` uses.
const SAFE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Our note is a few short lines; a longer file is not ours.
const NOTE_BYTES: u64 = 65_536;

type Variables = BTreeMap<String, String>;

/// Saves the environment of this process for cores that a bridge starts later. Call it only where a person started the
/// core. Failing to save costs those cores some variables, and is no reason for this one not to start.
pub(crate) fn note(paths: &Paths) {
    let variables = chosen(std::env::vars_os().filter_map(|(name, value)| {
        // A variable that is no text is no path or address that we know.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    }));
    let written = serde_json::to_vec_pretty(&variables)
        .map_err(io::Error::other)
        .and_then(|text| crate::secrets::write_private(&paths.environment(), &text));
    if let Err(error) = written {
        tracing::warn!(%error, "the environment of this core could not be noted for cores that a bridge starts");
    }
}

/// The whole environment of a core that a bridge starts.
pub(crate) fn of_background(paths: &Paths) -> BTreeMap<String, std::ffi::OsString> {
    let mut variables = read(&paths.environment()).unwrap_or_default();
    for (name, value) in of_system() {
        variables.entry(name).or_insert(value);
    }
    freshen_bus(&mut variables);
    let mut whole: BTreeMap<_, _> = variables.into_iter().map(|(name, value)| (name, value.into())).collect();
    whole.insert("TASKWARDEN_HOME".into(), paths.home().into());
    whole
}

/// The variables that may be passed on, without relative folders in the search path.
fn chosen(variables: impl IntoIterator<Item = (String, String)>) -> Variables {
    let is_chosen = |name: &str| NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let mut chosen: Variables =
        variables.into_iter().filter(|(name, value)| is_chosen(name) && !value.is_empty()).collect();
    if let Some(path) = chosen.get_mut("PATH") {
        let folders: Vec<&str> = path.split(':').filter(|folder| Path::new(folder).is_absolute()).collect();
        *path = folders.join(":");
    }
    chosen.retain(|_, value| !value.is_empty());
    chosen
}

/// Reads the note if the file belongs to the user and is closed to others. Other names in it are ignored.
fn read(path: &Path) -> Option<Variables> {
    let file = fs::File::open(path).ok()?;
    if !is_own(&file.metadata().ok()?) {
        tracing::warn!("the saved environment is ignored: other users can write or read its file");
        return None;
    }
    let mut text = String::new();
    file.take(NOTE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str::<Variables>(&text).ok().map(chosen)
}

#[cfg(unix)]
fn is_own(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.uid() == user::own_uid() && file.mode() & 0o077 == 0
}

// Not run here: the profile folder is the user's alone.
#[cfg(not(unix))]
fn is_own(_file: &fs::Metadata) -> bool {
    true
}

/// What the system knows about this user, independent of the environment of this process.
fn of_system() -> Variables {
    let mut variables = Variables::from([("PATH".to_owned(), SAFE_PATH.to_owned())]);
    if let Some((name, home)) = user::listed(user::own_uid()) {
        variables.insert("USER".into(), name);
        variables.insert("HOME".into(), home);
    }
    let runtime = runtime_folder();
    if runtime.is_dir() {
        variables.insert("XDG_RUNTIME_DIR".into(), runtime.display().to_string());
    }
    variables
}

/// Where systemd's user manager keeps its sockets.
fn runtime_folder() -> PathBuf {
    PathBuf::from(format!("/run/user/{}", user::own_uid()))
}

/// A bus address is valid for one session. Replaces one whose socket is gone by that of the user manager.
fn freshen_bus(variables: &mut Variables) {
    const NAME: &str = "DBUS_SESSION_BUS_ADDRESS";
    let socket = |address: &str| {
        let path = address.strip_prefix("unix:path=")?;
        Some(PathBuf::from(path.split(',').next().unwrap_or(path)))
    };
    let is_gone = variables.get(NAME).is_none_or(|address| socket(address).is_some_and(|path| !path.exists()));
    if !is_gone {
        return;
    }
    let bus = runtime_folder().join("bus");
    if bus.exists() {
        variables.insert(NAME.into(), format!("unix:path={}", bus.display()));
    } else {
        variables.remove(NAME);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_the_variables_of_the_list_are_passed_on() {
        let given = pairs(&[
            ("PATH", "/usr/bin:.:relative::/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("XDG_DATA_HOME", "/home/ada/.data"),
            ("LD_PRELOAD", "/tmp/evil.so"),
            ("TASKWARDEN_POLICY_HOLD_BACK", "1ms"),
            ("TASKWARDEN_NOTIFICATIONS", "false"),
            ("NODE_OPTIONS", "--require /tmp/evil.js"),
            ("LANG", ""),
        ]);
        let expected = pairs(&[("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("XDG_DATA_HOME", "/home/ada/.data")]);
        assert_eq!(chosen(given), expected);
    }

    #[test]
    fn a_note_counts_when_it_is_the_users_alone_and_never_for_other_names() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("environment.json");
        assert_eq!(read(&path), None, "there is none yet");
        fs::write(&path, r#"{"PATH":"/opt/bin","LD_PRELOAD":"/tmp/evil.so"}"#).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("its mode");
        assert_eq!(read(&path), None, "others could have written it");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        assert_eq!(read(&path), Some(pairs(&[("PATH", "/opt/bin")])));
    }

    #[test]
    fn without_a_note_the_system_says_where_home_and_programs_are() {
        let dir = tempfile::tempdir().expect("a folder");
        let whole = of_background(&Paths::new(dir.path()));
        assert_eq!(whole.get("PATH").and_then(|path| path.to_str()), Some(SAFE_PATH));
        assert_eq!(whole.get("TASKWARDEN_HOME").map(PathBuf::from), Some(dir.path().to_owned()));
        assert!(whole.keys().all(|name| name == "TASKWARDEN_HOME" || !name.starts_with("TASKWARDEN_")), "{whole:?}");
    }

    #[test]
    fn a_bus_that_is_gone_is_not_passed_on() {
        let dir = tempfile::tempdir().expect("a folder");
        let live = dir.path().join("bus");
        fs::write(&live, "").expect("a file in its place");
        let address = format!("unix:path={},guid=1", live.display());
        let mut variables = pairs(&[("DBUS_SESSION_BUS_ADDRESS", &address)]);
        freshen_bus(&mut variables);
        assert_eq!(variables.get("DBUS_SESSION_BUS_ADDRESS"), Some(&address), "one that is there stays");
        fs::remove_file(&live).expect("removed");
        freshen_bus(&mut variables);
        assert_ne!(variables.get("DBUS_SESSION_BUS_ADDRESS"), Some(&address), "one that is gone does not");
    }
}
