//! `taskwarden alarms`: what agents call again and again, dismissing what was seen, and deciding about calls that wait.
//!
//! When an alarm is raised, and what happens then, is set by `taskwarden rules set`.

use api::calls::Nothing;
use api::calls::alarms::{AlarmList, DecideAlarms, DismissAlarms};
use api::calls::pauses::PauseList;
use api::control::alarms::{ControlAlarm, ControlAlarmList};
use api::dto::alarm::{AlarmDecisionDto, AlarmDto, AlarmStateDto};
use api::dto::moment;
use api::dto::pause::PauseDto;
use api::format::alarm::{called, what};
use api::format::time;
use clap::{Args, Subcommand};

use super::output::screen::Screen;
use super::output::sentences::{self, one_line, shell_word, short_id};
use super::output::table::{self, TableLayout, text};
use crate::app::control_client::ControlClient;
use crate::app::core_client::CoreClient;
use crate::cli::input::control_token::TokenFileArg;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about alarms.
#[derive(Debug, Subcommand)]
pub(crate) enum AlarmsCommand {
    /// List alarms, the newest first.
    List(ListAlarmsArgs),
    /// Dismiss alarms that you have seen. It changes nothing for the agent.
    Dismiss(AlarmIdArgs),
    /// Send the calls that wait because of alarms, and let the agent go on. Dismisses the alarms.
    Send(AlarmIdArgs),
    /// Cancel the calls that wait because of alarms, and count from the beginning. Dismisses the alarms.
    Cancel(AlarmIdArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListAlarmsArgs {
    /// Also alarms that were dismissed.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    token: TokenFileArg,
}

#[derive(Debug, Args)]
pub(crate) struct AlarmIdArgs {
    /// Ids of alarms, or unique beginnings of them.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(crate) async fn run(command: AlarmsCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        AlarmsCommand::List(ListAlarmsArgs { all, token }) => {
            if let Some(program) = token.client(config)? {
                return list_in_reach(&program, all, screen).await;
            }
            let core = CoreClient::attach_or_read(config).await?;
            let mut list: AlarmList = core.request("alarms.list", &Nothing {}).await?;
            let kept = list.alarms.len();
            list.alarms.retain(|alarm| all || alarm.state != AlarmStateDto::Dismissed);
            if kept > 0 && list.alarms.is_empty() && !screen.is_json() {
                screen.line("Every alarm was dismissed. `taskwarden alarms list --all` shows them.");
                return Ok(DONE);
            }
            print(&list, screen)
        }
        AlarmsCommand::Dismiss(AlarmIdArgs { ids }) => {
            let list: AlarmList = CoreClient::attach(config)?.request("alarms.dismiss", &DismissAlarms { ids }).await?;
            print(&list, screen)
        }
        AlarmsCommand::Send(AlarmIdArgs { ids }) => decide(ids, AlarmDecisionDto::Send, config, screen).await,
        AlarmsCommand::Cancel(AlarmIdArgs { ids }) => decide(ids, AlarmDecisionDto::Cancel, config, screen).await,
    }
}

/// The alarms that a supervisor program reaches.
async fn list_in_reach(program: &ControlClient, all: bool, screen: &Screen) -> CommandResult {
    let mut list: ControlAlarmList = program.request("alarms.list", &Nothing {}).await?;
    list.alarms.retain(|alarm| all || alarm.state != AlarmStateDto::Dismissed.as_str());
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.alarms.is_empty() {
        screen.line("No alarms in reach of this control token.");
        return Ok(DONE);
    }
    let whole = !screen.is_terminal();
    let row = |alarm: &ControlAlarm| {
        vec![
            text(short_id(&alarm.id, whole)),
            text(if alarm.asks { "asks" } else { alarm.state.as_str() }),
            text(one_line(&alarm.agent)),
            text(alarm.kind.clone()),
            text(alarm.count.to_string()),
            text(one_line(&format!("{} of {}", alarm.called.tool, alarm.called.server))),
        ]
    };
    let layout = TableLayout {
        header: &["ID", "STATE", "AGENT", "KIND", "CALLS", "TOOL"],
        cut: &["TOOL", "AGENT"],
        spare: &["CALLS", "TOOL"],
    };
    table::print(screen, layout, list.alarms.iter().map(row).collect());
    Ok(DONE)
}

async fn decide(ids: Vec<String>, calls: AlarmDecisionDto, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let list: AlarmList = core.request("alarms.decide", &DecideAlarms { ids, calls }).await?;
    print(&list, screen)?;
    if calls == AlarmDecisionDto::Send {
        let held: PauseList = core.request("pauses.list", &Nothing {}).await?;
        let names = held.pauses.iter().filter(|pause| list.alarms.iter().any(|alarm| holds(pause, alarm)));
        for name in names.filter_map(|pause| pause.agent.as_deref().or(pause.server.as_deref())) {
            let (name, word) = (one_line(name), shell_word(name));
            screen.note(&format!("{name} is paused: its calls wait until `taskwarden unpause {word}`."));
        }
    }
    Ok(DONE)
}

/// Whether calls that an alarm lets go wait for this pause as well.
fn holds(pause: &PauseDto, alarm: &AlarmDto) -> bool {
    let server = pause.server.as_deref();
    pause.agent.as_deref() == Some(alarm.agent.as_str())
        || server == Some(alarm.server.as_str())
        || alarm.other.as_ref().is_some_and(|other| server == Some(other.server.as_str()))
}

fn print(list: &AlarmList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    if list.alarms.is_empty() {
        screen.line("No alarms: no agent does the same again and again.");
        return Ok(DONE);
    }
    let (whole, now) = (!screen.is_terminal(), sentences::now());
    let row = |alarm: &AlarmDto| {
        let since = moment(&alarm.raised_at).map(|at| time::ago(at, now)).unwrap_or_default();
        vec![
            text(short_id(&alarm.id, whole)),
            text(state(alarm)),
            text(one_line(&what(alarm))),
            text(one_line(&called(alarm))),
            text(since),
        ]
    };
    let layout = TableLayout {
        header: &["ID", "STATE", "WHAT", "CALLS", "RAISED"],
        cut: &["CALLS", "WHAT"],
        spare: &["RAISED", "CALLS"],
    };
    table::print(screen, layout, list.alarms.iter().map(row).collect());
    Ok(DONE)
}

/// `asks` while calls wait because of it, or what became of it.
fn state(alarm: &AlarmDto) -> &'static str {
    match (alarm.asks, alarm.decision) {
        (true, _) => "asks",
        (false, Some(AlarmDecisionDto::Send)) => "calls sent",
        (false, Some(AlarmDecisionDto::Cancel)) => "calls cancelled",
        (false, None) => alarm.state.as_str(),
    }
}
