//! What a person types wrong, and set-ups that are broken: one clear line, a way out, the right exit code.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::home::{Home, PROGRAM, Ran};

/// Runs a command until it says so: a server that is down is tried again and again, and being connected meanwhile.
fn until(what: &str, home: &Home, args: &[&str], says: impl Fn(&Ran) -> bool) -> Ran {
    let mut last = home.run(args);
    for _ in 0..500 {
        if says(&last) {
            return last;
        }
        last = home.run(args);
    }
    panic!("never: {what}: {last:?}");
}

#[test]
fn what_is_typed_wrong_is_named_with_a_way_out_and_its_exit_code() {
    let (home, _core) = Home::with_demo();
    let known = home.call("tool_error", "{}");
    home.watch(&known);
    for (args, code, says) in [
        (vec!["call", "dmeo", "hash_tree"], 4, "did you mean `demo`"),
        (vec!["call", "demo", "hash_treee"], 4, "did you mean `hash_tree`"),
        (vec!["call", "demo", "hash_tree", "--args", "{\"path\": "], 2, "not json"),
        (vec!["call", "demo", "hash_tree", "--args", "[]"], 2, "object"),
        (vec!["call", "demo", "hash_tree", "--args", "{\"path\": 7}"], 2, "`/path`"),
        (vec!["call", "demo", "hash_tree", "--args", "@/no/such/file"], 2, "/no/such/file"),
        (vec!["call", "demo", "flaky", "--timeout", "5"], 2, "--wait"),
        (vec!["call", "demo", "flaky", "--wait", "--timeout", "-1"], 2, "--timeout"),
        (vec!["tasks", "show", "hdl_zzzz"], 4, "hdl_zzzz"),
        (vec!["tasks", "show", "hdl_"], 4, "no task"),
        (vec!["tasks", "show", "ab"], 2, "too short"),
        (vec!["tasks", "answer", &known, "--decline"], 5, "not waiting"),
        (vec!["tasks", "answer", &known, "--key", "nokey", "--decline"], 4, "nokey"),
        (vec!["tasks", "answer", &known, "--accept", "{"], 2, "json"),
        (vec!["tasks", "answer", &known], 2, "--accept"),
        (vec!["tasks", "list", "--phase", "sleeping"], 2, "waiting"),
        (vec!["tasks", "list", "--phase", "wroking"], 2, "did you mean `working`"),
        (vec!["tasks", "cancel", "--phase", "sleeping"], 2, "working"),
        (vec!["tasks", "list", "--server", "dmeo"], 4, "demo"),
        (vec!["tasks", "adopt", "demo", "no-such-task"], 4, "does not know"),
        (vec!["tasks", "cancel"], 2, "--all"),
        (vec!["servers", "add", "Bad Name", "--yes", "--", "true"], 2, "bad name"),
        (vec!["servers", "add", "demo", "--yes", "--", "true"], 5, "already"),
        (vec!["servers", "add", "x", "--yes", "--url", "ftp://host/x"], 2, "https://"),
        (vec!["servers", "add", "x", "--yes", "--url", "not a url"], 2, "url"),
        (vec!["servers", "add", "x", "--yes"], 2, "command"),
        (vec!["servers", "remove", "nobody", "--yes"], 4, "nobody"),
        (vec!["storage", "set", "--payload-age", "soon"], 2, "`--payload-age`"),
        (vec!["storage", "set", "--server-size", "2 GB"], 2, "`--server-size`"),
        (vec!["storage", "set", "--task-age", "2d"], 2, "`--task-age`"),
        (vec!["storage", "set", "--payload-age", "1h"], 2, "`--payload-age`"),
        (vec!["storage", "set", "--agent-size", "0"], 2, "`--agent-size`"),
        (vec!["agents", "add", "x", "--for", "emacs"], 2, "codex"),
        (vec!["nonsense"], 2, "nonsense"),
        (vec!["tasks", "lst"], 2, "`list`"),
    ] {
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(code), "exit code of {args:?}: {ran:?}");
        assert!(ran.err.to_lowercase().contains(says), "{args:?} says `{says}`: {}", ran.err);
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
            "one line and a hint for {args:?}: {}",
            ran.err
        );
        let as_json = home.run(&[&["--json"] as &[&str], args.as_slice()].concat());
        assert_eq!(as_json.code, Some(code), "the same code with `--json`: {as_json:?}");
        let error = as_json.error();
        assert!(error["code"].is_string() && error["message"].is_string() && error["hint"].is_string(), "{error}");
    }
}

#[test]
fn a_server_that_cannot_work_is_added_and_told_to_be_down_with_its_last_words() {
    let home = Home::new();
    let _core = home.serve();
    for (args, says) in [
        (vec!["--", "no-such-program-here"], "no-such-program-here"),
        (vec!["--", "sh", "-c", "echo my last words >&2; exit 3"], "my last words"),
        (vec!["--url", "http://127.0.0.1:1/mcp"], "listens"),
    ] {
        let ran = home.run(&[&["servers", "add", "poor", "--yes"], args.as_slice()].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert!(ran.err.contains(says) && ran.err.contains("hint: "), "{args:?} says `{says}`: {}", ran.err);
        until("it is down", &home, &["servers", "show", "poor", "--json"], |ran| {
            ran.json()["health"]["kind"] == "down"
        });
        let doctor = until("something is broken", &home, &["doctor"], |ran| ran.code == Some(1));
        assert!(doctor.out.contains("server poor"), "and doctor names it: {}", doctor.out);
        home.ok(&["servers", "remove", "poor"]);
    }
    assert_eq!(home.run(&["doctor"]).code, Some(0), "nothing is broken any more");
}

#[test]
fn a_server_that_never_speaks_is_waited_for_with_a_word_and_a_limit() {
    let home = Home::new();
    let _core = home.serve();
    let mut command = home.command(&["servers", "add", "mute", "--yes", "--", "sleep", "600"]);
    let mut adding = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut first = String::new();
    BufReader::new(adding.stderr.take().expect("its errors")).read_line(&mut first).expect("a line");
    // The command still waits: what it said came while nothing had happened.
    assert!(adding.try_wait().expect("a process").is_none(), "{first}");
    adding.kill().and_then(|()| adding.wait()).expect("it ends");
    assert!(first.starts_with("Waiting for `mute`:") && first.contains("at most 60 s"), "{first}");
}

#[test]
fn bad_certificates_are_named_with_their_file_and_do_not_keep_anybody_from_the_core() {
    let home = Home::new();
    let with_bad_file = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("SSL_CERT_FILE", "/no/such/certificates.pem").env_remove("SSL_CERT_DIR");
        command
    };
    let (_core, _) = home.listening(with_bad_file(&["serve", "--json"]));
    let url = "https://127.0.0.1:9/mcp";
    let added = Ran::from(with_bad_file(&["servers", "add", "far", "--yes", "--url", url]).output().expect("it runs"));
    assert_eq!(added.code, Some(1), "the command reached the core, and the core cannot reach the server: {added:?}");
    let says = "`SSL_CERT_FILE` names `/no/such/certificates.pem`, which cannot be read: No such file";
    assert!(added.err.contains(says) && !added.err.contains("builder error"), "{}", added.err);
    let agent = Ran::from(with_bad_file(&["agents", "add", "mine", "--save"]).output().expect("it runs"));
    assert_eq!(agent.code, Some(0), "{agent:?}");
    let bridge = Ran::from(with_bad_file(&["connect", "--agent", "mine"]).output().expect("it runs"));
    assert_eq!((bridge.code, bridge.err.as_str()), (Some(0), ""), "a bridge needs no certificate: {bridge:?}");
}

#[test]
fn help_and_hints_call_the_program_by_its_name_whatever_its_file_is_called() {
    let home = Home::new();
    let other = home.data().with_file_name("tw");
    std::os::unix::fs::symlink(PROGRAM, &other).expect("a link");
    for args in [&["--help"][..], &["tasks", "lst"]] {
        let ran = std::process::Command::new(&other).args(args).output().map(Ran::from).expect("it runs");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("taskwarden") && !said.contains("tw "), "{args:?}: {said}");
    }
}

#[test]
fn doctor_names_what_is_broken_in_the_directory_and_how_to_mend_it() {
    let (home, core) = Home::with_demo();
    core.signal(rustix::process::Signal::KILL);
    core.ended();
    let left = home.ok(&["doctor"]).out;
    assert!(left.contains("was left by a core that was killed"), "what a kill left is told: {left}");
    let core = home.serve();
    core.signal(rustix::process::Signal::TERM);
    core.ended();
    let clean = home.ok(&["doctor", "--json"]).json();
    assert_eq!(clean["broken"], 0, "{clean}");
    let areas: Vec<&str> =
        clean["findings"].as_array().expect("findings").iter().filter_map(|one| one["area"].as_str()).collect();
    for area in ["data", "config", "disk", "clock", "secrets", "core", "registry"] {
        assert!(areas.contains(&area), "`{area}` is looked at: {areas:?}");
    }
    let secrets = clean["findings"].as_array().and_then(|all| all.iter().find(|one| one["area"] == "secrets"));
    let told = secrets.and_then(|one| one["message"].as_str()).expect("a message");
    assert!(told.contains("as configured") && !told.contains("keychain"), "a file was chosen: {told}");
    let registry = home.data().join("registry.db");
    let whole = fs::read(&registry).expect("the registry");
    let mut damaged = whole.clone();
    for (at, byte) in damaged.iter_mut().enumerate().skip(4_096).step_by(7) {
        *byte = byte.wrapping_add(u8::try_from(at % 251).unwrap_or(1));
    }
    fs::write(&registry, damaged).expect("it is damaged");
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("broken") && ran.out.contains("backups"), "the cure is named: {}", ran.out);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    fs::write(&registry, whole).expect("it is mended");

    let secrets = home.data().join("secrets.json");
    fs::rename(&secrets, home.data().join("elsewhere")).expect("it is moved");
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("key of the registry"), "the missing key is named: {}", ran.out);
    let serve = home.run(&["serve"]);
    assert_eq!(serve.code, Some(1), "and the core does not make a new key: {serve:?}");
}

#[test]
fn a_configuration_that_cannot_be_is_named_with_file_and_key() {
    let home = Home::new();
    let core = home.serve();
    drop(core);
    fs::write(home.data().join("config.toml"), "[policy]\npoll_frist = \"1s\"\n").expect("a file");
    for args in [&["tasks", "list"] as &[&str], &["serve"]] {
        let ran = home.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("config.toml") && ran.err.contains("poll_frist"), "{}", ran.err);
        assert!(ran.err.contains("poll_first"), "the nearest is named: {}", ran.err);
    }
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(1), "doctor speaks even then: {doctor:?}");
    assert_eq!(doctor.json()["findings"][0]["area"], json!("config"));
}

#[test]
fn help_shows_only_what_there_is() {
    let home = Home::new();
    let help = home.ok(&["--help"]).out;
    for command in [
        "serve",
        "servers",
        "agents",
        "connect",
        "rules",
        "call",
        "tasks",
        "inbox",
        "halt",
        "resume",
        "budget",
        "storage",
        "audit",
        "doctor",
        "demo-server",
        "completions",
    ] {
        assert!(help.contains(command), "`{command}` is there: {help}");
    }
    assert!(!help.contains("\n  keep"), "only cores start `keep`: {help}");
    let completions = home.ok(&["completions", "zsh"]).out;
    assert!(completions.contains("#compdef taskwarden"), "shells can complete it");
}

#[test]
fn files_that_others_can_read_are_named_by_doctor_and_closed_by_the_core() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    drop(home.serve());
    let files = ["registry.db", "secrets.json"].map(|name| home.data().join(name));
    for file in &files {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("its mode");
    }
    let told = home.run(&["doctor"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    for file in &files {
        let cure = format!("chmod 600 {}", file.display());
        assert!(told.out.replace('\n', " ").contains(&cure), "`{cure}` is said: {}", told.out);
    }
    let _core = home.serve();
    for file in &files {
        let mode = fs::metadata(file).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file:?} is closed again");
    }
}

#[test]
fn garbage_for_secrets_is_told_with_its_own_cure() {
    let home = Home::new();
    drop(home.serve());
    let secrets = home.data().join("secrets.json");
    let whole = fs::read(&secrets).expect("the secrets");
    fs::write(&secrets, "bees").expect("garbage");
    let told = home.run(&["doctor"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.out.contains("not readable as JSON"), "what is wrong is said: {}", told.out);
    assert!(told.out.contains("from a backup"), "and what to do: {}", told.out);
    assert!(!told.out.contains("chmod"), "rights are not the trouble: {}", told.out);
    fs::write(&secrets, whole).expect("mended");
}

#[test]
fn a_registry_that_is_gone_is_not_replaced_by_an_empty_one() {
    let home = Home::new();
    let core = home.serve();
    home.ok(&["halt", "--reason", "danger", "--yes"]);
    drop(core);
    let registry = home.data().join("registry.db");
    let kept: Vec<_> = ["", "-wal", "-shm"]
        .iter()
        .map(|end| registry.with_file_name(format!("registry.db{end}")))
        .filter_map(|file| Some((fs::read(&file).ok()?, file)))
        .collect();
    let remove = || kept.iter().for_each(|(_, file)| drop(fs::remove_file(file)));
    let refused = |what: &str| {
        for command in [&["serve"][..], &["doctor"], &["tasks", "list"]] {
            let ran = home.run(command);
            let said = format!("{}{}", ran.out, ran.err);
            assert_ne!(ran.code, Some(0), "{ran:?}");
            assert!(said.contains(what) && said.contains("backups"), "it says so, and the way out: {ran:?}");
        }
    };
    remove();
    refused("is gone");
    assert!(!registry.exists(), "nothing was put in its place");
    fs::write(&registry, "").expect("an empty file");
    refused("damaged");
    remove();
    for (bytes, file) in &kept {
        fs::write(file, bytes).expect("it is put back");
    }
    let _core = home.serve();
    let halted = home.ok(&["halt"]);
    assert!(halted.out.contains("danger"), "the halt holds as before: {halted:?}");
}
