//! `taskwarden tasks watch`: a line for each change of one task until it ends, or of all until Ctrl-C.
//!
//! Ends as ruling 19 says: 0 done, 1 failed or gone, 6 a question that nobody here can answer, 7 the given time is up.
//! Reconnecting to the core is in `task_feed.rs`, asking at the terminal in `inbox/question_dialogue.rs`; a program with a
//! control token watches in `control_watch.rs`.

use std::time::Duration;

use api::calls::OneTask;
use api::calls::tasks::ShownTask;
use api::dto::TaskDto;
use api::{ApiError, Code};
use clap::Args;

use crate::app::core_client::CoreClient;
use crate::cli::inbox::question_dialogue::{self, QuestionOutcome};
use crate::cli::input::control_token::TokenFileArg;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{coloured_phase, elapsed, one_line, saying, short_id};
use crate::cli::tasks::control_watch;
use crate::cli::tasks::task_feed::{TaskFeed, ended};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The handle of one task. Default: all tasks.
    id: Option<String>,
    /// Stop watching after this many seconds. The task continues.
    #[arg(long, value_name = "S", allow_negative_numbers = true, requires = "id")]
    timeout: Option<f64>,
    #[command(flatten)]
    token: TokenFileArg,
}

pub(crate) async fn run(input: WatchArgs, config: &Config, screen: &Screen) -> CommandResult {
    if let Some(program) = input.token.client(config)? {
        return control_watch::run(input.id, seconds(input.timeout)?, &program, config, screen).await;
    }
    let core = CoreClient::attach(config)?;
    match input.id {
        Some(id) => {
            let shown: ShownTask = core.request("tasks.show", &OneTask { id }).await?;
            let limit = seconds(input.timeout)?;
            until(limit, &shown.task.id, screen, one(&core, &shown.task.id, config, screen)).await
        }
        None => {
            tokio::select! {
                ended = all(&core, config, screen) => ended,
                _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
            }
        }
    }
}

/// Ends a wait at its limit or at Ctrl-C, and says that the task continues.
pub(crate) async fn until(
    limit: Option<Duration>,
    id: &str,
    screen: &Screen,
    work: impl Future<Output = CommandResult>,
) -> CommandResult {
    let at_limit = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let short = short_id(id, false);
    tokio::select! {
        ended = work => ended,
        () = at_limit => Err(ApiError::new(
            Code::TimedOut,
            format!("task `{id}` did not end within the given time"),
            format!("It continues. Watch it with `taskwarden tasks watch {short}`, cancel it with `taskwarden tasks cancel {short}`."),
        )),
        _ = tokio::signal::ctrl_c() => {
            screen.note(&format!("\nThe task continues. To cancel it: taskwarden tasks cancel {short}"));
            Ok(INTERRUPTED)
        }
    }
}

/// A time in seconds as a person gives it.
pub(crate) fn seconds(given: Option<f64>) -> Result<Option<Duration>, ApiError> {
    given
        .map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                ApiError::new(Code::Usage, "the timeout must be a number of seconds", "Write it as `--timeout 30`.")
            })
        })
        .transpose()
}

async fn all(core: &CoreClient, config: &Config, screen: &Screen) -> CommandResult {
    let mut feed = TaskFeed::new(core.attached()?, Vec::new(), config, screen);
    if screen.can_draw() {
        screen.note("Watching all tasks. Press Ctrl-C to stop.");
    }
    loop {
        print(&feed.next().await?, screen, true)?;
    }
}

async fn one(core: &CoreClient, id: &str, config: &Config, screen: &Screen) -> CommandResult {
    let mut feed = TaskFeed::new(core.attached()?, vec![id.to_owned()], config, screen);
    let mut last = String::new();
    loop {
        let task = feed.next().await?;
        let line = line(&task, screen, false);
        if screen.is_json() || line != last {
            print(&task, screen, false)?;
            last = line;
        }
        if let Some(code) = ended(&task) {
            return Ok(code);
        }
        match question_dialogue::open_question(core, &task, screen).await? {
            QuestionOutcome::Nothing | QuestionOutcome::Answered => {}
            QuestionOutcome::Left(error) => return Err(error),
        }
    }
}

fn print(task: &TaskDto, screen: &Screen, with_id: bool) -> Result<u8, ApiError> {
    if screen.is_json() {
        screen.json_line(task)?;
    } else {
        screen.line(&line(task, screen, with_id));
    }
    Ok(DONE)
}

fn line(task: &TaskDto, screen: &Screen, with_id: bool) -> String {
    let head = if with_id {
        let tool = task.tool.as_deref().map(one_line).unwrap_or_default();
        format!("{}  {}  {tool}  ", short_id(&task.id, !screen.is_terminal()), task.server)
    } else {
        String::new()
    };
    format!("{head}{:>9}  {}  {}", elapsed(task), coloured_phase(task), saying(task)).trim_end().to_owned()
}
