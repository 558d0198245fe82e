//! A process of another user at the core's socket (finding A17).
//!
//! The folders and the socket are opened to everybody, so that what refuses is the core and not a file mode.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use testkit::not_run::not_run;
use tests::home::Home;

use crate::PROGRAM;

/// Nobody.
const OTHER: u32 = 65_534;
/// Connections, so that one that is read by chance would be seen.
const TIMES: u32 = 50;

/// Sends a request on each of some connections and prints what became of it. A unix socket that is closed with bytes in
/// it that nobody read resets its peer; one that is closed before they came breaks its pipe. An end without either means
/// that they were read.
const ASK: &str = r#"
import socket, sys
said = set()
for number in range(int(sys.argv[2])):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(60)
    peer.connect(sys.argv[1])
    try:
        peer.sendall(b"POST /call/core.ping HTTP/1.1\r\nhost: core\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
        answer = peer.recv(65536)
        said.add(answer[:12].decode() if answer else "read")
    except (ConnectionResetError, BrokenPipeError):
        said.add("not read")
print(",".join(sorted(said)))
"#;

/// What a process of this user hears.
fn asked_as(user: u32, socket: &Path) -> String {
    // Not the interpreter of a version manager, which lies in a home folder.
    let mut ask = Command::new("/usr/bin/python3");
    ask.args(["-c", ASK]).arg(socket).arg(TIMES.to_string()).uid(user).gid(user).current_dir("/");
    let ran = ask.output().expect("python3 of the system");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

#[test]
fn a_process_of_another_user_is_refused_at_the_accept_and_nothing_of_it_is_read() {
    if !rustix::process::geteuid().is_root() {
        not_run("only root can start a process as somebody else");
        return;
    }
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let socket = home.data().join("core.sock");
    for (place, mode) in [(home.path(), 0o755), (&*home.data(), 0o755), (&*socket, 0o666)] {
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    assert_eq!(asked_as(0, &socket), "HTTP/1.1 200", "our own user is served at this door");
    assert_eq!(asked_as(OTHER, &socket), "not read", "another user is not; core: {}", home.core_log());
    assert_eq!(home.run(["tasks", "list"]).code, 0, "and the core goes on");
}
