//! A private bus with a notification service on it, and the cards that it was sent.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{Core, Home, PATIENCE};

/// Between two looks at a level.
const STEP: Duration = Duration::from_millis(100);
/// The python that the system's packages belong to.
const PYTHON: &str = "/usr/bin/python3";

/// A desktop.
pub(crate) struct Screen {
    bus: Child,
    service: Option<Child>,
    hands: Option<ChildStdin>,
    said: Receiver<Value>,
    pub(crate) address: String,
}

impl Screen {
    /// A bus with nothing on it.
    pub(crate) fn empty() -> Self {
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a bus; the package is `dbus`");
        let mut address = String::new();
        BufReader::new(bus.stdout.take().expect("its output")).read_line(&mut address).expect("its address");
        let (_, said) = channel();
        Self { bus, service: None, hands: None, said, address: address.trim().to_owned() }
    }

    /// A bus with a notification service.
    pub(crate) fn new() -> Self {
        let mut screen = Self::empty();
        let mut service = Command::new(PYTHON)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/notifications/service.py"))
            .env("DBUS_SESSION_BUS_ADDRESS", &screen.address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a service; the packages are `python3-dbus` and `python3-gi`");
        let (teller, said) = channel();
        let out = BufReader::new(service.stdout.take().expect("its output"));
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let Ok(fact) = serde_json::from_str(&line) else { continue };
                if teller.send(fact).is_err() {
                    return;
                }
            }
        });
        screen.hands = service.stdin.take();
        screen.service = Some(service);
        screen.said = said;
        screen.until("the service is there", |fact| fact["call"] == "ready");
        screen
    }

    /// A core whose desktop this is, with the server that asks.
    pub(crate) fn core(&self) -> (Home, Core) {
        let home = Home::new();
        let core = self.core_of(&home);
        asker(&home, "asker");
        (home, core)
    }

    pub(crate) fn core_of(&self, home: &Home) -> Core {
        self.core_with(home, &[])
    }

    /// A core of this home with further environment.
    pub(crate) fn core_with(&self, home: &Home, env: &[(&str, &str)]) -> Core {
        let mut command = home.command(&["serve", "--json"]);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address).envs(env.iter().copied());
        home.listening(command).0
    }

    /// The next fact that is meant; what comes before it is passed over.
    pub(crate) fn until(&self, what: &str, meant: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut passed = Vec::new();
        while let Ok(fact) = self.said.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
            if meant(&fact) {
                return fact;
            }
            passed.push(fact);
        }
        panic!("waited too long until {what}; passed over: {passed:?}");
    }

    /// The next card.
    pub(crate) fn card(&self, title: &str) -> Value {
        self.until(title, |fact| fact["call"] == "notify" && fact["title"] == title)
    }

    /// The moment a card is taken away.
    pub(crate) fn gone(&self, card: &Value) {
        self.until("the card goes", |fact| fact["call"] == "close" && fact["id"] == card["id"]);
    }

    /// Presses a button, and leaves the core a moment to hear it.
    pub(crate) fn press_once(&self, card: &Value, button: &str) {
        let mut hands = self.hands.as_ref().expect("a service");
        writeln!(hands, "press {} {button}", card["id"]).expect("it is pressed");
        pause();
    }

    /// A program that is not the service sends its signals about a card, to everybody and to the core alone. They have
    /// passed the bus when this returns.
    pub(crate) fn forge(&self, card: &Value, actions: &[&str]) {
        let forger = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/notifications/forger.py");
        let mut command = Command::new(PYTHON);
        command.arg(forger).arg(card["id"].to_string()).args(actions);
        let ended = command.env("DBUS_SESSION_BUS_ADDRESS", &self.address).status().expect("python");
        assert!(ended.success(), "the signals were sent");
    }

    /// The person takes a card away.
    pub(crate) fn close(&self, card: &Value) {
        let mut hands = self.hands.as_ref().expect("a service");
        writeln!(hands, "close {}", card["id"]).expect("it is closed");
    }
}

/// Adds a server that asks one question in a call. One call at a time: its era ties a question to no call.
pub(crate) fn asker(home: &Home, name: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/notifications/asker.py");
    home.ok(&["servers", "add", name, "--yes", "--", PYTHON, script]);
}

#[expect(clippy::disallowed_methods, reason = "between two looks at a level")]
fn pause() {
    std::thread::sleep(STEP);
}

impl Drop for Screen {
    fn drop(&mut self) {
        for child in self.service.iter_mut().chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
