//! `taskwarden call`: starts a tool, prints the handle at once, and with `--wait` stays until the result is there.
//!
//! The handle is printed before anything else can go wrong. Waiting never owns the task: a limit or Ctrl-C ends the
//! wait, and the task goes on.

use api::calls::OneTask;
use api::calls::tasks::{StartTask, TaskResult};
use api::dto::TaskDto;
use api::{ApiError, Code};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::ask::{self, Asked};
use super::follow::{Follow, ended};
use super::screen::Screen;
use super::tasks::print_result;
use super::watch::{seconds, until};
use super::words::{one_line, progress, saying};
use super::{DONE, Ended, FAILED, input};
use crate::config::Config;
use crate::door::Door;

/// A call.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The server's name.
    server: String,
    /// The tool.
    tool: String,
    /// Arguments: a JSON object, `@file.json`, or `-` for standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Wait for the result and print it.
    #[arg(long)]
    wait: bool,
    /// Stop waiting after this many seconds; the task goes on.
    #[arg(long, value_name = "S", allow_negative_numbers = true, requires = "wait")]
    timeout: Option<f64>,
}

pub(crate) async fn run(command: Call, config: &Config, screen: &Screen) -> Ended {
    let arguments = input::json(&command.args, "the arguments", config.policy.arguments_cap_bytes)?;
    let limit = seconds(command.timeout)?;
    let door = Door::core(config)?;
    let start = StartTask { server: command.server, tool: command.tool, arguments, limit_ms: None };
    let task: TaskDto = door.ask("tasks.start", &start).await?;
    if !command.wait {
        if screen.is_json() {
            screen.json(&task)?;
        } else {
            screen.line(&task.id);
        }
        return Ok(DONE);
    }
    // Standard output is for the result alone.
    if !screen.is_json() {
        screen.note(&task.id);
    }
    until(limit, &task.id, screen, wait(&door, &task.id, config, screen)).await
}

async fn wait(door: &Door, id: &str, config: &Config, screen: &Screen) -> Ended {
    let mut follow = Follow::new(door.attached()?, vec![id.to_owned()], config, screen);
    let bar = Bar::new(screen, config);
    loop {
        let task = follow.next().await?;
        bar.show(&task);
        if let Some(code) = ended(&task) {
            bar.clear();
            return finish(door, &task, code, screen).await;
        }
        // The bar must not draw over what a person types.
        if task.requests.iter().any(api::dto::RequestDto::is_open) {
            bar.clear();
        }
        match ask::open_question(door, &task, screen).await? {
            Asked::Nothing | Asked::Answered => {}
            Asked::Left(error) => return Err(error),
        }
    }
}

async fn finish(door: &Door, task: &TaskDto, code: u8, screen: &Screen) -> Ended {
    match door.ask::<TaskResult>("tasks.result", &OneTask { id: task.id.clone() }).await {
        // Standard output has the task with its id; what went wrong is one object on standard error.
        Ok(result) if screen.is_json() && result.kind == "error" => {
            screen.json(task)?;
            Err(failure(task))
        }
        Ok(result) => {
            let shown = print_result(&result, screen)?;
            Ok(if code == DONE { shown } else { code.max(shown) })
        }
        // An empty end that is not a failure: cancelled, revoked, gone.
        Err(error) if error.code == Code::Failed || error.code == Code::Refused => Err(ApiError::new(
            Code::Failed,
            format!("task `{}` ended without a result: {}", task.id, ending(task)),
            error.hint,
        )),
        Err(error) => Err(error),
    }
    .map(|shown| if code == FAILED { FAILED } else { shown })
}

fn failure(task: &TaskDto) -> ApiError {
    ApiError::new(
        Code::Failed,
        format!("task `{}` failed: {}", task.id, ending(task)),
        format!("`taskwarden tasks result {} --json` prints what the server answered.", task.id),
    )
}

fn ending(task: &TaskDto) -> String {
    let saying = saying(task);
    let word = super::words::phase(task).to_lowercase();
    if saying.is_empty() { word } else { format!("{word}, {saying}") }
}

/// Progress on standard error, where a terminal shows it.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(screen: &Screen, config: &Config) -> Self {
        let bar = if screen.can_draw() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(config.policy.hosting.draw_every);
        Self { bar }
    }

    fn show(&self, task: &TaskDto) {
        /// Steps of a bar; servers count in units of their own.
        const STEPS: f64 = 1_000.0;
        let share = task.progress.as_ref().and_then(|progress| match (progress.done, progress.total) {
            (Some(done), Some(total)) if total > 0.0 => Some((done / total).clamp(0.0, 1.0)),
            (Some(_) | None, _) => None,
        });
        let template = match share {
            Some(share) => {
                self.bar.set_length(1_000);
                // Between 0 and 1,000, so nothing is lost.
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped above")]
                self.bar.set_position((share * STEPS) as u64);
                "{elapsed} {bar:30} {wide_msg}"
            }
            None => "{elapsed} {spinner} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        let words = super::words::phase(task);
        let says =
            progress(task).map_or_else(|| saying(task), |progress| format!("{progress} {}", saying_message(task)));
        self.bar.set_message(format!("{words}  {says}"));
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn saying_message(task: &TaskDto) -> String {
    task.status_message.as_deref().map(one_line).unwrap_or_default()
}
