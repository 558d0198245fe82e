//! Before a link is open: secrets and commands that are not there.

use std::collections::BTreeMap;

use domain::ids::ServerId;
use domain::ports::{ConnectionSpec, Connector, Secret, SecretError, Secrets, UpstreamError};
use domain::server::{Server, ServerAddress};

use super::*;
use crate::upstream::{ConnectorParts, McpConnector};

/// A keychain with nothing in it, or one that is locked.
struct Keychain {
    locked: bool,
}

impl Secrets for Keychain {
    fn get(&self, _: ServerId, _: &str) -> Result<Option<Secret>, SecretError> {
        if self.locked { Err(SecretError("the keychain is locked".into())) } else { Ok(None) }
    }

    fn put(&self, _: ServerId, _: &str, _: &Secret) -> Result<(), SecretError> {
        Ok(())
    }

    fn forget(&self, _: ServerId, _: &str) -> Result<(), SecretError> {
        Ok(())
    }

    fn describe(&self) -> String {
        "a test's keychain".into()
    }
}

async fn connect(address: ServerAddress, locked: bool) -> UpstreamError {
    let children = tempfile::tempdir().expect("a folder");
    let connector = McpConnector::new(ConnectorParts {
        keeper: None,
        client_document: None,
        policy: Policy::default(),
        supervisor: Supervisor::new(),
        secrets: Arc::new(Keychain { locked }),
        clock: Arc::new(TickingClock(AtomicI64::new(0))),
        draw: Arc::new(|| 7),
        children_dir: children.path().to_owned(),
    });
    let server = Server {
        id: ServerId::from_random(1),
        name: "peer".into(),
        address,
        consent: None,
        generation: 0,
        verdict: None,
        negotiated: None,
        created: Timestamp::EPOCH,
    };
    match connector.connect(&server, &ConnectionSpec::default()).await {
        Ok(connected) => panic!("connected as {:?}", connected.negotiated),
        Err(failed) => failed,
    }
}

fn command(program: &str, secret_env: &[&str]) -> ServerAddress {
    ServerAddress::Stdio {
        command: program.into(),
        args: Vec::new(),
        env: BTreeMap::new(),
        secret_env: secret_env.iter().map(|name| (*name).to_owned()).collect(),
        cwd: None,
    }
}

#[tokio::test]
async fn a_missing_or_locked_secret_is_named_before_anything_is_contacted() {
    let http =
        ServerAddress::Http { url: "http://127.0.0.1:1/mcp".into(), secret_headers: vec!["Authorization".into()] };
    let cases = [
        (http.clone(), false, "the value of the header `Authorization` is not stored"),
        (http, true, "the value of the header `Authorization` cannot be read: the keychain is locked"),
        (
            command("no-such-program", &["API_KEY"]),
            false,
            "the value of the environment variable `API_KEY` is not stored",
        ),
    ];
    for (address, locked, expected) in cases {
        match connect(address, locked).await {
            UpstreamError::Unauthorized { why, hint } => {
                assert_eq!(why, expected, "names what is missing");
                assert!(hint.ends_with('.'), "a hint is a sentence: {hint}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_unreachable_with_a_hint() {
    let failed = connect(command("taskwarden-no-such-program", &[]), false).await;
    let UpstreamError::Unreachable { why, hint } = failed else { panic!("{failed:?}") };
    assert!(why.contains("taskwarden-no-such-program") && !why.contains('\n'), "one line with the command: {why}");
    assert!(hint.ends_with('.'), "a hint is a sentence: {hint}");
}
