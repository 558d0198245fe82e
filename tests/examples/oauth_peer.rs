//! An authorization server and a protected MCP server on loopback, to try sign-in by hand: `cargo run --package
//! taskwarden-tests --example oauth_peer --`, and these arguments.
//!
//! `oauth_peer [--lifetime SECONDS] [--scopes "A B"] [--fault NAME]… [--era modern|legacy] [--no-registration]
//! [--client ID[:SECRET]]… [--auto-approve] [--issuer-path PATH] [--ports AUTHORIZATION,PROTECTED]` prints one line of
//! JSON with the addresses and serves until it is ended. The authorization endpoint is a page with an *Allow* button;
//! with `--auto-approve` it answers at once. Lines on standard input: `fault NAME`, `clear`, `expire`, `revoke`,
//! `forget`, `show`; each is answered with what clients did so far. `--help` lists the faults.

use std::error::Error;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};
use tests::oauth::{
    AuthorizationOptions, AuthorizationServer, ClientAuthentication, Era, Fault, KnownClient, ProtectedOptions,
    ProtectedServer,
};
use tokio::io::{AsyncBufReadExt, BufReader};

const USAGE: &str = "oauth_peer [--lifetime SECONDS] [--scopes \"A B\"] [--fault NAME]… [--era modern|legacy] \
                     [--no-registration] [--client ID[:SECRET]]… [--auto-approve] [--issuer-path PATH] \
                     [--ports AUTHORIZATION,PROTECTED]";

#[derive(Default)]
struct Wanted {
    authorization: AuthorizationOptions,
    protected: ProtectedOptions,
    faults: Vec<Fault>,
}

fn read_arguments(arguments: impl Iterator<Item = String>) -> Result<Wanted, Box<dyn Error>> {
    let mut wanted = Wanted::default();
    wanted.authorization.auto_approve = false;
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--no-registration" => {
                wanted.authorization.registration = false;
                continue;
            }
            "--auto-approve" => {
                wanted.authorization.auto_approve = true;
                continue;
            }
            _ => {}
        }
        let value = arguments.next().ok_or_else(|| format!("`{name}` is unknown or lacks a value\n{USAGE}"))?;
        match name.as_str() {
            "--lifetime" => wanted.authorization.lifetime = Duration::from_secs(value.parse()?),
            "--scopes" => {
                let scopes: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
                wanted.protected.scopes = scopes.iter().take(1).cloned().collect();
                let needs_more = scopes.get(1).map(|scope| ("hold".to_owned(), scope.clone()));
                wanted.protected.tool_scopes = needs_more.into_iter().collect();
                wanted.authorization.scopes = scopes;
            }
            "--fault" => wanted.faults.push(Fault::from_str(&value)?),
            "--era" => {
                wanted.protected.era = match value.as_str() {
                    "modern" => Era::Modern,
                    "legacy" => Era::Legacy,
                    other => return Err(format!("`{other}` is no era; use modern or legacy").into()),
                }
            }
            "--client" => {
                let (id, authentication) = match value.split_once(':') {
                    Some((id, secret)) => (id, ClientAuthentication::Basic(secret.to_owned())),
                    None => (value.as_str(), ClientAuthentication::None),
                };
                wanted.authorization.clients.push(KnownClient { id: id.to_owned(), authentication });
            }
            "--issuer-path" => wanted.authorization.issuer_path = value.trim_matches('/').to_owned(),
            "--ports" => {
                let (one, other) = value.split_once(',').ok_or("`--ports` takes two numbers with a comma between")?;
                wanted.authorization.port = one.parse()?;
                wanted.protected.port = other.parse()?;
            }
            _ => return Err(format!("`{name}` is unknown\n{USAGE}").into()),
        }
    }
    Ok(wanted)
}

fn show(authorization: &AuthorizationServer, protected: &ProtectedServer) -> Value {
    let (asked, checked) = (authorization.counts(), protected.counts());
    json!({
        "registrations": asked.registrations, "authorizations": asked.authorizations, "exchanges": asked.exchanges,
        "refreshes": asked.refreshes, "revocations": asked.revocations, "goodTokens": authorization.good_tokens(),
        "served": checked.served, "withoutToken": checked.without_token, "refusedTokens": checked.refused_tokens,
        "forbidden": checked.forbidden, "clientFaults": authorization.faults(), "strayed": authorization.strayed(),
    })
}

/// Carries out one line of standard input.
fn obey(line: &str, authorization: &AuthorizationServer) -> Result<(), Box<dyn Error>> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("fault", name) => authorization.set_fault(Fault::from_str(name.trim())?),
        ("clear", _) => authorization.clear_faults(),
        ("expire", _) => authorization.expire_access(),
        ("revoke", _) => authorization.revoke_grants(),
        ("forget", _) => authorization.forget_clients(),
        ("show" | "", _) => {}
        (other, _) => {
            return Err(format!("`{other}` is unknown; use fault, clear, expire, revoke, forget or show").into());
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some_and(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}\n\nFaults:");
        Fault::ALL.iter().for_each(|fault| println!("  {fault}"));
        return Ok(());
    }
    let wanted = match read_arguments(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let authorization = AuthorizationServer::start(wanted.authorization).await?;
    let protected = ProtectedServer::start(&authorization, wanted.protected).await?;
    wanted.faults.into_iter().for_each(|fault| authorization.set_fault(fault));
    println!(
        "{}",
        json!({
            "mcp": protected.url(), "issuer": authorization.issuer(), "metadata": authorization.metadata_url(),
            "elsewhere": authorization.elsewhere(),
        })
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Err(error) = obey(line.trim(), &authorization) {
            eprintln!("{error}");
        }
        println!("{}", show(&authorization, &protected));
    }
    // Standard input may be closed from the start: the servers go on.
    std::future::pending::<()>().await;
    Ok(())
}
