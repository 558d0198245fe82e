//! `taskwarden tasks`: one file a command; here are their arguments and who runs which.
//!
//! Phases are shown as the api gives them and never derived here.

mod bulk;
pub(crate) mod call;
pub(crate) mod cancel;
mod control_calls;
mod control_watch;
mod escalate;
mod list;
mod resolve;
mod result;
mod result_hold;
mod show;
mod task_feed;
mod time_limit;
mod token_count;
mod watch;

use api::calls::tasks::AdoptTask;
use api::dto::TaskDto;
use clap::Subcommand;

use super::inbox::answer;
use super::input::control_token::TokenFileArg;
use super::output::exit_code::{CommandResult, DONE};
use super::output::screen::Screen;
use super::output::sentences::{phase, status_line};
use crate::app::core_client::CoreClient;
use crate::config::Config;

/// Commands about tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// List tasks, newest first.
    List(list::ListArgs),
    /// Show everything known about a task.
    Show {
        /// The task's handle, or a unique prefix of it.
        id: String,
        #[command(flatten)]
        token: TokenFileArg,
    },
    /// Print a line for each change of one task, or of all.
    Watch(watch::WatchArgs),
    /// Print the result of a task.
    Result {
        /// The task's handle, or a unique prefix of it.
        id: String,
    },
    /// Watch a task that was started elsewhere, by its id on the server.
    Adopt {
        /// The server's name.
        server: String,
        /// The id of the task on that server.
        #[arg(value_name = "TASK_ID")]
        task: String,
    },
    /// Answer a question of a task.
    Answer(answer::AnswerArgs),
    /// Ask servers to cancel tasks.
    Cancel(cancel::CancelArgs),
    /// Revoke a task from its agent at once, and ask its server to cancel it.
    Revoke(cancel::RevokeArgs),
    /// Take the next step to end a task: cancel, hold its result, revoke it, revoke its agent, shut down its server.
    Escalate(escalate::EscalateArgs),
    /// Mark a task resolved that is not confirmed, lost or expired. Its server is not told.
    Resolve(resolve::ResolveArgs),
    /// Hold the result of a task, so that its agent does not get it.
    Hold {
        /// The task's handle, or a unique prefix of it.
        id: String,
    },
    /// Decide what the agent gets of a held result.
    Release(result_hold::ReleaseArgs),
    /// Allow a task more time than its limit, or remove the limit from it.
    AllowTime(time_limit::AllowTimeArgs),
    /// Allow a task to continue past a token limit that asks.
    GoOn {
        /// The task's handle, or a unique prefix of it.
        id: String,
    },
}

pub(crate) async fn run(command: TasksCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        TasksCommand::List(input) => list::run(input, config, screen).await,
        TasksCommand::Show { id, token } => match token.client(config)? {
            Some(program) => control_calls::show(id, &program, screen).await,
            None => show::run(id, config, screen).await,
        },
        TasksCommand::Watch(input) => watch::run(input, config, screen).await,
        TasksCommand::Result { id } => result::run(id, config, screen).await,
        TasksCommand::Adopt { server, task } => adopt(server, task, config, screen).await,
        TasksCommand::Answer(input) => answer::run(input, config, screen).await,
        TasksCommand::Cancel(input) => cancel::cancel(input, config, screen).await,
        TasksCommand::Revoke(input) => cancel::revoke(input, config, screen).await,
        TasksCommand::Escalate(input) => escalate::run(input, config, screen).await,
        TasksCommand::Resolve(input) => resolve::run(input, config, screen).await,
        TasksCommand::Hold { id } => result_hold::hold(id, config, screen).await,
        TasksCommand::Release(input) => result_hold::release(input, config, screen).await,
        TasksCommand::AllowTime(input) => time_limit::allow(input, config, screen).await,
        TasksCommand::GoOn { id } => result_hold::go_on(id, config, screen).await,
    }
}

async fn adopt(server: String, task: String, config: &Config, screen: &Screen) -> CommandResult {
    let task: TaskDto = CoreClient::attach(config)?.request("tasks.adopt", &AdoptTask { server, task }).await?;
    if screen.is_json() {
        screen.json(&task)?;
    } else {
        screen.line(&task.id);
        screen.note(&format!("{}: {}", phase(&task), status_line(&task)));
    }
    Ok(DONE)
}
