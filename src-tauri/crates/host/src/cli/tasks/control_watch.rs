//! `taskwarden tasks watch` for a supervisor program with its control token: a line for each change that its feed tells of.
//!
//! The feed has ids and phases; of one task the rest is read when it changed. A core that ended is waited for, and the feed
//! goes on after its last event. It ends with the token.

use std::time::Duration;

use anstyle::Style;
use api::control::feed::{ControlFeedEvent, ControlFeedNote};
use api::control::tasks::ControlTask;
use api::format::time;
use api::{ApiError, Code};
use domain::task::status::Phase;

use super::control_calls::{phase, read, waiting};
use super::watch::until;
use crate::app::control_client::ControlClient;
use crate::app::control_events::ControlEvents;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED, INTERRUPTED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{one_line, short_id};
use crate::cli::tasks::task_feed::CoreWait;
use crate::config::Config;

/// Watches one task until it ends, or all in reach until Ctrl-C.
pub(super) async fn run(
    id: Option<String>,
    limit: Option<Duration>,
    program: &ControlClient,
    config: &Config,
    screen: &Screen,
) -> CommandResult {
    match id {
        Some(id) => until(limit, &id, screen, one(&id, program, config, screen)).await,
        None => {
            tokio::select! {
                ended = all(program, config, screen) => ended,
                _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
            }
        }
    }
}

async fn one(id: &str, program: &ControlClient, config: &Config, screen: &Screen) -> CommandResult {
    // That it is not in reach is said before a feed is opened. The feed is older than the first reading that counts.
    read(id, program).await?;
    let mut feed = WatchedFeed::open(program, config, screen).await?;
    let mut last = String::new();
    let mut is_read = true;
    loop {
        if is_read {
            match feed.next().await? {
                ControlFeedEvent::Changed(changes) if changes.tasks.iter().all(|task| task.id != id) => continue,
                ControlFeedEvent::Changed(_) | ControlFeedEvent::ReadAgain(_) => {}
                ControlFeedEvent::Ended(note) => return Err(token_ended(&note)),
            }
        }
        // What an event told of is read in any case, also from the next core: the event does not come again.
        let task = match read(id, program).await {
            Err(error) if error.code == Code::NoCore => {
                is_read = false;
                feed.lose(Some(&error)).await?;
                continue;
            }
            task => task?,
        };
        is_read = true;
        let told = format!("{} {} {:?}", task.phase, task.open_requests, task.cancel_state);
        if told != last {
            print(&task, screen)?;
            last = told;
        }
        let word = Phase::from_word(&task.phase);
        if word == Some(Phase::Done) {
            return Ok(DONE);
        }
        // The reply of an unconfirmed call can no longer arrive; waiting for it would never end.
        if task.over || word == Some(Phase::Unconfirmed) {
            return Ok(FAILED);
        }
        if task.open_requests > 0 {
            return Err(needs_person(&task));
        }
    }
}

async fn all(program: &ControlClient, config: &Config, screen: &Screen) -> CommandResult {
    let mut feed = WatchedFeed::open(program, config, screen).await?;
    if screen.can_draw() {
        screen.note("Watching all tasks in the reach of this control token. Press Ctrl-C to stop.");
    }
    let mut has_begun = false;
    loop {
        match feed.next().await? {
            ControlFeedEvent::Changed(changes) => {
                for task in &changes.tasks {
                    if screen.is_json() {
                        screen.json_line(task)?;
                        continue;
                    }
                    let (label, tone) = phase(&task.phase);
                    let colour = Style::new().fg_color(Some(tone.into()));
                    let id = short_id(&task.id, !screen.is_terminal());
                    screen.line(&format!("{id}  {colour}{label}{colour:#}"));
                }
            }
            ControlFeedEvent::ReadAgain(note) if has_begun => {
                screen.note(&format!("{}; `taskwarden tasks list --token-file FILE` has all.", one_line(&note.why)));
            }
            // It only says that the feed begins.
            ControlFeedEvent::ReadAgain(_) => {}
            ControlFeedEvent::Ended(note) => return Err(token_ended(&note)),
        }
        has_begun = true;
    }
}

/// The feed of a token, across restarts of the core.
struct WatchedFeed<'a> {
    program: &'a ControlClient,
    /// `None` while no core is reached.
    events: Option<ControlEvents>,
    /// Up to where the feed told before the core was lost.
    place: Option<String>,
    core: CoreWait<'a>,
}

impl<'a> WatchedFeed<'a> {
    /// Opens it. The first connection has to work: without a core there is nothing to wait for.
    async fn open(program: &'a ControlClient, config: &Config, screen: &'a Screen) -> Result<Self, ApiError> {
        let events = Some(program.feed(None).await?);
        Ok(Self { program, events, place: None, core: CoreWait::new(config, screen) })
    }

    /// The next event.
    async fn next(&mut self) -> Result<ControlFeedEvent, ApiError> {
        loop {
            let Some(events) = &mut self.events else {
                self.connect().await?;
                continue;
            };
            match events.next().await {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => self.lose(None).await?,
                Err(error) if error.code == Code::NoCore => self.lose(Some(&error)).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ApiError> {
        match self.program.feed(self.place.as_deref()).await {
            Ok(events) => {
                self.core.back();
                self.events = Some(events);
                Ok(())
            }
            Err(error) if error.code == Code::NoCore => self.core.lost(Some(&error)).await,
            Err(error) => Err(error),
        }
    }

    async fn lose(&mut self, error: Option<&ApiError>) -> Result<(), ApiError> {
        if let Some(place) = self.events.take().and_then(|events| events.place().map(str::to_owned)) {
            self.place = Some(place);
        }
        self.core.lost(error).await
    }
}

fn token_ended(note: &ControlFeedNote) -> ApiError {
    ApiError::new(
        Code::Refused,
        format!("the feed ended: {}", one_line(&note.why)),
        "A person makes a new token with `taskwarden control add NAME`.",
    )
}

fn needs_person(task: &ControlTask) -> ApiError {
    ApiError::new(
        Code::NeedsInput,
        format!("task `{}` waits for a person: {}", task.id, waiting(task.open_requests)),
        "Only a person answers, in the inbox. Watch it again after that.",
    )
}

fn print(task: &ControlTask, screen: &Screen) -> Result<(), ApiError> {
    if screen.is_json() {
        return screen.json_line(task);
    }
    let (label, tone) = phase(&task.phase);
    let colour = Style::new().fg_color(Some(tone.into()));
    screen.line(&format!("{:>9}  {colour}{label}{colour:#}", time::span_ms(task.elapsed_ms)));
    Ok(())
}
