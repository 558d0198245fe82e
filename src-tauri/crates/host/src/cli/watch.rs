//! `taskwarden tasks watch`: a line for each change, of one task until it ends, or of all until Ctrl-C.
//!
//! Ends as ruling 19 says: 0 done, 1 failed or gone, 6 a question that nobody here can be asked, 7 the given time is
//! over. The feed across cores is `follow.rs`; asking at the terminal is `ask.rs`.

use std::time::Duration;

use api::calls::OneTask;
use api::calls::tasks::ShownTask;
use api::dto::TaskDto;
use api::{ApiError, Code};
use clap::Args;

use super::ask::{self, Asked};
use super::follow::{Follow, ended};
use super::screen::Screen;
use super::words::{coloured_phase, elapsed, one_line, saying, short_id};
use super::{DONE, Ended, INTERRUPTED};
use crate::config::Config;
use crate::door::Door;

/// What to watch.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// One task by its handle; all when left out.
    id: Option<String>,
    /// Stop watching after this many seconds; the task goes on.
    #[arg(long, value_name = "S", allow_negative_numbers = true, requires = "id")]
    timeout: Option<f64>,
}

pub(crate) async fn run(input: Watch, config: &Config, screen: &Screen) -> Ended {
    let door = Door::core(config)?;
    match input.id {
        Some(id) => {
            let shown: ShownTask = door.ask("tasks.show", &OneTask { id }).await?;
            let limit = seconds(input.timeout)?;
            until(limit, &shown.task.id, screen, one(&door, &shown.task.id, config, screen)).await
        }
        None => {
            tokio::select! {
                ended = all(&door, config, screen) => ended,
                _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
            }
        }
    }
}

/// Ends a wait at its limit or at Ctrl-C, and says that the task goes on.
pub(crate) async fn until(
    limit: Option<Duration>,
    id: &str,
    screen: &Screen,
    work: impl Future<Output = Ended>,
) -> Ended {
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
            format!("task `{id}` is not over within the time you gave"),
            format!("It goes on: `taskwarden tasks watch {short}` follows it, `taskwarden tasks cancel {short}` asks to stop it."),
        )),
        _ = tokio::signal::ctrl_c() => {
            screen.note(&format!("\nThe task goes on. To stop it: taskwarden tasks cancel {short}"));
            Ok(INTERRUPTED)
        }
    }
}

/// A time in seconds as a person gives it.
pub(crate) fn seconds(given: Option<f64>) -> Result<Option<Duration>, ApiError> {
    given
        .map(|seconds| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                ApiError::new(Code::Usage, "the time must be a number of seconds", "Write it as `--timeout 30`.")
            })
        })
        .transpose()
}

async fn all(door: &Door, config: &Config, screen: &Screen) -> Ended {
    let mut follow = Follow::new(door.attached()?, Vec::new(), config, screen);
    if screen.can_draw() {
        screen.note("Watching all tasks; Ctrl-C ends it.");
    }
    loop {
        print(&follow.next().await?, screen, true)?;
    }
}

async fn one(door: &Door, id: &str, config: &Config, screen: &Screen) -> Ended {
    let mut follow = Follow::new(door.attached()?, vec![id.to_owned()], config, screen);
    let mut last = String::new();
    loop {
        let task = follow.next().await?;
        let line = line(&task, screen, false);
        if screen.is_json() || line != last {
            print(&task, screen, false)?;
            last = line;
        }
        if let Some(code) = ended(&task) {
            return Ok(code);
        }
        match ask::open_question(door, &task, screen).await? {
            Asked::Nothing | Asked::Answered => {}
            Asked::Left(error) => return Err(error),
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
