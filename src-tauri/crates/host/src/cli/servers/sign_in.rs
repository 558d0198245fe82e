//! `taskwarden servers sign-in|sign-out`: a person signs in to a server in a browser, here or on another machine.
//!
//! Whose page the browser opens is said first. The core waits for the browser; this command shows the address, opens it
//! where there is a desktop, and says what became of it.

use std::io::IsTerminal as _;
use std::process::Stdio;

use api::calls::OneServer;
use api::calls::servers::sign_in::{AwaitSignIn, BeginSignIn, FinishSignIn};
use api::dto::moment;
use api::dto::server::sign_in::{RevocationDto, SignInBegunDto, SignInDto, SignInShown, SignInStateDto, SignedOutDto};
use api::format::time;
use api::{ApiError, Code};
use clap::Args;

use super::super::input::prompt;
use super::super::output::screen::Screen;
use super::super::output::sentences::{self, one_line};
use crate::agent_access::token_file;
use crate::app::core_client::CoreClient;
use crate::app::shutdown_signals::ShutdownSignals;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::config::Config;

/// The variable that may hold the secret of a client.
const SECRET_VARIABLE: &str = "TASKWARDEN_CLIENT_SECRET";

/// How long one look at a waiting sign-in takes, in milliseconds. Judgement: well below what a request may take.
const LOOK_MS: u64 = 10_000;

#[derive(Debug, Args)]
pub(crate) struct SignInArgs {
    /// The server's name.
    name: String,
    /// Sign in with a browser on another machine: paste the address at which it ended.
    #[arg(long)]
    paste: bool,
    /// Show the address and do not open a browser.
    #[arg(long)]
    no_browser: bool,
    /// A permission to ask for beside those that the server names. May be given several times.
    #[arg(long = "scope", value_name = "PERMISSION")]
    scopes: Vec<String>,
    /// The id of a client that you registered there by hand.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// That client has a secret: it is read from the variable `TASKWARDEN_CLIENT_SECRET`, or asked for.
    #[arg(long, requires = "client_id")]
    client_secret: bool,
    /// The port of this machine that the browser comes back to. Default: any free one.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The place to sign in may be in a private network.
    #[arg(long)]
    private_network: bool,
}

pub(super) async fn sign_in(input: SignInArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let name = input.name.clone();
    // Also when a terminal is closed or a supervisor ends the command: nobody is left who could say what came of it.
    let mut signals = ShutdownSignals::listen(&config.policy.hosting)?;
    tokio::select! {
        ended = begin(&core, input, screen) => ended,
        () = signals.next() => {
            let _: SignInShown = core.request("signIns.giveUp", &OneServer { name }).await?;
            Ok(INTERRUPTED)
        }
    }
}

async fn begin(core: &CoreClient, input: SignInArgs, screen: &Screen) -> CommandResult {
    let SignInArgs { name, paste, no_browser, scopes, client_id, client_secret, port, private_network } = input;
    let client_secret = if client_secret { Some(secret(screen).await?) } else { None };
    let begin = BeginSignIn { name: name.clone(), client_id, client_secret, scopes, port, private_network };
    let begun: SignInBegunDto = core.request("signIns.begin", &begin).await?;
    end(core, &name, &begun, paste, no_browser, screen).await
}

async fn secret(screen: &Screen) -> Result<String, ApiError> {
    let given = std::env::var(SECRET_VARIABLE).ok().filter(|secret| !secret.is_empty());
    let typed = match given {
        Some(secret) => Some(secret),
        None if screen.can_ask() => prompt::hidden("Secret of the client (not shown): ").await?,
        None => None,
    };
    typed.filter(|secret| !secret.is_empty()).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            "the secret of the client is missing",
            format!("Set it in the environment variable {SECRET_VARIABLE}, or type it when asked."),
        )
    })
}

async fn end(
    core: &CoreClient,
    name: &str,
    begun: &SignInBegunDto,
    paste: bool,
    no_browser: bool,
    screen: &Screen,
) -> CommandResult {
    if screen.is_json() {
        screen.json_line(begun)?;
    } else {
        screen.line(&format!("Sign in at {}, for {}.", one_line(&begun.host), one_line(&begun.server_host)));
        if !begun.scopes.is_empty() {
            screen.line(&format!("It asks for: {}", one_line(&begun.scopes.join(" "))));
        }
        screen.line(&format!("  {}", begun.address));
    }
    let shown = if paste {
        pasted(core, name, screen).await?
    } else {
        if !screen.is_json() {
            let opened = !no_browser && has_desktop() && opens(&begun.address);
            let until = moment(&begun.until).map(|at| time::until(at, sentences::now())).unwrap_or_default();
            screen.note(&if opened {
                format!("Opened in your browser. Waiting; the time is over {until}. Ctrl-C gives up.")
            } else {
                format!("Open it in a browser on this machine. Waiting; the time is over {until}. Ctrl-C gives up.")
            });
        }
        wait(core, name, screen).await?
    };
    told(name, begun, shown, screen)
}

/// Opens the browser, which gets none of our secrets.
fn opens(address: &str) -> bool {
    open::commands(address).into_iter().any(|mut command| {
        command.env_remove(SECRET_VARIABLE).env_remove(token_file::VARIABLE);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    })
}

/// Whether there is a desktop on which a browser can be opened for the person at this terminal.
fn has_desktop() -> bool {
    let has = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && (!cfg!(target_os = "linux") || has("DISPLAY") || has("WAYLAND_DISPLAY"))
}

async fn pasted(core: &CoreClient, name: &str, screen: &Screen) -> Result<SignInShown, ApiError> {
    screen
        .note("Open it in any browser and sign in. The browser ends at an address that it cannot show; copy that one.");
    loop {
        let Some(address) = prompt::line("Paste the address at which the browser ended: ").await? else {
            let _: SignInShown = core.request("signIns.giveUp", &OneServer { name: name.to_owned() }).await?;
            return Err(ApiError::new(
                Code::Refused,
                "no address was given, and the sign-in was given up",
                "Run the command again, and paste the address when asked.",
            ));
        };
        if address.trim().is_empty() {
            continue;
        }
        match core.request("signIns.finish", &FinishSignIn { name: name.to_owned(), address }).await {
            Ok(shown) => return Ok(shown),
            // It goes on waiting: the person may have copied another address.
            Err(error) if std::io::stdin().is_terminal() => screen.note(&format!("{error}\n{}", error.hint)),
            Err(error) => {
                let _: SignInShown = core.request("signIns.giveUp", &OneServer { name: name.to_owned() }).await?;
                return Err(error);
            }
        }
    }
}

async fn wait(core: &CoreClient, name: &str, screen: &Screen) -> Result<SignInShown, ApiError> {
    let mut is_told = screen.is_json();
    loop {
        let look = AwaitSignIn { name: name.to_owned(), wait_ms: LOOK_MS };
        let shown: SignInShown = core.request("signIns.wait", &look).await?;
        if shown.sign_in.as_ref().is_none_or(|sign_in| sign_in.state != SignInStateDto::Waiting) {
            return Ok(shown);
        }
        if !is_told && shown.sign_in.is_some_and(|sign_in| sign_in.strayed) {
            is_told = true;
            screen.note(
                "A browser came with a link that does not belong to this sign-in. Still waiting: open the whole address \
                 that is shown above.",
            );
        }
    }
}

fn told(name: &str, begun: &SignInBegunDto, shown: SignInShown, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        screen.json_line(&shown)?;
    }
    match shown.sign_in {
        Some(SignInDto { failed: Some(failed), .. }) => Err(ApiError::new(Code::Refused, failed.why, failed.hint)),
        // Times of one form: the later one is the greater text.
        Some(sign_in) if sign_in.at.as_ref().is_some_and(|at| *at >= begun.since) => {
            if !screen.is_json() {
                screen.line(&format!("Signed in to `{name}`{}", details(&sign_in)));
            }
            Ok(DONE)
        }
        Some(_) | None => Err(ApiError::new(
            Code::Refused,
            format!("the sign-in to `{name}` was given up"),
            "Another one was begun meanwhile, or somebody signed out or removed the server. `taskwarden servers show` says \
             how it is now.",
        )),
    }
}

/// ` at https://auth.example, with the permissions files:read; it is renewed automatically.`
fn details(sign_in: &SignInDto) -> String {
    let issuer = sign_in.issuer.as_deref().map(|issuer| format!(" at {}", one_line(issuer))).unwrap_or_default();
    let scopes = match sign_in.scopes.is_empty() {
        true => String::new(),
        false => format!(", with the permissions {}", one_line(&sign_in.scopes.join(" "))),
    };
    let until = match (sign_in.renewed, sign_in.until.as_deref().and_then(moment)) {
        (true, _) => "; it is renewed automatically".to_owned(),
        (false, Some(at)) => format!("; it ends {}", time::until(at, sentences::now())),
        (false, None) => String::new(),
    };
    format!("{issuer}{scopes}{until}.")
}

/// What `servers show` says of a sign-in.
pub(super) fn line(sign_in: &SignInDto) -> String {
    match sign_in.state {
        SignInStateDto::Waiting => "waits for a browser".into(),
        SignInStateDto::SignedOut => "none".into(),
        SignInStateDto::Needed => "needed: sign in with `taskwarden servers sign-in`".into(),
        SignInStateDto::SignedIn => {
            let by = sign_in.by.as_deref().map(|by| format!("by {}", one_line(by))).unwrap_or_default();
            format!("{by}{}", details(sign_in)).trim().to_owned()
        }
    }
}

pub(super) async fn sign_out(name: String, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let out: SignedOutDto = core.request("signIns.signOut", &OneServer { name: name.clone() }).await?;
    if screen.is_json() {
        screen.json(&out)?;
        return Ok(DONE);
    }
    screen.line(&match out.revocation {
        RevocationDto::Nothing => format!("Nobody was signed in to `{name}`."),
        RevocationDto::Done => format!("Signed out of `{name}`. The issuer forgot the token, too."),
        RevocationDto::NotConfirmed => format!(
            "Signed out of `{name}`. The issuer did not confirm that it forgot the token: there it may be good until it \
             expires. It is not kept here any more."
        ),
    });
    Ok(DONE)
}
