//! Answers a question: accept with content, decline, dismiss.
//!
//! Checks the content against the server's form before the engine records it, then waits a moment for the server's
//! acknowledgement, so that a person learns what became of it.

use domain::ids::RequestKey;
use domain::policy::plain_text;
use domain::task::input_request::form::{self, FormError};
use domain::task::input_request::{AnswerAction, Ask, InputRequest, RequestState};
use domain::task::payload::Payload;
use domain::task::{AnswerInput, QuestionRef, TaskHandle};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{RequestDto, TaskDto};
use crate::error::{ApiError, Code};
use crate::suggestion::did_you_mean;

/// Which of the three outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(rename = "Choice")]
pub enum AnswerChoice {
    /// Send the content, or consent to a visit.
    Accept,
    /// An explicit no.
    Decline,
    /// Dismissed without a choice.
    Dismiss,
}

/// An answer. Has no `Debug`: it carries content.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerRequest {
    pub id: String,
    /// Which question; may be left out when one is open.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub key: Option<String>,
    pub action: AnswerChoice,
    /// Content of an accepted form.
    #[serde(default)]
    #[ts(optional, type = "object | null")]
    pub content: Option<Box<RawValue>>,
    /// Hold it back for a few seconds, so that it can be undone; the call then returns at once.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub hold: bool,
}

/// An answer to take back while it is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoAnswer {
    pub id: String,
    pub key: String,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerGiven {
    pub id: String,
    /// The question as it stands now.
    pub request: RequestDto,
    /// Open questions of this task that remain.
    pub still_open: usize,
}

impl Api {
    /// Records an answer and waits a moment for its acknowledgement.
    ///
    /// # Errors
    /// When there is nothing to answer, somebody was faster, or the content does not fit the form.
    pub async fn answer(&self, caller: &Caller, input: AnswerRequest) -> Result<AnswerGiven, ApiError> {
        let live = self.live()?;
        let task = self.find_task(&input.id).await?;
        let task = self.where_stored(task, input.key.as_deref()).await?;
        let content = match (input.action, pick(&task, input.key.as_deref())) {
            (AnswerChoice::Accept, Some(request)) => checked(request, input.content)?,
            // Which refusal it is, is the domain's to say.
            (AnswerChoice::Accept, None) => input.content,
            (AnswerChoice::Decline | AnswerChoice::Dismiss, _) => None,
        };
        let answer = AnswerInput {
            key: input.key.map(RequestKey::new),
            action: match input.action {
                AnswerChoice::Accept => AnswerAction::Accept,
                AnswerChoice::Decline => AnswerAction::Decline,
                AnswerChoice::Dismiss => AnswerAction::Dismiss,
            },
            content: content.map(|content| Payload::new(content.get())),
            by: caller.person.clone().into(),
            not_before: input.hold.then(|| self.held_until(&task)).flatten(),
        };
        let is_held = answer.not_before.is_some();
        let since = self.registry.newest_seq().await?;
        let key = live.engine.answer(task.id, answer).await?;
        let mut last = task;
        self.settle(&[last.id], since, self.policy.reply_limit, |seen| {
            // Held back, it is as it stands now: nothing is to be awaited.
            let settled = is_held
                || is_settled(seen, &key)
                || seen.phase(self.now()).is_over()
                || self.is_out_of_reach(seen.server);
            last = seen.clone();
            settled
        })
        .await?;
        let request = last
            .requests
            .get(&key)
            .map(|request| RequestDto::of_task(&last, request))
            .ok_or(engine::EngineError::UnknownHandle)?;
        let still_open = last.requests.values().filter(|request| request.state.is_open()).count();
        Ok(AnswerGiven { id: last.id.to_string(), request, still_open })
    }

    /// The task that stores the question which is meant: another one where it may be asked by several.
    async fn where_stored(&self, task: TaskHandle, key: Option<&str>) -> Result<TaskHandle, ApiError> {
        let own = match key {
            Some(key) => task.requests.contains_key(&RequestKey::new(key)),
            None => task.requests.values().any(|request| request.state.is_open()),
        };
        let means = |question: &&QuestionRef| key.is_none_or(|key| question.key.as_str() == key);
        let mut elsewhere = task.shared.elsewhere.iter().filter(means);
        match (own, elsewhere.next(), elsewhere.next()) {
            (false, Some(only), None) => Ok(self.registry.handle(only.task).await?.unwrap_or(task)),
            (true, ..) | (false, None, _) | (false, Some(_), Some(_)) => Ok(task),
        }
    }

    /// Takes back an answer that is still held back.
    ///
    /// # Errors
    /// When there is no such answer, or it is on its way.
    pub async fn undo_answer(&self, caller: &Caller, input: UndoAnswer) -> Result<TaskDto, ApiError> {
        let live = self.live()?;
        let id = self.find_task(&input.id).await?.id;
        live.engine.undo_answer(id, RequestKey::new(input.key), caller.person.clone()).await?;
        self.task_show_id(id).await
    }

    /// Until when an answer may be held back; `None` when the server would forget the task meanwhile.
    fn held_until(&self, task: &TaskHandle) -> Option<Timestamp> {
        let until = self.now().plus(self.policy.hold_back);
        self.may_hold(task, until).then_some(until)
    }

    /// Whether an answer to this task may be held back until then.
    pub(super) fn may_hold(&self, task: &TaskHandle, until: Timestamp) -> bool {
        // As long again is left for the way to the server.
        let sure = until.plus(self.policy.hold_back);
        let expires = task.view.task().and_then(|known| known.expires);
        expires.is_none_or(|at| at > sure)
    }
}

/// Nothing more is to be awaited: it was acknowledged or refused, or it leaves only with the other answers of its round.
fn is_settled(task: &TaskHandle, key: &RequestKey) -> bool {
    match task.requests.get(key).map(|request| &request.state) {
        Some(RequestState::Answered(answered)) => {
            !answered.delivery.is_pending()
                || matches!(task.view, domain::task::status::ServerView::Asking { .. })
                    && task.requests.values().any(|request| request.state.is_open())
        }
        Some(RequestState::Open | RequestState::Confirmed(_) | RequestState::Withdrawn { .. }) | None => true,
    }
}

/// The question that is meant, when it is clear.
fn pick<'a>(task: &'a TaskHandle, key: Option<&str>) -> Option<&'a InputRequest> {
    if let Some(key) = key {
        return task.requests.get(&RequestKey::new(key)).filter(|request| request.state.is_open());
    }
    let mut open = task.requests.values().filter(|request| request.state.is_open());
    let first = open.next();
    if open.next().is_some() { None } else { first }
}

/// Content that fits what was asked.
pub(super) fn checked(
    request: &InputRequest,
    content: Option<Box<RawValue>>,
) -> Result<Option<Box<RawValue>>, ApiError> {
    match &request.ask {
        Ask::Form { schema, .. } => {
            let content = match content {
                Some(content) => content,
                None => RawValue::from_string("{}".into()).map_err(|error| ApiError::unwritable(&error))?,
            };
            let value: Value = serde_json::from_str(content.get()).map_err(|error| ApiError::bad_input(&error))?;
            form::check(schema, &value).map_err(|broken| misfit(schema, &broken))?;
            Ok(Some(content))
        }
        Ask::Visit { .. } => Ok(None),
        Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => Ok(content),
    }
}

/// Fields that are named to somebody whose answer does not fit. Judgement: about two lines.
const FIELDS_NAMED: usize = 10;

/// Characters of a name of a field that are repeated. Judgement: longer names are no names.
const NAME_SHOWN: usize = 80;

fn misfit(schema: &Value, broken: &FormError) -> ApiError {
    let fields = || {
        // Those that an answer needs come first.
        let (needed, others): (Vec<_>, Vec<_>) = form::fields(schema).into_iter().partition(|field| field.required);
        let count = needed.len() + others.len();
        let named = needed.into_iter().chain(others).take(FIELDS_NAMED).map(|field| {
            let name = plain_text(&field.name, NAME_SHOWN);
            if field.required { format!("`{name}` (required)") } else { format!("`{name}`") }
        });
        let mut names = named.collect::<Vec<_>>().join(", ");
        if count > FIELDS_NAMED {
            names += &format!(" and {} more, which `taskwarden tasks show` lists", count - FIELDS_NAMED);
        }
        format!("The form has {names}. Nothing was sent.")
    };
    let hint = match broken {
        FormError::Unknown { field, known } => {
            did_you_mean(field, known.iter().map(String::as_str)).unwrap_or_else(fields)
        }
        FormError::NotAnObject | FormError::Missing { .. } | FormError::Breaks { .. } => fields(),
    };
    ApiError::new(Code::Refused, broken.to_string(), hint)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn an_answer_that_does_not_fit_names_some_fields_of_a_long_form_and_how_many_more_there_are() {
        let properties: Map<String, Value> =
            (0..500).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
        let schema = json!({"properties": properties, "required": ["f499"]});
        let hint = misfit(&schema, &form::check(&schema, &json!({"f0": "x"})).expect_err("one is missing")).hint;
        assert!(hint.contains("`f499` (required)") && hint.contains("`f0`"), "{hint}");
        assert!(hint.contains("and 490 more") && hint.len() < 300, "{hint}");
        let short = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        let hint = misfit(&short, &FormError::NotAnObject).hint;
        assert_eq!(hint, "The form has `a` (required). Nothing was sent.");
    }
}
