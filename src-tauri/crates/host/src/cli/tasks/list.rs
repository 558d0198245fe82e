//! `taskwarden tasks list`: one page of tasks as a table, and the command that prints the next page.
//!
//! Filters and order are the core's.

use api::ApiError;
use api::calls::Nothing;
use api::calls::tasks::ListTasks;
use api::control::tasks::ListControlTasks;
use api::dto::{RecordingDto, TaskListDto, moment};
use api::format::time;
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::input::control_token::TokenFileArg;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, elapsed, one_line, saying, short_id, tone};
use crate::cli::output::table::{self, TableLayout, text, toned};
use crate::cli::tasks::control_calls;
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only tasks in this phase. Can be repeated.
    #[arg(long, value_name = "PHASE")]
    phase: Vec<String>,
    /// Only tasks on this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only tasks of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only open tasks.
    #[arg(long)]
    open: bool,
    /// Most rows in a page, at most 1,000.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Continue after a page: its `next` value.
    #[arg(long, value_name = "PLACE")]
    before: Option<String>,
    #[command(flatten)]
    token: TokenFileArg,
}

/// Calls without a row, because nothing can be recorded, are in no list: warns about them.
async fn warn_if_not_recording(core: &CoreClient, screen: &Screen) {
    if core.is_read_only() {
        return;
    }
    let asked: Result<RecordingDto, ApiError> = core.request("recording", &Nothing {}).await;
    if let Ok(RecordingDto::Cannot { message, cure, calls, .. }) = asked {
        screen.warning(&format!("{}. {}", one_line(&message), one_line(&cure)));
        for call in calls {
            screen.note(&format!(
                "Running, and not recorded: {} `{}` of agent `{}` on `{}`, since {}",
                call.id,
                one_line(&call.tool),
                one_line(&call.agent),
                one_line(&call.server),
                call.since
            ));
        }
    }
}

pub(super) async fn run(input: ListArgs, config: &Config, screen: &Screen) -> CommandResult {
    let again = same_filters(&input);
    let ListArgs { phase, server, agent, open, limit, before, token } = input;
    if let Some(program) = token.client(config)? {
        let query = ListControlTasks { phases: phase, open, server, agent, limit: Some(limit), before };
        return control_calls::list(query, &again, &program, screen).await;
    }
    let is_filtered = !phase.is_empty() || server.is_some() || agent.is_some() || open || before.is_some();
    let query = ListTasks { phases: phase, open, server, agent, limit: Some(limit), before };
    let core = CoreClient::attach_or_read(config).await?;
    let page: TaskListDto = core.request("tasks.list", &query).await?;
    if screen.is_json() {
        return screen.json(&page);
    }
    warn_if_not_recording(&core, screen).await;
    if page.tasks.is_empty() {
        screen.line(if is_filtered {
            "No task matches. `taskwarden tasks list` without filters lists all."
        } else {
            "No tasks yet. Start one: taskwarden call SERVER TOOL --args JSON"
        });
        return Ok(DONE);
    }
    let now = sentences::now();
    let whole = !screen.is_terminal();
    let rows = page
        .tasks
        .iter()
        .map(|task| {
            vec![
                text(short_id(&task.id, whole)),
                toned(sentences::flagged_phase(task), tone(task.phase.0)),
                text(sentences::whose(task.agent.as_deref())),
                text(task.server.clone()),
                text(task.tool.as_deref().map_or_else(|| "-".into(), one_line)),
                text(elapsed(task)),
                text(moment(&task.last_seen_at).map(|at| time::ago(at, now)).unwrap_or_default()),
                text(saying(task)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &["TASK", "PHASE", "AGENT", "SERVER", "TOOL", "TIME", "LAST SEEN", "STATUS"],
        cut: &["AGENT", "TOOL", "STATUS"],
        spare: &["LAST SEEN", "AGENT", "TIME"],
    };
    table::print(screen, layout, rows);
    if let Some(next) = &page.next {
        screen.note(&format!("More: taskwarden tasks list{again} --before {next}"));
    }
    if core.is_read_only() {
        screen.note("No core is running; this is the last known state. Start one with `taskwarden serve`.");
    }
    Ok(DONE)
}

/// The arguments that list the next page with the same filters.
fn same_filters(list: &ListArgs) -> String {
    let mut said: Vec<String> = Vec::new();
    let named = list.phase.iter().map(|phase| ("--phase", phase));
    let named = named.chain(list.server.iter().map(|server| ("--server", server)));
    for (flag, value) in named.chain(list.agent.iter().map(|agent| ("--agent", agent))) {
        said.push(format!(" {flag} {}", sentences::shell_word(value)));
    }
    if list.open {
        said.push(" --open".into());
    }
    said.push(format!(" --limit {}", list.limit));
    said.concat()
}
