//! Commands with `--token-file`: what a supervisor program sees, ends and halts on the command line is what its control
//! token lets it, whoever runs the command.

use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::home::{Core, Home, PATIENCE, Ran};

/// A core without a listener, the demo server, and files with control tokens.
struct Programs {
    home: Home,
    _core: Core,
}

impl Programs {
    fn open() -> Self {
        let (home, core) = Home::with_demo();
        Self { home, _core: core }
    }

    /// Makes a control token, and puts it where a program would keep it.
    fn token(&self, name: &str, more: &[&str]) -> PathBuf {
        let made = self.home.ok(&[&["control", "add", name], more].concat()).out;
        let file = self.home.folder(name, &[]).join("token");
        std::fs::write(&file, made).expect("a file");
        permit(&file, 0o600);
        file
    }

    /// Runs a command as the program whose token is in this file.
    fn run(&self, file: &Path, args: &[&str]) -> Ran {
        self.home.run(&[args, &["--token-file", text(file)]].concat())
    }

    fn ok(&self, file: &Path, args: &[&str]) -> Value {
        let ran = self.run(file, &[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "`{args:?}` succeeds: {ran:?}");
        ran.json()
    }

    /// Runs a command that must be refused with this exit code, and gives the message and the hint.
    fn refused(&self, file: &Path, args: &[&str], code: i32) -> String {
        let ran = self.run(file, args);
        assert_eq!(ran.code, Some(code), "`{args:?}` is refused: {ran:?}");
        assert!(!ran.err.contains("twc_") || ran.err.contains("`twc_`"), "no token is printed: {ran:?}");
        ran.err
    }
}

fn text(file: &Path) -> &str {
    file.to_str().expect("a path of letters")
}

fn permit(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("permissions");
}

#[test]
fn a_program_lists_shows_and_cancels_with_its_token_what_is_in_its_reach() {
    let programs = Programs::open();
    let watch = programs.token("watch", &["--scope", "read,cancel,revoke", "--all", "--per-call", "3"]);
    let blind = programs.token("blind", &["--scope", "cancel", "--server", "demo"]);
    programs.home.ok(&["agents", "add", "order-bot"]);
    let of_bot = programs.token("bot-watch", &["--scope", "read,cancel,revoke", "--agent", "order-bot"]);
    let tasks: Vec<String> = (0..4).map(|_| programs.home.call_taken("runaway", "{}")).collect();

    let listed = programs.ok(&watch, &["tasks", "list", "--open", "--limit", "3"]);
    assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(3), "{listed}");
    let next = listed["next"].as_str().expect("a next page").to_owned();
    let rest = programs.ok(&watch, &["tasks", "list", "--open", "--before", &next]);
    assert_eq!(rest["tasks"][0]["id"], json!(tasks[0]), "the oldest is on the next page: {rest}");
    let table = programs.run(&watch, &["tasks", "list"]).out;
    assert!(table.contains("PHASE") && tasks.iter().all(|id| table.contains(id.as_str())), "{table}");
    let shown = programs.run(&watch, &["tasks", "show", &tasks[0]]).out;
    assert!(shown.contains("runaway") && shown.contains(&tasks[0]) && shown.contains("worked"), "{shown}");

    // Out of reach is what does not exist, in the same words, and nothing is asked.
    assert_eq!(programs.ok(&of_bot, &["tasks", "list"])["tasks"], json!([]));
    let none = "hdl_00000000000000000000000000";
    for command in ["show", "cancel", "revoke"] {
        let out = programs.refused(&of_bot, &["tasks", command, &tasks[0]], 4);
        let unknown = programs.refused(&of_bot, &["tasks", command, none], 4);
        assert_eq!(out.replace(&tasks[0], "ID"), unknown.replace(none, "ID"), "`{command}` says the same of both");
    }
    let prefix = programs.refused(&watch, &["tasks", "cancel", &tasks[0][..14]], 4);
    assert!(prefix.contains("handles are written whole"), "{prefix}");
    assert_eq!(programs.home.task(&tasks[0])["intent"], Value::Null, "nothing was asked");

    // A scope that the token does not have.
    let unread = programs.refused(&blind, &["tasks", "list"], 4);
    assert!(unread.contains("`tasks.list`") && unread.contains("scopes"), "{unread}");
    let unwaited = programs.refused(&blind, &["tasks", "cancel", &tasks[0], "--wait"], 4);
    assert!(unwaited.contains("`tasks.show`"), "waiting needs to read, said before anything is asked: {unwaited}");
    assert_eq!(programs.home.task(&tasks[0])["intent"], Value::Null, "nothing was asked");

    let cancelled = programs.ok(&watch, &["tasks", "cancel", &tasks[0], "--wait", "--reason", "loop"]);
    assert_eq!(cancelled["outcomes"][0]["state"], "stopped", "{cancelled}");
    let by = programs.home.task(&tasks[0])["intent"]["by"].to_string();
    assert!(by.contains("control:ctl_"), "the task names the token, not the person: {by}");
    let revoked = programs.run(&watch, &["tasks", "revoke", &tasks[1]]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");

    // All that match, by a plan: one that the program follows, and one that it may not look at.
    let asked = programs.run(&watch, &["tasks", "cancel", "--server", "demo"]);
    assert_eq!(asked.code, Some(5), "many are confirmed first: {asked:?}");
    let last = programs.home.call_taken("runaway", "{}");
    let all = programs.run(&blind, &["tasks", "cancel", "--all", "--yes"]);
    assert!(all.code == Some(0) && all.out.contains("3 tasks"), "{all:?}");
    assert!(all.err.contains("scope `read`"), "it says why it does not say more: {all:?}");
    let begun = Instant::now();
    while programs.home.task(&last)["over"] != true {
        assert!(begun.elapsed() < PATIENCE, "the tasks end");
    }
    let nothing = programs.refused(&watch, &["tasks", "cancel", "--all", "--yes"], 5);
    assert!(nothing.contains("no open task in reach"), "{nothing}");
}

/// A command that goes on, and its lines so far.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Programs {
    fn watching(&self, file: &Path, args: &[&str]) -> Watching {
        let mut command =
            self.home.command(&[&["tasks", "watch"], args, &["--token-file", text(file), "--json"]].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Watching { child, lines }
    }
}

impl Programs {
    /// Begins tasks until one besides `known` is told: then the feed is open.
    fn begun_in_sight_of(&self, watching: &mut Watching, known: &str) -> String {
        let told = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let begins = threads.spawn(|| {
                while !told.load(Ordering::Acquire) {
                    self.home.call_taken("runaway", "{}");
                }
            });
            let mut ids = watching.lines.by_ref().map(|line| {
                let value: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
                value["id"].as_str().expect("an id").to_owned()
            });
            let first = ids.find(|id| id != known).expect("a line");
            told.store(true, Ordering::Release);
            begins.join().expect("the calls are made");
            first
        })
    }
}

impl Watching {
    /// The first line about this task in this phase.
    fn until(&mut self, id: &str, phase: &str) -> Value {
        let values = self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.expect("text")).expect("JSON"));
        let mut told = values.filter(|value| value["id"] == id && value["phase"] == phase);
        told.next().unwrap_or_else(|| panic!("it ended before {id} was {phase}"))
    }

    fn ended(self) -> Ran {
        let Self { child, lines } = self;
        lines.for_each(drop);
        child.wait_with_output().expect("it ends").into()
    }
}

#[test]
fn a_program_watches_one_task_to_its_end_and_all_in_its_reach_until_its_token_ends() {
    let programs = Programs::open();
    let file = programs.token("night-watch", &["--scope", "read", "--all"]);
    programs.home.ok(&["agents", "add", "order-bot"]);
    let of_bot = programs.token("bot-watch", &["--scope", "read", "--agent", "order-bot"]);
    let task = programs.home.call_taken("runaway", "{}");
    let out = programs.refused(&of_bot, &["tasks", "watch", &task], 4);
    assert!(out.contains(&task), "out of reach is what does not exist: {out}");
    let (mut all, mut one) = (programs.watching(&file, &[]), programs.watching(&file, &[&task]));
    assert!(one.until(&task, "running").get("arguments").is_none(), "phases and times, no content");
    // Once its feed is open, a task that begins is told.
    let other = programs.begun_in_sight_of(&mut all, &task);
    programs.home.ok(&["tasks", "cancel", &task, "--wait"]);
    one.until(&task, "cancelled");
    assert_eq!(one.ended().code, Some(1), "it did not finish");
    all.until(&task, "cancelled");
    programs.home.ok(&["tasks", "cancel", &other, "--wait"]);
    all.until(&other, "cancelled");
    programs.home.ok(&["control", "revoke", "night-watch"]);
    let ended = all.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("the feed ended: ") && ended.err.contains("revoked"), "{ended:?}");
}

#[test]
fn a_program_goes_on_watching_its_task_when_the_core_is_killed_and_another_begins() {
    let programs = Programs::open();
    let file = programs.token("night-watch", &["--scope", "read", "--all"]);
    let task = programs.home.call_taken("runaway", "{}");
    let (mut all, mut one) = (programs.watching(&file, &[]), programs.watching(&file, &[&task]));
    one.until(&task, "running");
    programs.begun_in_sight_of(&mut all, &task);
    let Programs { home, _core: core } = programs;
    core.kill();
    let core = home.serve();
    let programs = Programs { home, _core: core };
    programs.home.ok(&["tasks", "cancel", &task, "--wait"]);
    one.until(&task, "cancelled");
    let ended = one.ended();
    assert_eq!(ended.code, Some(1), "it watched the task to its end: {ended:?}");
    assert!(ended.err.contains("The core ended; waiting for a new one"), "it says what it waits for: {ended:?}");
    all.until(&task, "cancelled");
    programs.home.ok(&["control", "revoke", "night-watch"]);
    assert_eq!(all.ended().code, Some(5), "and the token still ends it");
}

#[test]
fn a_token_that_ends_nothing_more_says_what_is_wrong_and_the_way_out() {
    let programs = Programs::open();
    let limits = ["--scope", "cancel", "--all", "--per-call", "1", "--per-hour", "1", "--needs-reason"];
    let narrow = programs.token("narrow", &limits);
    let task = programs.home.call_taken("runaway", "{}");
    let silent = programs.refused(&narrow, &["tasks", "cancel", &task], 2);
    assert!(silent.contains("--reason"), "{silent}");
    let other = programs.home.call_taken("runaway", "{}");
    let many = programs.refused(&narrow, &["tasks", "cancel", &task, &other, "--yes", "--reason", "loop"], 5);
    assert!(many.contains("may end 1 tasks in one call"), "{many}");
    programs.ok(&narrow, &["tasks", "cancel", &task, "--reason", "loop"]);
    let hour = programs.refused(&narrow, &["tasks", "cancel", &other, "--reason", "loop"], 5);
    assert!(hour.contains("It fits again in"), "{hour}");
    let planned = programs.token("planned", &["--scope", "read,cancel", "--all", "--needs-plan"]);
    let single = programs.refused(&planned, &["tasks", "cancel", &other], 5);
    assert!(single.contains("by a plan only") && single.contains("--server"), "{single}");
    let by_plan = programs.run(&planned, &["tasks", "cancel", "--server", "demo", "--yes", "--wait"]);
    assert!(by_plan.code == Some(0) && by_plan.out.contains("1 task: 1 cancelled"), "{by_plan:?}");

    programs.home.ok(&["control", "revoke", "planned"]);
    let revoked = programs.refused(&planned, &["tasks", "list"], 5);
    assert!(revoked.contains("`planned` was revoked at 20") && revoked.contains("control add"), "{revoked}");
    let brief = programs.token("brief", &["--scope", "read", "--all", "--until", "1s"]);
    let begun = Instant::now();
    let over = loop {
        let ran = programs.run(&brief, &["tasks", "list"]);
        if ran.code != Some(0) {
            break ran;
        }
        assert!(begun.elapsed() < PATIENCE, "the time of the token ends");
    };
    assert!(over.code == Some(5) && over.err.contains("time of control token `brief` was over"), "{over:?}");
    let foreign = programs.home.folder("foreign", &[]).join("token");
    std::fs::write(&foreign, "twc_ofAnotherCore\n").expect("a file");
    permit(&foreign, 0o600);
    let unknown = programs.refused(&foreign, &["halt"], 5);
    assert!(unknown.contains("not known here") && !unknown.contains("ofAnotherCore"), "{unknown}");
}

#[test]
fn a_file_that_others_can_read_or_that_has_no_control_token_is_refused() {
    let programs = Programs::open();
    let file = programs.token("watch", &["--scope", "read", "--all"]);
    for mode in [0o640, 0o604, 0o620, 0o777] {
        permit(&file, mode);
        let open = programs.refused(&file, &["tasks", "list"], 5);
        let named = open.contains(text(&file)) && open.contains(&format!("chmod 600 {}", text(&file)));
        assert!(named && open.contains("others can read"), "with {mode:o}: {open}");
    }
    permit(&file, 0o400);
    programs.ok(&file, &["tasks", "list"]);
    permit(&file, 0o600);
    let agent = programs.home.ok(&["agents", "add", "claude"]).out;
    for (content, why) in [("", "an empty file"), (agent.as_str(), "an agent's token"), ("twc_a b\u{7}", "no text")] {
        std::fs::write(&file, content).expect("a file");
        let wrong = programs.refused(&file, &["tasks", "list"], 2);
        assert!(wrong.contains("no control token in"), "{why}: {wrong}");
    }
    std::fs::write(&file, "twc_".repeat(1_000)).expect("a file");
    assert!(programs.refused(&file, &["tasks", "list"], 2).contains("no control token in"), "a long file");
    std::fs::remove_file(&file).expect("it is removed");
    let folder = programs.home.folder("folder", &[]);
    let no_file = programs.refused(&folder, &["tasks", "list"], 2);
    assert!(
        no_file.contains("cannot be read") && !no_file.contains("chmod"),
        "nobody is told to close a folder: {no_file}"
    );
    let missing = programs.refused(&file, &["tasks", "list"], 2);
    assert!(missing.contains("cannot be read") && missing.contains(text(&file)), "{missing}");
    let not_a_program = programs.home.run(&["tasks", "answer", "hdl_x", "--decline", "--token-file", text(&file)]);
    assert_eq!(not_a_program.code, Some(2), "no token answers, so the command has no such option: {not_a_program:?}");
    let retry = programs.home.run(&["halt", "--retry", "--token-file", text(&file)]);
    assert!(retry.code == Some(2) && retry.err.contains("cannot be used with"), "{retry:?}");
}

#[test]
fn a_program_halts_and_pauses_with_its_token_and_only_a_person_ends_that() {
    let programs = Programs::open();
    programs.home.ok(&["agents", "add", "order-bot"]);
    let bot = programs.token("bot-watch", &["--scope", "read,pause,halt", "--agent", "order-bot"]);
    let everything = programs.refused(&bot, &["halt", "--reason", "loop", "--yes"], 4);
    assert!(everything.contains("there is no halt of `everything`"), "{everything}");
    let unconfirmed = programs.refused(&bot, &["halt", "--reason", "loop", "--agent", "order-bot"], 5);
    assert!(unconfirmed.contains("nobody confirmed"), "{unconfirmed}");
    assert_eq!(programs.ok(&bot, &["halt"])["halt"], Value::Null);

    let paused = programs.ok(&bot, &["pause", "order-bot", "--reason", "loop"]);
    assert_eq!(paused["agent"], "order-bot", "{paused}");
    let listed = programs.run(&bot, &["pauses", "list"]);
    assert!(listed.out.contains("New calls of order-bot wait") && listed.out.contains("no call waits"), "{listed:?}");
    let unpause = programs.home.run(&["unpause", "order-bot", "--token-file", text(&bot)]);
    assert_eq!(unpause.code, Some(2), "no token ends a pause: {unpause:?}");
    let frozen = programs.refused(&bot, &["pause", "demo", "--freeze"], 4);
    assert!(frozen.contains("there is no server `demo`"), "others use it: {frozen}");

    let halted = programs.run(&bot, &["halt", "--reason", "loop", "--agent", "order-bot", "--yes"]);
    assert!(halted.code == Some(0) && halted.out.contains("Only a person lets work begin again"), "{halted:?}");
    let orders = programs.home.ok(&["halt", "--json"]).json()["halt"]["orders"].clone();
    assert!(orders.to_string().contains("control:ctl_"), "the halt is the token's: {orders}");
    let resume = programs.home.run(&["resume", "calls", "--token-file", text(&bot)]);
    assert_eq!(resume.code, Some(2), "no token lifts a halt: {resume:?}");
}
