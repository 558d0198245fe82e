//! The programs that are measured, and what is put around them.
//!
//! Each ends with the value that started it. Nothing here measures.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tests::bench::{attach, call, program};
use tests::home::{Core, Home, wait_for};
use tests::load::{Speech, Target};
use tests::peers::free_port;

/// A process that belongs to the measurement.
pub(crate) struct Helper(Child);

impl Helper {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // An order, not a kill: nginx takes its workers with it.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

/// This program, which plays the other parts as well.
pub(crate) fn this() -> Command {
    Command::new(std::env::current_exe().expect("the path of this program"))
}

/// Starts this program in another part; it prints its address first.
pub(crate) fn helper(arguments: &[&str]) -> (Helper, SocketAddr) {
    let mut child = this().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    (Helper(child), line.trim().parse().expect("an address"))
}

/// nginx in front of the server, where it is installed.
pub(crate) fn nginx(server: SocketAddr, folder: &std::path::Path) -> Option<(Helper, SocketAddr)> {
    let port = free_port();
    let place = folder.display();
    let config = format!(
        "daemon off; pid {place}/nginx.pid; error_log stderr crit; worker_processes auto;\n\
         events {{ worker_connections 2048; }}\n\
         http {{ access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;\n\
         fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;\n\
         keepalive_requests 100000000; keepalive_timeout 3600s; client_max_body_size 16m; client_body_buffer_size 64k;\n\
         upstream tiny {{ server {server}; keepalive 512; keepalive_requests 100000000; keepalive_timeout 3600s; }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://tiny; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_buffering off; proxy_buffer_size 64k; proxy_buffers 8 64k; }} }} }}\n"
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, config).expect("the configuration of nginx");
    let binary = ["/usr/sbin/nginx", "nginx"].into_iter().find(|name| Command::new(name).arg("-v").output().is_ok())?;
    let child = Command::new(binary).arg("-c").arg(&path).arg("-p").arg(folder).stdin(Stdio::null()).spawn().ok()?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let helper = Helper(child);
    wait_for("nginx listens", || std::net::TcpStream::connect(address).ok(), || "not yet".into());
    Some((helper, address))
}

/// A server without anything in front of it, or a proxy that knows no tokens.
pub(crate) fn plain(address: SocketAddr, path: &str, speech: Speech) -> Target {
    Target { address, path: path.to_owned(), tokens: Vec::new(), speech }
}

/// The gateway with agents before it; servers are added.
pub(crate) struct Gateway {
    pub(crate) home: Home,
    core: Core,
    address: SocketAddr,
    pub(crate) tokens: Vec<String>,
}

impl Gateway {
    /// The program that ships.
    pub(crate) fn start(agents: usize) -> Self {
        Self::start_program(&program(), agents, &[])
    }

    /// The same core with an allocator that counts, which tells its counts at this socket.
    pub(crate) fn start_counted(agents: usize, at: &std::path::Path) -> Self {
        let here: PathBuf = std::env::current_exe().expect("the path of this program");
        let at = at.display().to_string();
        Self::start_program(&here.with_file_name("counted_core"), agents, &[("COUNTED_CORE_AT", at.as_str())])
    }

    fn start_program(program: &std::path::Path, agents: usize, environment: &[(&str, &str)]) -> Self {
        let home = Home::new(&program.display().to_string());
        std::fs::create_dir_all(home.data()).expect("the data directory");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let listen = address.to_string();
        let own = [
            ("TASKWARDEN_LISTEN", listen.as_str()),
            // A measurement opens more calls, and makes them faster, than agents do.
            ("TASKWARDEN_POLICY_OPEN_CALLS_PER_SERVER", "1000000"),
            ("TASKWARDEN_POLICY_GATEWAY_REQUESTS_PER_SECOND", "1000000"),
        ];
        let core = home.serve_with(&[&own, environment].concat());
        let mut gateway = Self { home, core, address, tokens: Vec::new() };
        gateway.agents(agents);
        gateway
    }

    /// Adds a server (`--url URL` or `-- COMMAND…`) and waits until it is up.
    pub(crate) fn server(&self, name: &str, how: &[&str]) {
        let added = self.home.run([["servers", "add", name, "--yes"].as_slice(), how].concat());
        assert_eq!(added.code, 0, "{}", added.err);
        wait_for(
            "the server is up",
            || (self.home.json(["servers", "show", name, "--json"])["health"]["kind"] == "up").then_some(()),
            || self.home.core_log(),
        );
    }

    /// Adds agents until there are so many.
    pub(crate) fn agents(&mut self, wanted: usize) {
        let runtime = super::runtime();
        let attached = attach(&self.home);
        while self.tokens.len() < wanted {
            let name = format!("a{}", self.tokens.len());
            let added = runtime.block_on(call(&attached, "agents.add", &json!({"name": name})));
            self.tokens.push(added["token"].as_str().expect("a token").to_owned());
        }
    }

    /// The process of the core.
    pub(crate) fn pid(&self) -> u32 {
        self.core.pid()
    }

    /// The way of its agents to a server.
    pub(crate) fn target(&self, server: &str, speech: Speech) -> Target {
        Target { address: self.address, path: format!("/mcp/{server}"), tokens: self.tokens.clone(), speech }
    }

    /// `taskwarden connect`: the way of one more agent to a server, over pipes.
    pub(crate) fn bridge(&self, server: &str) -> Command {
        let name = format!("pipes-{server}");
        let added = self.home.json(["agents", "add", name.as_str(), "--json"]);
        let token = added["token"].as_str().expect("a token").to_owned();
        let mut connect = self.home.command();
        connect.args(["connect", server, "--agent", name.as_str()]).env("TASKWARDEN_TOKEN", token);
        connect
    }
}
