//! `taskwarden pause`, `unpause` and `pauses list`: one agent or one local server stands still until a person ends that
//! (stop.md §3.6).
//!
//! A name without `--freeze` is an agent's. What a pause does is the core's; nothing that waits was sent.

use api::calls::Nothing;
use api::calls::agents::AgentList;
use api::calls::pauses::{PauseEndedDto, PauseInput, PauseList, UnpauseInput};
use api::calls::servers::ServerList;
use api::dto::moment;
use api::dto::pause::{FrozenProcessesDto, PauseDto, WaitingCallDto};
use api::format::time::{self, count};
use api::{ApiError, Code};
use clap::{Args, Subcommand};

use super::control_calls;
use crate::app::core_client::CoreClient;
use crate::cli::input::control_token::TokenFileArg;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{now, one_line, ordered_by, short_id};
use crate::cli::output::table::{self, TableLayout, text};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The agent whose new calls wait, or with `--freeze` the local server.
    #[arg(value_name = "AGENT|SERVER")]
    name: String,
    /// Freeze the processes of this local server. They keep their memory, and new calls to it wait.
    #[arg(long)]
    freeze: bool,
    /// Hold results that arrive for the agent, until a person decides about each.
    #[arg(long, conflicts_with = "freeze")]
    hold_results: bool,
    /// Why; kept in the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    token: TokenFileArg,
}

#[derive(Debug, Args)]
pub(crate) struct UnpauseArgs {
    /// The paused agent or the frozen server, or the id of the pause.
    #[arg(value_name = "AGENT|SERVER")]
    name: String,
    /// Send all calls that wait, in their order.
    #[arg(long)]
    all: bool,
    /// Send this waiting call, and cancel those that are not named. Can be repeated.
    #[arg(long = "send", value_name = "ID", conflicts_with = "all")]
    send: Vec<String>,
    /// Cancel all calls that wait.
    #[arg(long, conflicts_with_all = ["all", "send"])]
    none: bool,
}

/// Commands about pauses.
#[derive(Debug, Subcommand)]
pub(crate) enum PausesCommand {
    /// List what is paused, and the calls that wait.
    List {
        #[command(flatten)]
        token: TokenFileArg,
    },
}

pub(crate) async fn pause(command: PauseArgs, config: &Config, screen: &Screen) -> CommandResult {
    let PauseArgs { name, freeze, hold_results, reason, token } = command;
    let (agent, server) = if freeze { (None, Some(name)) } else { (Some(name), None) };
    let input = PauseInput { agent, server, hold_results, reason };
    if let Some(program) = token.client(config)? {
        return control_calls::pause(input, &program, screen).await;
    }
    let pause: PauseDto = CoreClient::attach(config)?.request("pauses.start", &input).await?;
    if screen.is_json() {
        return screen.json(&pause);
    }
    screen.line(&begun(&pause));
    let name = pause.agent.as_deref().or(pause.server.as_deref()).map(one_line).unwrap_or_default();
    screen.note(&format!("`taskwarden unpause {name}` ends it."));
    Ok(DONE)
}

pub(crate) async fn unpause(command: UnpauseArgs, config: &Config, screen: &Screen) -> CommandResult {
    let UnpauseArgs { name, all, send, none } = command;
    let core = CoreClient::attach(config)?;
    let known: PauseList = core.request("pauses.list", &Nothing {}).await?;
    let is_named = |pause: &&PauseDto| {
        pause.agent.as_ref() == Some(&name) || pause.server.as_ref() == Some(&name) || pause.id == name
    };
    let mut named = known.pauses.iter().filter(is_named);
    let (agent, server) = match (named.next(), named.next()) {
        (Some(only), None) => (only.agent.clone(), only.server.clone()),
        (Some(one), Some(other)) => return Err(both_paused(&name, one, other)),
        (None, _) => return Err(not_paused(&name, &core).await?),
    };
    let tasks = if none { Some(Vec::new()) } else { (!send.is_empty()).then_some(send) };
    let input = UnpauseInput { agent, server, all, tasks };
    let ended: PauseEndedDto = core.request("pauses.end", &input).await?;
    if screen.is_json() {
        return screen.json(&ended);
    }
    screen.line(&over(&ended));
    Ok(DONE)
}

/// An agent and a server of one name are told apart by the ids of their pauses.
fn both_paused(name: &str, one: &PauseDto, other: &PauseDto) -> ApiError {
    let (agent, server) = if one.agent.is_some() { (one, other) } else { (other, one) };
    ApiError::new(
        Code::Usage,
        format!("an agent and a server named `{}` are both paused", one_line(name)),
        format!(
            "`taskwarden unpause {}` ends that of the agent, `taskwarden unpause {}` that of the server.",
            one_line(&agent.id),
            one_line(&server.id)
        ),
    )
}

/// Why nothing ended: what is named goes on, or there is no such name.
async fn not_paused(name: &str, core: &CoreClient) -> Result<ApiError, ApiError> {
    let agents: AgentList = core.request("agents.list", &Nothing {}).await?;
    let servers: ServerList = core.request("servers.list", &Nothing {}).await?;
    let is_known = agents.agents.iter().any(|agent| agent.name == name)
        || servers.servers.iter().any(|server| server.name == name);
    let name = one_line(name);
    let (code, message) = if is_known {
        (Code::Refused, format!("`{name}` is not paused"))
    } else {
        (Code::NotFound, format!("there is no agent and no server `{name}`"))
    };
    Ok(ApiError::new(code, message, "`taskwarden pauses list` shows what is paused."))
}

pub(crate) async fn run(command: PausesCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        PausesCommand::List { token } => {
            if let Some(program) = token.client(config)? {
                return control_calls::list_pauses(&program, screen).await;
            }
            let core = CoreClient::attach_or_read(config).await?;
            let list: PauseList = core.request("pauses.list", &Nothing {}).await?;
            let printed = print(&list, screen)?;
            if core.is_read_only() && !list.pauses.is_empty() && !screen.is_json() {
                screen.note(NO_CORE);
            }
            Ok(printed)
        }
    }
}

/// Beside what is on record, where no core enforces it.
const NO_CORE: &str = "No core runs: no call reaches a server. Frozen processes stay frozen for ten minutes and end then. \
                       `taskwarden serve` starts one.";

/// Who paused it, when and why: `Paused by ada 3 min ago: wrong month.`
pub(in crate::cli) fn who(pause: &PauseDto) -> String {
    let since = moment(&pause.since).map(|at| time::ago(at, now())).unwrap_or_default();
    let reason = if pause.reason.is_empty() { String::new() } else { format!(": {}", one_line(&pause.reason)) };
    format!("Paused by {} {since}{reason}.", ordered_by(&pause.by, pause.by_name.as_deref()))
}

/// What stands still now, as sentences.
pub(in crate::cli) fn begun(pause: &PauseDto) -> String {
    let (agent, server) = (pause.agent.as_deref(), pause.server.as_deref());
    stands_still(agent, server, pause.processes.as_ref(), pause.holds_results)
}

/// What stands still of a paused agent or a frozen server.
pub(super) fn stands_still(
    agent: Option<&str>,
    server: Option<&str>,
    processes_found: Option<&FrozenProcessesDto>,
    holds_results: bool,
) -> String {
    match (agent, server, processes_found) {
        (Some(agent), ..) => {
            let results = if holds_results { " Results that arrive are held." } else { "" };
            format!("New calls of {} wait; none is sent.{results}", one_line(agent))
        }
        (None, Some(server), Some(found)) if found.stopped + found.moving == 0 => {
            let server = one_line(server);
            match found.gone_at.as_deref().and_then(moment) {
                Some(at) => format!(
                    "The frozen processes of {server} disappeared {}; what they had in memory is lost. New calls to it wait.",
                    time::ago(at, now())
                ),
                None => format!("No process of {server} runs now. New calls to it wait."),
            }
        }
        (None, Some(server), Some(found)) => {
            let server = one_line(server);
            let are = if found.stopped == 1 { "is frozen. It keeps its" } else { "are frozen. They keep their" };
            let mut said = format!("{} of {server} {are} memory.", processes(found.stopped));
            if found.moving > 0 {
                let have = if found.moving == 1 { "has" } else { "have" };
                said += &format!(" {} {have} not stopped yet.", processes(found.moving));
            }
            if found.foreign > 0 {
                let were = if found.foreign == 1 { "was" } else { "were" };
                said += &format!(" {} of somebody else {were} left alone.", processes(found.foreign));
            }
            if let Some(at) = found.ran_at.as_deref().and_then(moment) {
                said += &format!(" Another program let it run {}; it was frozen again.", time::ago(at, now()));
            }
            said + " New calls to it wait."
        }
        (None, Some(server), None) => format!("{} is frozen. New calls to it wait.", one_line(server)),
        (None, None, _) => "It is paused.".into(),
    }
}

fn processes(number: u32) -> String {
    if number == 1 { "1 process".into() } else { format!("{number} processes") }
}

fn over(ended: &PauseEndedDto) -> String {
    let what = match (&ended.agent, &ended.server) {
        (Some(agent), _) => format!("{} is no longer paused.", one_line(agent)),
        (None, Some(server)) => format!("{} is no longer frozen.", one_line(server)),
        (None, None) => "The pause is over.".into(),
    };
    let held = match ended.still_waiting {
        0 => String::new(),
        1 => " 1 call still waits: another pause holds it.".into(),
        calls => format!(" {} still wait: another pause holds them.", count(calls, "call")),
    };
    match (ended.sent, ended.left_out) {
        (0, 0) if ended.still_waiting > 0 => format!("{what}{held}"),
        (0, 0) => format!("{what} No call waited."),
        (sent, 0) => format!("{what} {} sent, in order.{held}", counted(sent)),
        (0, 1) => format!("{what} 1 waiting call is cancelled and was not sent.{held}"),
        (0, left_out) => format!("{what} {} cancelled and were not sent.{held}", counted(left_out)),
        (sent, left_out) => format!("{what} {} sent, in order; {left_out} cancelled.{held}", counted(sent)),
    }
}

fn counted(calls: u64) -> String {
    format!("{} {}", count(calls, "waiting call"), if calls == 1 { "is" } else { "are" })
}

fn print(list: &PauseList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    if list.pauses.is_empty() {
        screen.line("Nothing is paused.");
        return Ok(DONE);
    }
    for pause in &list.pauses {
        screen.line(&begun(pause));
        screen.line(&who(pause));
        if pause.must_choose {
            screen.line(
                "Whoever ends it must say which of the waiting calls are sent: `--all`, `--send ID` or `--none`.",
            );
        }
        let whole = !screen.is_terminal();
        let row = |call: &WaitingCallDto| {
            let since = moment(&call.since).map(|at| time::ago(at, now())).unwrap_or_default();
            vec![
                text(short_id(&call.id, whole)),
                text(one_line(&call.server)),
                text(call.tool.as_deref().map_or_else(|| "-".into(), one_line)),
                text(call.agent.as_deref().map_or_else(|| "-".into(), one_line)),
                text(since),
            ]
        };
        if !pause.calls.is_empty() {
            let layout = TableLayout {
                header: &["ID", "SERVER", "TOOL", "AGENT", "WAITS SINCE"],
                cut: &["TOOL"],
                spare: &["WAITS SINCE", "AGENT"],
            };
            table::print(screen, layout, pause.calls.iter().map(row).collect());
        }
    }
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_and_a_server_of_one_name_are_told_apart_by_commands() {
        let pause = |id: &str, agent: Option<&str>, server: Option<&str>| PauseDto {
            id: id.into(),
            agent: agent.map(str::to_owned),
            server: server.map(str::to_owned),
            since: String::new(),
            by: "ada".into(),
            by_name: None,
            reason: String::new(),
            holds_results: false,
            waiting: 0,
            must_choose: false,
            processes: None,
            calls: Vec::new(),
        };
        let (agent, server) = (pause("pau_1", Some("notes"), None), pause("pau_2", None, Some("notes")));
        for error in [both_paused("notes", &agent, &server), both_paused("notes", &server, &agent)] {
            assert_eq!(error.code, Code::Usage);
            assert_eq!(
                error.hint,
                "`taskwarden unpause pau_1` ends that of the agent, `taskwarden unpause pau_2` that of the server."
            );
        }
    }
}
