//! The data directory, its disk, its socket, its leftovers, and the clock.
//!
//! Looks from outside, without the core and without opening the registry; changes nothing. Each finding that is not
//! fine says how to fix it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use api::calls::core::findings::Finding;
use domain::ports::Clock as _;
use domain::time::Timestamp;
use engine::SystemClock;
use mcp::upstream::CopiedFolder;

use crate::config::Config;
use crate::config::paths::is_private;
use crate::os::core_lock::CoreLock;
use crate::os::disk_room::DiskRoom;
use crate::os::folder_origin;

pub(crate) fn examine(config: &Config) -> Vec<Finding> {
    let home = config.paths.home();
    if !home.exists() {
        let message = format!("`{}` does not exist yet; the core creates it when it first starts", home.display());
        return vec![Finding::fine("data", message)];
    }
    let mut found = vec![directory(home), configuration(config), space(config)];
    found.extend(copy(config));
    found.extend(registry_file(config));
    found.extend(socket(config));
    found.push(clock(config));
    found.extend(leftovers(config));
    found
}

/// That it is a copy, whose processes belong to another folder.
fn copy(config: &Config) -> Option<Finding> {
    let CopiedFolder { why, first_used } = folder_origin::known_copy(&config.paths)?;
    Some(Finding::note(
        "data",
        format!("{why}, first used at {first_used}; local servers of before may go on with their work, out of reach"),
        "A core of the earlier folder reaches them, while it is there. Otherwise each ends by itself some minutes after \
         its core ended.",
    ))
}

fn directory(home: &Path) -> Finding {
    match is_private(home) {
        Ok(true) => match check_writable(home) {
            Ok(()) => Finding::fine("data", format!("`{}` is private", home.display())),
            Err(why) => Finding::broken(
                "data",
                format!("`{}` cannot be written: {why}", home.display()),
                if why.kind() == io::ErrorKind::ReadOnlyFilesystem {
                    "Its disk is mounted read-only: mount it for writing, or set `TASKWARDEN_HOME` to a folder on another \
                     disk."
                        .to_owned()
                } else {
                    format!("Run `chmod 700 {}`.", home.display())
                },
            ),
        },
        Ok(false) => Finding::broken(
            "data",
            format!("`{}` is open to other users", home.display()),
            format!("Run `chmod 700 {}`; the core also does it when it starts.", home.display()),
        ),
        Err(error) => Finding::broken(
            "data",
            format!("`{}` cannot be checked: {error}", home.display()),
            "Check its owner, or set `TASKWARDEN_HOME` to a folder of your own.",
        ),
    }
}

/// Asks the system, which also knows of read-only disks; the mode of a folder says nothing of them.
#[cfg(unix)]
fn check_writable(home: &Path) -> io::Result<()> {
    rustix::fs::access(home, rustix::fs::Access::WRITE_OK).map_err(io::Error::from)
}

// Not run here.
#[cfg(not(unix))]
fn check_writable(home: &Path) -> io::Result<()> {
    let is_read_only = fs::metadata(home)?.permissions().readonly();
    if is_read_only { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Problems of the registry's file as seen from outside; its content is checked elsewhere.
fn registry_file(config: &Config) -> Vec<Finding> {
    let path = config.paths.registry();
    let mut found = Vec::new();
    if is_private(&path).is_ok_and(|private| !private) {
        found.push(Finding::broken(
            "registry",
            format!("`{}` can be read by other users", path.display()),
            format!("Run `chmod 600 {}`; the core also does it when it starts.", path.display()),
        ));
    }
    found
}

fn configuration(config: &Config) -> Finding {
    let path = config.paths.config();
    if path.exists() {
        Finding::fine("config", format!("`{}` has no errors", path.display()))
    } else {
        Finding::fine("config", "no file; values are built in or from the environment")
    }
}

fn space(config: &Config) -> Finding {
    let room = match DiskRoom::of(config.paths.home(), config.policy.reserve_file_bytes) {
        Ok(room) => room,
        Err(error) => {
            return Finding::note("disk", format!("its free space is not known: {error}"), "Check the disk by hand.");
        }
    };
    let message = room.to_string();
    if room.is_too_little() {
        Finding::broken("disk", message, "Free some space. Cancelling and answering keep working.")
    } else if room.free < config.policy.hosting.disk_low_bytes {
        Finding::note("disk", message, "Free some space before the registry needs it.")
    } else {
        Finding::fine("disk", message)
    }
}

fn socket(config: &Config) -> Option<Finding> {
    let path = config.paths.socket();
    if !path.exists() {
        return None;
    }
    let is_held = CoreLock::holder(&config.paths.lock()).is_some();
    Some(match (is_held, is_private(&path)) {
        (false, _) => Finding::note(
            "socket",
            format!("`{}` was left by a core that was killed", path.display()),
            "Nothing to do: the next core replaces it.",
        ),
        (true, Ok(true)) => Finding::fine("socket", format!("only you can open `{}`", path.display())),
        (true, Ok(false)) => Finding::broken(
            "socket",
            format!("`{}` is open to other users", path.display()),
            format!("Run `chmod 600 {}`.", path.display()),
        ),
        (true, Err(error)) => {
            Finding::broken("socket", format!("`{}` cannot be checked: {error}", path.display()), "Restart the core.")
        }
    })
}

/// Detects a wrong clock: one that is too early, or files that were written in its future.
fn clock(config: &Config) -> Finding {
    let now = SystemClock.now();
    let cure = "Set the system's clock (`timedatectl` shows it); times of tasks are wrong until then.";
    if now < config.policy.hosting.made_after {
        return Finding::broken("clock", format!("the clock says {now}, which is before this version was made"), cure);
    }
    let newest = [config.paths.registry(), config.paths.logs(), config.paths.lock()]
        .iter()
        .filter_map(|path| fs::metadata(path).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok())
        .filter_map(|since| i64::try_from(since.as_millis()).ok())
        .map(Timestamp::from_millis)
        .max();
    match newest {
        Some(newest) if newest > now.plus(config.policy.hosting.clock_ahead) => {
            Finding::broken("clock", format!("files here were written at {newest}, but the clock says {now}"), cure)
        }
        Some(_) | None => Finding::fine("clock", format!("the clock says {now}")),
    }
}

/// Records of server processes without a core.
fn leftovers(config: &Config) -> Option<Finding> {
    let count = fs::read_dir(config.paths.children()).ok()?.filter_map(Result::ok).count();
    let is_held = CoreLock::holder(&config.paths.lock()).is_some();
    (count > 0 && !is_held).then(|| {
        Finding::note(
            "processes",
            format!("server processes of a killed core may still run ({count} on record)"),
            "Start the core: it ends them first.",
        )
    })
}
