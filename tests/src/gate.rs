//! A core that agents reach over HTTP and over `taskwarden connect`, as a person sets it up.
//!
//! Everything goes through the command line: servers and agents are added, rules set, the core killed and started again
//! on the same port. What an agent says through it is not here: `clients.rs` has clients that we did not write.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use crate::home::{Core, Home, wait_for};
use crate::peers::free_port;

/// A data directory with a core on a port of its own.
pub struct Gate {
    home: Home,
    core: Option<Core>,
    address: SocketAddr,
}

impl Gate {
    /// Starts one with this program (`env!("CARGO_BIN_EXE_core-under-test")`).
    #[must_use]
    pub fn open(program: &str) -> Self {
        let mut gate =
            Self { home: Home::new(program), core: None, address: SocketAddr::from(([127, 0, 0, 1], free_port())) };
        gate.start();
        gate
    }

    /// Starts the core again after [`Gate::kill`].
    pub fn start(&mut self) {
        self.start_with(&[]);
    }

    /// The same with additional environment; the core may end at any moment.
    pub fn start_with(&mut self, env: &[(&str, &str)]) {
        let listen = self.address.to_string();
        let env: Vec<_> = std::iter::once(("TASKWARDEN_LISTEN", listen.as_str())).chain(env.iter().copied()).collect();
        let mut core = self.home.serve_with(&env);
        wait_for(
            "the core listens for agents",
            || (core.ended() || std::net::TcpStream::connect(self.address).is_ok()).then_some(()),
            || self.home.core_log(),
        );
        self.core = Some(core);
    }

    /// The process of the core that runs.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.core.as_ref().expect("a core is running").pid()
    }

    /// Whether no core of ours runs (any more).
    pub fn has_ended(&mut self) -> bool {
        self.core.as_mut().is_none_or(Core::ended)
    }

    /// The exit code of a core that ended by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.core.as_mut().and_then(Core::exit_code)
    }

    /// Ends the core as a power cut would.
    pub fn kill(&mut self) {
        self.core.take().expect("a core is running").kill();
    }

    /// Asks the core to end, and gives its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.core.take().expect("a core is running").stop()
    }

    /// The directory and its commands.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Where agents connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint of one server, or of all with `*`.
    #[must_use]
    pub fn url(&self, server: &str) -> String {
        if server == "*" {
            format!("http://{}/mcp", self.address)
        } else {
            format!("http://{}/mcp/{server}", self.address)
        }
    }

    /// Adds a server (`--url URL` or `-- COMMAND…`) and waits until it is up.
    pub fn add_server(&self, name: &str, how: &[&str]) -> Value {
        let ran = self.home.run([["servers", "add", name, "--yes"].as_slice(), how].concat());
        assert_eq!(ran.code, 0, "adding `{name}` succeeds: {}", ran.err);
        let show = || self.home.json(["servers", "show", name, "--json"]);
        wait_for(
            &format!("server {name} is up"),
            || Some(show()).filter(|server| server.pointer("/health/kind").is_some_and(|kind| kind == "up")),
            || format!("{}\ncore: {}", show(), self.home.core_log()),
        )
    }

    /// Adds an agent and returns its token.
    pub fn add_agent(&self, name: &str) -> String {
        let added = self.home.json(["agents", "add", name, "--json"]);
        let token = added.get("token").and_then(Value::as_str);
        token.unwrap_or_else(|| panic!("a token is printed once: {added}")).to_owned()
    }

    /// Lets the agent itself be asked by a server.
    pub fn ask_the_agent(&self, server: &str) {
        let ran = self.home.run(["rules", "set", "--server", server, "--ask", "agent"]);
        assert_eq!(ran.code, 0, "the rule is set: {}", ran.err);
    }

    /// Where a core listens that a bridge starts: it takes no setting from the environment.
    pub fn set_listen_of_background_cores(&self, listen: &str) {
        let written = std::fs::write(self.home.data().join("config.toml"), format!("listen = \"{listen}\"\n"));
        written.expect("the configuration can be written");
    }

    /// `taskwarden connect` for an agent, ready to be started.
    #[must_use]
    pub fn connect(&self, server: &str, agent: &str, token: &str) -> Command {
        if !self.home.data().join("config.toml").exists() {
            self.set_listen_of_background_cores("off");
        }
        let mut command = self.home.command();
        command.arg("connect");
        if server != "*" {
            command.arg(server);
        }
        command.args(["--agent", agent]).env("TASKWARDEN_TOKEN", token);
        command
    }

    /// The tasks that the list shows, newest first.
    #[must_use]
    pub fn tasks(&self) -> Vec<Value> {
        let listed = self.home.json(["tasks", "list", "--json"]);
        listed.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Waits until one task matches, and returns it.
    pub fn wait_task(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_for(
            what,
            || self.tasks().into_iter().find(&is_it),
            || format!("{:#?}\ncore: {}", self.tasks(), self.home.core_log()),
        )
    }
}
