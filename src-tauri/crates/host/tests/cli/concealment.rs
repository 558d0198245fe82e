//! A server that runs as the same user takes nothing from a person's command: not its connection, not its environment.
//!
//! Root may trace everybody, so as root all of this runs as another user.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::home::{Home, PROGRAM, until};

/// A user that owns nothing.
const NOBODY: u32 = 65_534;
/// Debian's own, because one that root installed may be where nobody else can read.
const PYTHON: &str = "/usr/bin/python3";

/// Takes copies of the descriptors of a process, as a debugger could, and reads its environment.
const STEAL: &str = r#"
import ctypes, sys
libc = ctypes.CDLL(None)
pid = int(sys.argv[1])
pidfd_open, pidfd_getfd = 434, 438
pidfd = libc.syscall(pidfd_open, pid, 0)
taken = sum(libc.syscall(pidfd_getfd, pidfd, fd, 0) >= 0 for fd in range(64))
try:
    is_read = len(open("/proc/%d/environ" % pid, "rb").read()) > 0
except OSError:
    is_read = False
print("taken: %d, environment: %s" % (taken, is_read))
"#;

/// A program as the user of this test.
struct User {
    is_other: bool,
}

impl User {
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        if !self.is_other {
            return Command::new(program);
        }
        let id = NOBODY.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all"]).arg(program);
        command
    }

    fn steal(&self, pid: u32) -> String {
        let done = self.command(PYTHON).args(["-c", STEAL, &pid.to_string()]).output().expect("python runs");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program where this user can run it.
fn program_for(home: &Home, user: &User) -> PathBuf {
    if !user.is_other {
        return PROGRAM.into();
    }
    let folder = home.data().parent().expect("a folder").to_owned();
    let copy = folder.join("taskwarden");
    std::fs::copy(PROGRAM, &copy).expect("a copy of the program");
    chown(&folder, Some(NOBODY), Some(NOBODY)).expect("root gives it away");
    copy
}

#[test]
fn no_server_takes_the_connection_or_the_environment_of_a_persons_command() {
    let home = Home::new();
    let user = User { is_other: rustix::process::getuid().is_root() };
    let program = program_for(&home, &user);
    let with_home = |args: &[&str]| {
        let mut command = user.command(&program);
        command.args(args).env("TASKWARDEN_HOME", home.data()).env("TASKWARDEN_SECRETS", "file");
        command.env("TASKWARDEN_LISTEN", "off").env("HOME", home.data()).stdin(Stdio::null());
        command
    };
    let (core, _) = home.listening(with_home(&["serve", "--json"]));
    let demo = program.to_str().expect("a path of text");
    let added = with_home(&["servers", "add", "demo", "--yes", "--", demo, "demo-server"]).output().expect("it starts");
    assert!(added.status.success(), "{added:?}");
    let follow = with_home(&["servers", "log", "demo", "--follow"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let follow = Ended(follow);
    let plain = Ended(user.command("/bin/sleep").arg("600").spawn().expect("it starts"));
    let is_running = |pid: u32, name: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    until("both run", || is_running(follow.0.id(), "taskwarden") && is_running(plain.0.id(), "sleep"));
    let control = user.steal(plain.0.id());
    if control.contains("taken: 0") {
        // This kernel lets no program trace another one; there is nothing to steal.
        println!("not run: {control}");
        return;
    }
    assert!(control.contains("environment: True"), "the attack works where nothing stands against it: {control}");
    for pid in [follow.0.id(), core.pid()] {
        assert_eq!(user.steal(pid), "taken: 0, environment: False");
    }
}
