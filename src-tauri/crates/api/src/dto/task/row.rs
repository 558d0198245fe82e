//! One row of the task list.
//!
//! Brief on purpose: hundreds of them are sent many times a second. Texts are capped and questions only counted. The whole
//! task is `task.rs`.

use domain::policy::{Policy, plain_text};
use domain::task::figures::CountedState;
use domain::task::status::{Outcome, Phase, PhaseGroup};
use domain::task::{ResultHold, TaskHandle};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::facts::{self, CancelStateDto, OverdueWhy, ProgressDto, UsualDto};
use crate::dto::pause::TaskPauseDto;
use crate::dto::task::TaskContext;
use crate::dto::words::Word;
use crate::dto::{HeldDto, TokensDto, iso, millis};

/// A task, briefly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow {
    /// Our handle of it.
    pub id: String,
    /// The name of its server.
    pub server: String,
    /// The name of the agent whose call it is.
    pub agent: Option<String>,
    /// Our id of that agent.
    pub agent_id: Option<String>,
    /// Since when its agent is gone; null while it is there.
    pub orphaned_at: Option<String>,
    /// Its result waits, or waited, for a person.
    pub held: Option<HeldDto>,
    /// The task during which it was started.
    pub parent_id: Option<String>,
    /// Which attempt of its job it is, from 1.
    pub attempt: u32,
    /// The tool, where known.
    pub tool: Option<String>,
    /// The one word for it.
    #[ts(type = "Phase")]
    pub phase: Word<Phase>,
    /// Who has to act.
    #[ts(type = "PhaseGroup")]
    pub group: Word<PhaseGroup>,
    /// Whether it is over.
    pub over: bool,
    /// The server's own word.
    pub status: Option<String>,
    /// The server's own sentence, its beginning.
    pub status_message: Option<String>,
    /// How far it is.
    pub progress: Option<ProgressDto>,
    /// When it was admitted here.
    pub created_at: String,
    /// When anything but contact last changed.
    pub changed_at: String,
    /// When nothing more was expected of it.
    pub ended_at: Option<String>,
    /// Time it waited for people so far, without a wait that goes on.
    pub paused_ms: u64,
    /// Since when it waits for a person.
    pub paused_since: Option<String>,
    /// How long it worked, without the time that it works since `worksSince`. Waiting for people and pauses are not counted.
    pub worked_ms: u64,
    /// Since when it works besides; null while it stands still, once contact with it ended and once it is over.
    pub works_since: Option<String>,
    /// That it stands still until a person ends a pause.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub paused: Option<TaskPauseDto>,
    /// When it was last heard of.
    pub last_seen_at: String,
    /// When it is looked at next.
    pub next_look_at: Option<String>,
    /// When the server may forget it.
    pub expires_at: Option<String>,
    /// When it should be finished.
    pub due_at: Option<String>,
    /// Why it is overdue, when the phase is `overdue`.
    #[ts(inline)]
    pub overdue_why: Option<OverdueWhy>,
    /// What this tool on this server usually takes.
    pub usual: Option<UsualDto>,
    /// Questions that wait for a person.
    pub open_requests: u32,
    /// How far a request to cancel it got.
    #[ts(
        type = "\"asked\" | \"acknowledged\" | \"stopped\" | \"endedHere\" | \"finishedAnyway\" | \"refused\" | null"
    )]
    pub stop_state: Option<CancelStateDto>,
    /// Size of its stored result.
    pub result_bytes: Option<u64>,
    /// Whether its tool reported an error.
    pub is_error: bool,
    /// What it costs its agent's window; null until it is counted.
    pub tokens: Option<TokensDto>,
    /// What keeps it from going on or its result from coming, in our words; left out while nothing does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional)]
    pub trouble: Option<String>,
    /// Its question, its error or the first line of its result, in the server's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[ts(optional = nullable)]
    pub says: Option<String>,
}

/// The hold on its result, where there is a result, one may still come, or a person decided about it.
fn shown_hold(task: &TaskHandle, over: bool) -> Option<&ResultHold> {
    let holds_something = task.is_held() && (!over || task.view.is_terminal());
    task.hold.as_ref().filter(|hold| hold.verdict.is_some() || holds_something)
}

impl TaskRow {
    pub(crate) fn of(task: &TaskHandle, beside: TaskContext, policy: &Policy) -> Self {
        let TaskContext { server, agent, next_poll, live, now } = beside;
        let phase = task.phase(now);
        let over = phase.is_over() || task.view.is_terminal();
        let seen = live.as_ref().map_or(task.contact.seen(), |facts| facts.seen.max(task.contact.seen()));
        let next_poll = live.as_ref().map_or(next_poll, |facts| facts.next_poll);
        let trouble = facts::trouble(task, facts::failing(task, over, live.as_ref()));
        let upstream = task.view.task();
        let work = task.work_time();
        let chars = policy.asking.row_text_chars;
        let (result_bytes, is_error) = match task.view.outcome() {
            Some(Outcome::Ok(stored)) => (Some(stored.bytes), false),
            Some(Outcome::ToolError(stored) | Outcome::FailedWithResult(stored)) => (Some(stored.bytes), true),
            Some(Outcome::Error(_) | Outcome::NotFetched | Outcome::Unavailable) | None => (None, false),
        };
        let open = task.requests.values().filter(|request| task.asks_people(request, now)).count();
        Self {
            id: task.id.to_string(),
            server,
            agent,
            agent_id: task.agent.map(|agent| agent.to_string()),
            orphaned_at: task.orphaned.map(iso),
            held: shown_hold(task, over).map(HeldDto::of),
            parent_id: task.parent.as_ref().map(|parent| parent.id.to_string()),
            attempt: task.attempt,
            tool: task.tool.as_deref().map(|tool| plain_text(tool, chars)),
            phase: phase.into(),
            group: CountedState::of(task, phase, now).group().into(),
            over,
            status: upstream.map(|known| plain_text(known.status.word(), chars)),
            status_message: upstream
                .and_then(|known| known.message.as_deref())
                .map(|message| plain_text(message, chars)),
            progress: task.progress.as_ref().map(|progress| ProgressDto {
                message: progress.message.as_deref().map(|message| plain_text(message, chars)),
                ..ProgressDto::of(progress)
            }),
            created_at: iso(task.created),
            changed_at: iso(task.changed),
            ended_at: task.ended_at().map(iso),
            paused_ms: task.paused_ms,
            paused_since: task.paused_since.map(iso),
            worked_ms: millis(work.so_far),
            works_since: work.works_since.filter(|_| !over).map(iso),
            paused: TaskPauseDto::of(task),
            last_seen_at: iso(seen),
            next_look_at: if over { None } else { next_poll.map(iso) },
            expires_at: upstream.and_then(|known| known.expires).map(iso),
            due_at: task.due.map(|due| iso(due.at)),
            overdue_why: facts::overdue_why(task, phase),
            usual: task.usual.map(UsualDto::of),
            open_requests: u32::try_from(open).unwrap_or(u32::MAX),
            stop_state: task.stop_state().map(CancelStateDto::from),
            result_bytes,
            is_error,
            tokens: task.tokens.map(TokensDto::from),
            trouble: trouble.map(|words| plain_text(&words, chars)),
            says: None,
        }
    }
}
