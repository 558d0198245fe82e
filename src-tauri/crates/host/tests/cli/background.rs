//! A core that an agent's bridge starts, and a keeper whose core is gone, when the agent brings hostile surroundings:
//! variables, a search path with a program of its own, and a library that it loads into our programs.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bridge::Agent;
use crate::home::{Home, PROGRAM};

/// Writes down which program it was loaded into. Where it is told of a socket, it connects there, orders the end of
/// whatever is kept (as a core would) and writes down what it heard.
const LIBRARY: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {
    char line[4096];
    int from = open("/proc/self/cmdline", O_RDONLY), to = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ssize_t size = read(from, line, sizeof line - 1);
    for (ssize_t at = 0; at < size; at++) if (line[at] == 0) line[at] = ' ';
    if (size > 0) { line[size++] = '\n'; if (write(to, line, size) < 0) return; }
    const char *path = getenv("KEEPER_SOCKET"), *heard = getenv("KEEPER_HEARD");
    if (!path || !heard) return;
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct timeval patience = { .tv_sec = 3 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&at, sizeof at)) return;
    char first[65536], end[13] = { 6 };
    int out = open(heard, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if ((size = read(fd, first, sizeof first)) > 0 && write(out, first, size) < 0) return;
    if (write(fd, end, sizeof end) < 0) return;
    while ((size = read(fd, first, sizeof first)) > 0) if (write(out, first, size) < 0) return;
    close(out);
}
"#;

/// The library, and the file in which it writes.
fn library(folder: &Path) -> (PathBuf, PathBuf) {
    let (source, built, log) = (folder.join("evil.c"), folder.join("evil.so"), folder.join("loaded"));
    fs::write(&source, LIBRARY).expect("its source");
    let log_text = format!("-DLOG=\"{}\"", log.display());
    let done = Command::new("cc").args(["-shared", "-fPIC", &log_text, "-o"]).arg(&built).arg(&source).status();
    assert!(done.is_ok_and(|status| status.success()), "the C compiler that linked this program makes it");
    (built, log)
}

/// A program that writes what environment it got, and is the demo server from then on.
fn server_program(folder: &Path, name: &str, mark: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let script = format!("#!/bin/sh\nenv > '{}'\nexec '{PROGRAM}' demo-server\n", mark.display());
    fs::write(folder.join(name), script).expect("a script");
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn a_core_that_an_agent_starts_has_nothing_of_its_environment_and_runs_what_a_person_agreed_to() {
    let home = Home::new();
    let here = home.folder("here", &[]);
    let (good, evil) = (here.join("good"), here.join("evil"));
    let (good_mark, evil_mark) = (here.join("good-ran"), here.join("evil-ran"));
    server_program(&good, "tool-server", &good_mark);
    server_program(&evil, "tool-server", &evil_mark);
    let path = |folder: &Path| format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let (core, _) = home.listening({
        let mut command = home.command(&["serve", "--json"]);
        command.env("PATH", path(&good));
        command
    });
    let mut add = home.command(&["servers", "add", "demo", "--yes", "--", "tool-server"]);
    let added = add.env("PATH", path(&good)).output().expect("it runs");
    assert!(added.status.success(), "{added:?}");
    let shown = home.ok(&["servers", "show", "demo", "--json"]).json();
    assert_eq!(shown["address"]["command"], json!(good.join("tool-server")), "the person agrees to one program");
    home.ok(&["agents", "add", "claude", "--save"]);
    fs::write(home.data().join("config.toml"), "listen = \"off\"\nnotifications = false\n").expect("written");
    core.signal(Signal::TERM);
    core.ended();
    fs::remove_file(&good_mark).expect("it ran for the person");

    let (built, loaded) = library(&here);
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr()).expect("a free port");
    let mut agent = Agent::start_with(&home, |bridge| {
        bridge.env("PATH", path(&evil)).env("LD_PRELOAD", &built).env("TASKWARDEN_LISTEN", port.to_string());
        bridge.env("TASKWARDEN_POLICY_HOLD_BACK", "1ms").env("TASKWARDEN_LOG", "trace").env("BASH_ENV", "/tmp/evil");
        bridge.env("HTTP_PROXY", "http://127.0.0.1:9").env("TASKWARDEN_TOKEN_OF_SOMEBODY", "hush");
    });
    agent.greet();
    agent.ask(2, "tools/list", json!({}));
    assert!(agent.answer(2)["result"]["tools"].is_array(), "the core serves it");

    let ran = fs::read_to_string(&loaded).expect("the bridge itself loaded the library");
    assert!(ran.contains(" connect "), "{ran}");
    assert!(!ran.contains(" serve ") && !ran.contains(" keep "), "no core and no keeper did: {ran}");
    assert!(TcpStream::connect(port).is_err(), "it does not listen where the agent says");
    assert!(!evil_mark.exists(), "the agent's program of the same name never runs");
    let environment = fs::read_to_string(&good_mark).expect("the program that was agreed to runs");
    assert!(!environment.contains("evil"), "and has nothing of the agent's search path: {environment}");
    let core = agent.core().expect("a core runs").as_raw_nonzero();
    // Closed to other processes, unless one may trace everything, as root may.
    if let Ok(environment) = fs::read(format!("/proc/{core}/environ")) {
        let names: Vec<String> = environment
            .split(|byte| *byte == 0)
            .map(|pair| String::from_utf8_lossy(pair).split('=').next().unwrap_or_default().to_owned())
            .collect();
        for name in names.iter().filter(|name| !name.is_empty()) {
            let is_listed = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TASKWARDEN_HOME", "DBUS_SESSION_BUS_ADDRESS"]
                .contains(&name.as_str());
            assert!(is_listed || name.starts_with("LC_") || name.starts_with("XDG_"), "`{name}` came along: {names:?}");
        }
    }
}

#[test]
fn our_own_program_with_a_library_of_an_agent_in_it_is_nobodys_core_to_a_keeper() {
    let (home, core) = Home::with_demo();
    let kept = || {
        let mut folders = fs::read_dir(home.data().join("keep")).expect("keepers").filter_map(Result::ok);
        folders.next().expect("one keeper").path()
    };
    let child = || -> Value {
        let record = fs::read(kept().join("who")).expect("its record");
        serde_json::from_slice::<Value>(&record).expect("JSON")["child"]["pid"].clone()
    };
    let before = child();
    core.signal(Signal::KILL);
    core.ended();

    let here = home.folder("here", &[]);
    let ((built, loaded), heard) = (library(&here), here.join("heard"));
    let mut ours = home.command(&["--version"]);
    ours.env("LD_PRELOAD", built).env("KEEPER_SOCKET", kept().join("s")).env("KEEPER_HEARD", &heard);
    assert!(ours.stdout(Stdio::null()).status().expect("it runs").success());
    assert!(fs::read_to_string(loaded).expect("it was loaded").contains("--version"));
    let heard = fs::read(heard).expect("the keeper's socket is open to the user");
    assert_eq!((heard.first(), heard.len()), (Some(&24), 13 + 32), "a challenge, and nothing of what is kept");

    let _core = home.serve();
    home.ok(&["servers", "tools", "demo"]);
    assert_eq!(child(), before, "the order to end it was not obeyed, and the next core takes it up");
}
