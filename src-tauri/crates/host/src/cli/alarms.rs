//! `taskwarden alarms`: what agents call again and again, and dismissing what was seen.
//!
//! When an alarm is raised is set by `taskwarden rules set`. Nothing is cancelled here.

use api::calls::Nothing;
use api::calls::alarms::{AlarmList, DismissAlarms};
use api::dto::alarm::{AlarmDto, AlarmStateDto};
use api::dto::moment;
use api::format::alarm::{called, what};
use api::format::time;
use clap::{Args, Subcommand};

use super::output::screen::Screen;
use super::output::sentences::{self, one_line, short_id};
use super::output::table::{self, TableLayout, text};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about alarms.
#[derive(Debug, Subcommand)]
pub(crate) enum AlarmsCommand {
    /// List alarms, the newest first.
    List(ListAlarmsArgs),
    /// Dismiss alarms that you have seen. It changes nothing for the agent.
    Dismiss(DismissArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListAlarmsArgs {
    /// Also alarms that were dismissed.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// Ids of alarms, or unique beginnings of them.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(crate) async fn run(command: AlarmsCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        AlarmsCommand::List(ListAlarmsArgs { all }) => {
            let core = CoreClient::attach_or_read(config).await?;
            let mut list: AlarmList = core.request("alarms.list", &Nothing {}).await?;
            list.alarms.retain(|alarm| all || alarm.state != AlarmStateDto::Dismissed);
            print(&list, screen)
        }
        AlarmsCommand::Dismiss(DismissArgs { ids }) => {
            let list: AlarmList = CoreClient::attach(config)?.request("alarms.dismiss", &DismissAlarms { ids }).await?;
            print(&list, screen)
        }
    }
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
            text(alarm.state.as_str()),
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
