//! A person signs in to a server that wants OAuth, from outside: in a browser, by pasting, over a restart, and with an
//! issuer that misbehaves.
//!
//! Issuer and server are strict and note what they would hold against a client; the browser is played by the test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use tests::home::{Core, Home, Ran, wait_for};
use tests::oauth::{
    AuthorizationOptions, AuthorizationServer, ClientAuthentication, Fault, KnownClient, ProtectedOptions,
    ProtectedServer, browse, land,
};
use tokio::runtime::Runtime;

use crate::PROGRAM;

mod endings;
mod failures_that_pass;
mod renewal_cuts;

/// A refused token counts as old at once, and what failed is tried again soon.
const QUICK: [(&str, &str); 3] = [
    ("TASKWARDEN_POLICY_SIGN_IN_RENEW_REST", "0ms"),
    ("TASKWARDEN_POLICY_SIGN_IN_RENEW_AGAIN", "100ms"),
    ("TASKWARDEN_POLICY_BACKOFF_LAST", "2s"),
];

struct Stage {
    runtime: Runtime,
    issuer: AuthorizationServer,
    server: ProtectedServer,
    home: Home,
    /// How long issuer and server may take to answer.
    limit: &'static str,
}

/// A sign-in that waits for the browser.
struct Begun {
    command: Child,
    out: BufReader<ChildStdout>,
    /// What it printed first.
    shown: Value,
}

impl Stage {
    fn new(issuer: AuthorizationOptions, server: ProtectedOptions) -> (Self, Core) {
        Self::with_limit(issuer, server, "30s")
    }

    fn with_limit(issuer: AuthorizationOptions, server: ProtectedOptions, limit: &'static str) -> (Self, Core) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let issuer = runtime.block_on(AuthorizationServer::start(issuer)).expect("an issuer");
        let server = runtime.block_on(ProtectedServer::start(&issuer, server)).expect("a server");
        let stage = Self { runtime, issuer, server, home: Home::new(PROGRAM), limit };
        let core = stage.serve();
        let added = stage.home.run(["servers", "add", "hosted", "--yes", "--url", &stage.server.url()]);
        assert!(added.out.contains("sign-in") || added.err.contains("sign-in"), "{}{}", added.out, added.err);
        (stage, core)
    }

    fn plain() -> (Self, Core) {
        Self::new(AuthorizationOptions::default(), ProtectedOptions::default())
    }

    fn serve(&self) -> Core {
        self.serve_until(&[])
    }

    /// A core that may abort where these variables say.
    fn serve_until(&self, points: &[(&str, &str)]) -> Core {
        let limit = ("TASKWARDEN_POLICY_SIGN_IN_EXCHANGE_LIMIT", self.limit);
        self.home.serve_with(&[&QUICK[..], &[limit], points].concat())
    }

    fn begin(&self, more: &[&str]) -> Result<Begun, Ran> {
        self.begin_with(self.home.command(), more)
    }

    fn begin_with(&self, mut command: std::process::Command, more: &[&str]) -> Result<Begun, Ran> {
        command.args(["servers", "sign-in", "hosted", "--json", "--no-browser"]).args(more);
        let mut command =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a command");
        let mut out = BufReader::new(command.stdout.take().expect("its output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("its output can be read");
        match serde_json::from_str::<Value>(&line) {
            Ok(shown) if shown.get("address").is_some() => Ok(Begun { command, out, shown }),
            _ => {
                let ended = command.wait_with_output().expect("it ends");
                Err(Ran { code: ended.status.code().unwrap_or(-1), out: line, err: text(&ended.stderr) })
            }
        }
    }

    fn browse(&self, begun: &Begun) -> Result<String, String> {
        let address = begun.shown["address"].as_str().expect("an address");
        self.runtime.block_on(browse(address))
    }

    fn land(&self, address: &str) -> (u16, String) {
        let landing = self.runtime.block_on(land(address)).expect("the callback answers");
        (landing.status, landing.body)
    }

    fn signed_in(&self) {
        let begun = self.begin(&[]).unwrap_or_else(|ran| panic!("{}{}", ran.out, ran.err));
        let (status, page) = self.land(&self.browse(&begun).expect("the issuer sends back"));
        assert_eq!(status, 200, "{page}");
        let ran = begun.end();
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    }

    fn show(&self) -> Value {
        self.home.json(["servers", "show", "hosted", "--json"])
    }

    fn state(&self) -> String {
        self.show()["signIn"]["state"].as_str().unwrap_or("none").to_owned()
    }

    fn wait_health(&self, kind: &str) {
        wait_for(
            &format!("the server is {kind}"),
            || (self.show()["health"]["kind"] == kind).then_some(()),
            || format!("{:#}\n{}", self.show(), self.home.core_log()),
        );
    }

    /// No code and no token is anywhere but where secrets lie.
    fn assert_no_secret_is_told(&self) {
        let mut told = self.home.core_log();
        told += &self.home.run(["servers", "show", "hosted", "--json"]).out;
        told += &self.home.run(["audit", "list", "--json", "--limit", "500"]).out;
        told += &self.home.run(["doctor", "--json"]).out;
        read_all(&self.home.data(), &mut told);
        for secret in self.issuer.secrets() {
            assert!(!told.contains(&secret), "`{secret}` is told");
        }
    }
}

impl Begun {
    fn end(self) -> Ran {
        let Self { command, mut out, .. } = self;
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut out, &mut rest).expect("its output can be read");
        let ended = command.wait_with_output().expect("it ends");
        Ran { code: ended.status.code().unwrap_or(-1), out: rest, err: text(&ended.stderr) }
    }

    fn give_up(self) {
        self.signalled(rustix::process::Signal::INT);
    }

    /// Ends the command by a signal, which gives the sign-in up.
    fn signalled(self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.command.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(pid, signal).expect("it is there");
        assert_eq!(self.end().code, 130, "{signal:?} ends it");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text of every file but those that hold secrets.
fn read_all(folder: &std::path::Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, into);
        } else if entry.file_name() != "secrets.json" && path.is_file() {
            into.push_str(&text(&std::fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn a_person_signs_in_with_a_browser_and_the_token_is_renewed_while_a_task_runs() {
    let (stage, _core) = Stage::plain();
    stage.wait_health("blocked");
    assert_eq!(stage.state(), "needed");
    let hint = stage.show()["health"]["hint"].as_str().unwrap_or_default().to_owned();
    assert!(hint.contains("taskwarden servers sign-in hosted"), "{hint}");

    let begun = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}", ran.err));
    assert_eq!(stage.state(), "waiting");
    let issuer = stage.issuer.address().to_string();
    assert_eq!(begun.shown["host"], json!(issuer), "whose page it is is said first");
    assert_eq!(begun.shown["serverHost"], json!(stage.server.address().to_string()));
    let back = stage.browse(&begun).expect("the issuer sends back");
    // A page that guesses the port and a state changes nothing.
    let guess = back.split('?').next().expect("an address").to_owned() + "?code=c&state=guess";
    let (status, page) = stage.land(&guess);
    assert!(status == 400 && page.contains("does not belong to the sign-in that is waiting"), "{page}");
    let shown = stage.show();
    assert_eq!(
        (&shown["signIn"]["state"], &shown["signIn"]["strayed"]),
        (&json!("waiting"), &json!(true)),
        "{shown:#}"
    );
    let (status, page) = stage.land(&back);
    assert!(status == 200 && page.contains("You are signed in"), "{page}");
    let ran = begun.end();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    stage.wait_health("up");
    assert_eq!(stage.state(), "signedIn");

    let task = stage.home.call("hosted", "ask", &json!({"nonce": "asked"}));
    stage.home.wait_phase(&task, "waiting");
    stage.issuer.expire_access();
    wait_for("the token is renewed", || (stage.issuer.counts().refreshes > 0).then_some(()), || stage.home.core_log());
    let answered = stage.home.run(["tasks", "answer", &task, "--accept", r#"{"word":"bees"}"#]);
    assert_eq!(answered.code, 0, "{}{}", answered.out, answered.err);
    stage.home.wait_phase(&task, "done");

    let told = stage.home.run(["doctor"]).out;
    assert!(told.contains(&format!("uses a sign-in at `http://{issuer}")), "which kind of secret it uses: {told}");
    let rows = stage.home.json(["audit", "list", "--verb", "signedIn", "--json"]);
    assert!(rows["rows"][0]["note"].as_str().is_some_and(|note| note.contains(&issuer)), "{rows}");
    assert_eq!(stage.issuer.counts().registrations, 1);
    let out = stage.home.json(["servers", "sign-out", "hosted", "--json"]);
    assert_eq!(out["revocation"], "done", "{out}");
    assert_eq!((stage.issuer.counts().revocations, stage.issuer.good_tokens()), (1, 0));
    stage.wait_health("blocked");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new(), "a strict issuer has nothing against it");
    stage.assert_no_secret_is_told();
}

#[test]
fn a_person_without_a_browser_here_pastes_the_address_and_may_paste_a_wrong_one_first() {
    let (stage, _core) = Stage::plain();
    let waiting = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}", ran.err));
    let back = stage.browse(&waiting).expect("the issuer sends back");
    waiting.give_up();
    assert_eq!(stage.state(), "needed", "a sign-in that was given up waits no longer");
    let late = stage.home.run_with_input(["servers", "sign-in", "hosted", "--paste"], &format!("{back}\n"));
    assert_eq!(late.code, 5, "an address of an earlier sign-in ends no other: {}{}", late.out, late.err);
    assert!(late.err.contains("not the address that ends the sign-in"), "{}", late.err);

    let mut begun = stage.begin(&["--paste"]).unwrap_or_else(|ran| panic!("{}", ran.err));
    let back = stage.browse(&begun).expect("the issuer sends back");
    let mut keys = begun.command.stdin.take().expect("its input");
    writeln!(keys, "  {back} ").expect("it reads");
    let ran = begun.end();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(stage.state(), "signedIn");
    assert!(stage.land_is_over(&back), "the address of a sign-in is good once");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
}

impl Stage {
    /// Whether nothing answers at a callback any more.
    fn land_is_over(&self, address: &str) -> bool {
        match self.runtime.block_on(land(address)) {
            Ok(landing) => landing.status != 200,
            Err(_) => true,
        }
    }
}

#[test]
fn a_sign_in_outlives_the_core_and_ends_where_the_issuer_says_so() {
    let (stage, core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    core.kill();
    let core = stage.serve();
    stage.wait_health("up");
    assert_eq!((stage.state().as_str(), stage.issuer.counts().registrations), ("signedIn", 1));

    let task = stage.home.call("hosted", "ask", &json!({"nonce": "asked"}));
    stage.home.wait_phase(&task, "waiting");
    stage.issuer.revoke_grants();
    stage.home.wait_phase(&task, "blocked");
    stage.wait_health("blocked");
    assert_eq!(stage.state(), "needed");
    // Renewing is not tried for ever.
    let tried = stage.issuer.counts().refresh_requests;
    core.kill();
    let _core = stage.serve();
    stage.wait_health("blocked");
    assert_eq!(stage.issuer.counts().refresh_requests, tried, "a refusal that is final is remembered");

    stage.signed_in();
    stage.home.wait_phase(&task, "waiting");
    assert_eq!(stage.issuer.counts().registrations, 1, "the registration is still good");
    stage.issuer.forget_clients();
    stage.issuer.expire_access();
    stage.wait_health("blocked");
    stage.signed_in();
    stage.home.wait_phase(&task, "waiting");
    assert_eq!(stage.issuer.counts().registrations, 2, "a client that was forgotten is registered once more");
    stage.assert_no_secret_is_told();
}

#[test]
fn a_permission_that_is_missing_is_asked_for_once_with_those_that_are_there() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    let refused = stage.home.call("hosted", "hold", &json!({"nonce": "held"}));
    let refused = stage.home.wait_phase(&refused, "failed");
    assert!(refused.to_string().contains("wants a permission"), "{refused:#}");
    let missing = stage.show()["signIn"]["missingScopes"].clone();
    assert_eq!(missing, json!(["mcp:admin"]), "{:#}", stage.show());
    stage.wait_health("up");
    stage.signed_in();
    let asked = stage.issuer.authorization_requests();
    let scope = asked.last().and_then(|asked| asked.get("scope")).cloned().unwrap_or_default();
    assert!(scope.contains("mcp:use") && scope.contains("mcp:admin"), "the union is asked for: {scope}");
    stage.wait_health("up");
    let task = stage.home.call("hosted", "hold", &json!({"nonce": "held"}));
    stage.home.wait_taken(&task);
}

#[test]
fn requests_that_are_refused_at_once_renew_the_token_once() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    let tasks: Vec<String> =
        (0..8).map(|n| stage.home.call("hosted", "ask", &json!({"nonce": format!("n{n}")}))).collect();
    for task in &tasks {
        stage.home.wait_phase(task, "waiting");
    }
    stage.issuer.expire_access();
    std::thread::scope(|threads| {
        for task in &tasks {
            threads.spawn(|| stage.home.run(["tasks", "answer", task, "--accept", r#"{"word":"bees"}"#]));
        }
    });
    for task in &tasks {
        stage.home.wait_phase(task, "done");
    }
    assert_eq!(stage.issuer.counts().refresh_requests, 1, "one renewal for all");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
}

#[test]
fn an_issuer_that_misbehaves_leads_to_a_sentence_and_never_to_a_token_in_the_wrong_hands() {
    // Some of them hang: they are waited for, but not for long.
    let (stage, _core) = Stage::with_limit(AuthorizationOptions::default(), ProtectedOptions::default(), "5s");
    let mut strayed = 0;
    for fault in Fault::ALL.iter().copied() {
        stage.issuer.set_fault(fault);
        match stage.begin(&[]) {
            Err(ran) => {
                assert_eq!(ran.code, 5, "{fault}: {}{}", ran.out, ran.err);
                assert!(ran.err.contains("\"message\":\"") && ran.err.contains("\"hint\":\""), "{fault}: {}", ran.err);
                assert!(!ran.err.contains('<'), "{fault}: nothing of a page is shown: {}", ran.err);
            }
            Ok(begun) => {
                assert!(!fault.forbids_sign_in(), "{fault}: no person may be sent to the issuer");
                match stage.browse(&begun) {
                    Ok(back) => {
                        let (status, page) = stage.land(&back);
                        assert!(!page.contains("script"), "{fault}: {page}");
                        if status == 400 && page.contains("does not belong") {
                            begun.give_up();
                        } else {
                            let ran = begun.end();
                            assert!(matches!(ran.code, 0 | 5), "{fault}: {}{}", ran.out, ran.err);
                            assert_eq!(ran.code == 0, status == 200, "{fault}: page and command agree");
                            assert!(!ran.err.contains('<'), "{fault}: {}", ran.err);
                        }
                    }
                    Err(_) => begun.give_up(),
                }
            }
        }
        // The document that a challenge names may be anywhere, and says which server it is about (RFC 9728, §5.1).
        let may_stray = matches!(fault, Fault::ChallengeElsewhere);
        let there = stage.issuer.strayed();
        assert!(may_stray || there.len() == strayed, "{fault}: nothing was sent to another origin: {there:?}");
        strayed = there.len();
        stage.issuer.clear_fault(fault);
        stage.home.run(["servers", "sign-out", "hosted"]);
    }
    let held_against_us: Vec<String> =
        stage.issuer.faults().into_iter().filter(|fault| !fault.contains("the token was never issued")).collect();
    assert_eq!(held_against_us, Vec::<String>::new());
    stage.assert_no_secret_is_told();
    stage.signed_in();
    stage.wait_health("up");
}

#[test]
fn what_a_server_said_about_signing_in_before_does_not_count_against_what_it_says_now() {
    let (stage, _core) = Stage::plain();
    stage.issuer.set_fault(Fault::ChallengeElsewhere);
    let refused_before = stage.server.counts().without_token;
    wait_for(
        "the core is refused and told of another place",
        || {
            stage.home.run(["servers", "tools", "hosted"]);
            (stage.server.counts().without_token > refused_before).then_some(())
        },
        || format!("{:#}\n{}", stage.show(), stage.home.core_log()),
    );
    stage.issuer.clear_fault(Fault::ChallengeElsewhere);
    stage.issuer.set_fault(Fault::ResourceLies);
    match stage.begin(&[]) {
        Err(ran) => assert!(ran.err.contains("not about this server"), "{}{}", ran.out, ran.err),
        Ok(begun) => {
            begun.give_up();
            panic!("no person may be sent to the issuer");
        }
    }
    stage.issuer.clear_fault(Fault::ResourceLies);
    stage.signed_in();
    stage.wait_health("up");
}

#[test]
fn a_server_that_moves_or_has_a_token_of_its_own_gets_no_token_of_a_sign_in() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.wait_health("up");
    let other = stage.runtime.block_on(AuthorizationServer::start(AuthorizationOptions::default())).expect("an issuer");
    stage.server.move_to(&other);
    let refused = stage.home.run(["servers", "tools", "hosted"]);
    assert_ne!(refused.code, 0, "{}", refused.out);
    stage.wait_health("blocked");
    let why = stage.show()["health"]["why"].as_str().unwrap_or_default().to_owned();
    assert!(!why.is_empty(), "{:#}", stage.show());
    assert_eq!(other.counts().refresh_requests, 0, "no token of one issuer is sent to another");
    stage.signed_in();
    stage.wait_health("up");
    assert_eq!(other.counts().registrations, 1);
    // The server itself got the token that was made for it, until it refused it.
    let held_against_us: Vec<String> =
        other.faults().into_iter().filter(|fault| !fault.contains("the token was never issued")).collect();
    assert_eq!(held_against_us, Vec::<String>::new());
}

#[test]
fn a_sign_in_that_another_one_replaced_says_so_and_the_one_of_before_stays_whole() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    let (by, at) = (stage.show()["signIn"]["by"].clone(), stage.show()["signIn"]["at"].clone());
    let replaced = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}", ran.err));
    let later = stage.begin(&["--scope", "mcp:admin"]).unwrap_or_else(|ran| panic!("{}", ran.err));
    let ran = replaced.end();
    assert!(ran.code == 5 && ran.err.contains("given up"), "{}{}", ran.out, ran.err);
    assert_eq!(later.shown["scopes"], json!(["mcp:use", "mcp:admin"]), "what is asked for comes beside what is needed");
    later.give_up();
    let shown = stage.show();
    assert_eq!((&shown["signIn"]["by"], &shown["signIn"]["at"]), (&by, &at), "{shown:#}");
    assert_eq!(stage.home.run(["servers", "sign-in", "hosted", "--client-id", "wrong", "--port", "0"]).code, 2);
    stage.wait_health("up");
}

#[test]
fn a_client_with_a_secret_signs_in_and_out_as_it_is_registered() {
    let client = KnownClient { id: "crm id".into(), authentication: ClientAuthentication::Basic("s3cret+word".into()) };
    let issuer = AuthorizationOptions { registration: false, clients: vec![client], ..AuthorizationOptions::default() };
    let (stage, _core) = Stage::new(issuer, ProtectedOptions::default());
    let by_hand = stage.begin(&[]).err().expect("there is no registration");
    assert!(by_hand.err.contains("--client-id"), "{}", by_hand.err);
    let mut command = stage.home.command();
    command.env("TASKWARDEN_CLIENT_SECRET", "s3cret+word");
    let begun = stage
        .begin_with(command, &["--client-id", "crm id", "--client-secret"])
        .unwrap_or_else(|ran| panic!("{}{}", ran.out, ran.err));
    assert_eq!(stage.land(&stage.browse(&begun).expect("the issuer sends back")).0, 200);
    let ran = begun.end();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let out = stage.home.json(["servers", "sign-out", "hosted", "--json"]);
    assert_eq!(out["revocation"], "done", "{out}");
    assert_eq!(stage.issuer.faults(), Vec::<String>::new());
    stage.assert_no_secret_is_told();
}

#[test]
fn a_client_that_the_issuer_forgot_is_registered_anew_by_the_next_sign_in() {
    let (stage, _core) = Stage::plain();
    stage.signed_in();
    stage.issuer.forget_clients();
    let begun = stage.begin(&[]).unwrap_or_else(|ran| panic!("{}", ran.err));
    assert!(stage.browse(&begun).is_err(), "the issuer does not know it any more");
    begun.give_up();
    stage.signed_in();
    assert_eq!(stage.issuer.counts().registrations, 2);
}
