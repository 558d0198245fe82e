//! A real file system of a few megabytes, so that a test can fill the disk of a core without touching the machine's.
//!
//! The test starts itself again in a mount namespace of its own, where `TMPDIR` is a small tmpfs; nothing of it is seen
//! or left outside. It needs `unshare` and the right to mount there (root, or user namespaces).

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::not_run::not_run;

/// Names the small disk to a test that was started again.
const PLACE: &str = "TASKWARDEN_SMALL_DISK";
/// Room for a registry, its write-ahead log and its reserve, and little more.
const SIZE: &str = "96m";

/// A file system that can be full.
pub struct SmallDisk {
    filler: PathBuf,
}

impl SmallDisk {
    /// The small disk, in the process that has it. `None` in the process that was asked first: it ran the test of this
    /// name over again, and fails when that failed, or says that it cannot be run here.
    #[must_use]
    pub fn enter(test: &str) -> Option<Self> {
        if let Some(place) = std::env::var_os(PLACE) {
            return Some(Self { filler: PathBuf::from(place).join("filler") });
        }
        let place = TempDir::new().expect("a temporary folder");
        let Some(mut command) = in_namespace() else {
            not_run("no mount namespace can be made here (`unshare --mount` as root, or user namespaces)");
            return None;
        };
        let script = r#"mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@""#;
        command.args(["sh", "-c", script, "sh", SIZE]).arg(place.path());
        command.arg(std::env::current_exe().expect("the path of this program"));
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        let ran = command.env("TMPDIR", place.path()).env(PLACE, place.path()).status();
        assert!(ran.is_ok_and(|status| status.success()), "`{test}` on a small disk");
        None
    }

    /// Takes all the room that is left, to the last kilobyte.
    pub fn fill(&self) {
        let mut filler = OpenOptions::new().create(true).append(true).open(&self.filler).expect("a file");
        for size in [1 << 20, 1 << 12, 1 << 8] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Gives the room back.
    pub fn free(&self) {
        File::create(&self.filler).expect("the filler is ours");
    }

    /// Makes a folder on it read-only, for root as well, until the guard goes. Nothing may have it open for writing.
    #[must_use]
    pub fn read_only(&self, folder: &Path) -> ReadOnly {
        assert!(folder.starts_with(self.place()), "only what lies on the small disk");
        let mount =
            |args: &[&str]| Command::new("mount").args(args).arg(folder).status().is_ok_and(|done| done.success());
        assert!(mount(&["--bind", &folder.display().to_string()]), "the folder becomes a mount of its own");
        assert!(mount(&["-o", "remount,bind,ro"]), "which is read-only");
        ReadOnly(folder.into())
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.filler.parent().expect("the filler is in it")
    }
}

/// A folder that nobody can write.
pub struct ReadOnly(PathBuf);

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// `unshare` with what works here: as root, or as root of a user namespace.
fn in_namespace() -> Option<Command> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let works = |way: &&&[&str]| {
        let mut probe = Command::new("unshare");
        probe.args(**way).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    let way = ways.iter().find(works)?;
    let mut command = Command::new("unshare");
    command.args(*way);
    Some(command)
}
