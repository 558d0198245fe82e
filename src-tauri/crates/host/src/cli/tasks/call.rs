//! `taskwarden call`: starts a tool, prints the handle at once, and with `--wait` waits for the result.
//!
//! The handle is printed before anything else can fail. Waiting never owns the task: a timeout or Ctrl-C ends the wait,
//! and the task continues.

use api::calls::OneTask;
use api::calls::tasks::{ResultKind, StartTask, TaskResult};
use api::dto::TaskDto;
use api::{ApiError, Code};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::watch::{seconds, until};
use crate::app::core_client::CoreClient;
use crate::cli::inbox::question_dialogue::{self, QuestionOutcome};
use crate::cli::input::json_argument;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, progress, saying};
use crate::cli::tasks::result::print_result;
use crate::cli::tasks::task_feed::{TaskFeed, ended};
use crate::config::Config;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The server's name.
    server: String,
    /// The tool to call.
    tool: String,
    /// The arguments: a JSON object, `@file.json`, or `-` for standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Wait for the result and print it.
    #[arg(long)]
    wait: bool,
    /// Stop waiting after this many seconds. The task continues.
    #[arg(long, value_name = "S", allow_negative_numbers = true, requires = "wait")]
    timeout: Option<f64>,
}

pub(crate) async fn run(command: CallArgs, config: &Config, screen: &Screen) -> CommandResult {
    let arguments = json_argument::json(&command.args, "the arguments", config.policy.arguments_cap_bytes)?;
    let limit = seconds(command.timeout)?;
    let core = CoreClient::attach(config)?;
    let start = StartTask { server: command.server, tool: command.tool, arguments, limit_ms: None };
    let task: TaskDto = core.request("tasks.start", &start).await?;
    if !command.wait {
        if screen.is_json() {
            screen.json(&task)?;
        } else {
            screen.line(&task.id);
        }
        return Ok(DONE);
    }
    // Standard output is only for the result.
    if !screen.is_json() {
        screen.note(&task.id);
    }
    until(limit, &task.id, screen, wait(&core, &task.id, config, screen)).await
}

async fn wait(core: &CoreClient, id: &str, config: &Config, screen: &Screen) -> CommandResult {
    let mut feed = TaskFeed::new(core.attached()?, vec![id.to_owned()], config, screen);
    let bar = Bar::new(screen, config);
    loop {
        let task = feed.next().await?;
        bar.show(&task);
        if let Some(code) = ended(&task) {
            bar.clear();
            return finish(core, &task, code, screen).await;
        }
        // The bar must not draw over what a person types.
        if task.requests.iter().any(api::dto::RequestDto::is_open) {
            bar.clear();
        }
        match question_dialogue::open_question(core, &task, screen).await? {
            QuestionOutcome::Nothing | QuestionOutcome::Answered => {}
            QuestionOutcome::Left(error) => return Err(error),
        }
    }
}

async fn finish(core: &CoreClient, task: &TaskDto, code: u8, screen: &Screen) -> CommandResult {
    match core.request::<TaskResult>("tasks.result", &OneTask { id: task.id.clone() }).await {
        // The task goes to standard output, the error to standard error, each as one object.
        Ok(result) if screen.is_json() && result.kind == ResultKind::Error => {
            screen.json(task)?;
            Err(failure(task))
        }
        Ok(result) => {
            let shown = print_result(&result, screen)?;
            Ok(if code == DONE { shown } else { code.max(shown) })
        }
        // It ended without a result: cancelled, revoked or gone.
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
        format!("`taskwarden tasks result {} --json` prints the server's answer.", task.id),
    )
}

fn ending(task: &TaskDto) -> String {
    let saying = saying(task);
    let word = crate::cli::output::sentences::phase(task).to_lowercase();
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
        let words = crate::cli::output::sentences::phase(task);
        let says =
            progress(task).map_or_else(|| saying(task), |progress| format!("{progress} {}", status_message(task)));
        self.bar.set_message(format!("{words}  {says}"));
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn status_message(task: &TaskDto) -> String {
    task.status_message.as_deref().map(one_line).unwrap_or_default()
}
