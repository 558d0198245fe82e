//! One answer to many equal questions: same server, same tool, same form.
//!
//! Each answer is a decision of its own, recorded and delivered like any other; all are held back until the same moment, so
//! that all can be taken back. What may destroy something, or may ask for a secret, is answered one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use domain::task::input_request::standing_answer::{check_may_stand, form_digest};
use domain::task::input_request::{AnswerAction, InputRequest};
use domain::task::payload::Payload;
use domain::task::{AnswerInput, TaskHandle};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::inbox::answer::{AnswerChoice, checked};
use crate::error::{ApiError, Code};

/// Answers recorded at once; they share their commits. Judgement: a few commits' worth.
const AT_ONCE: usize = 64;

/// One question of a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneQuestion {
    pub id: String,
    pub key: String,
}

/// An answer to equal questions. Has no `Debug`: it carries content.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerMany {
    pub questions: Vec<OneQuestion>,
    pub action: AnswerChoice,
    /// Content of an accepted form.
    #[serde(default)]
    #[ts(optional, type = "object | null")]
    pub content: Option<Box<RawValue>>,
}

/// Answers to take back while they are held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoMany {
    pub questions: Vec<OneQuestion>,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ManyAnswered {
    /// Questions for which it was recorded.
    pub done: Vec<OneQuestion>,
    /// Those for which it was not, with the reason.
    pub left: Vec<NotAnswered>,
}

/// A question for which it was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotAnswered {
    pub id: String,
    pub key: String,
    pub why: String,
}

impl Api {
    /// Records one answer to each of these equal questions, held back so that it can be undone.
    ///
    /// # Errors
    /// When they are not equal, one of them may destroy something or asks for a secret, or the content does not fit. Then
    /// nothing is recorded.
    pub async fn answer_many(&self, caller: &Caller, input: AnswerMany) -> Result<ManyAnswered, ApiError> {
        let live = self.live()?;
        let found = self.equal_questions(&input.questions).await?;
        let action = match input.action {
            AnswerChoice::Accept => AnswerAction::Accept,
            AnswerChoice::Decline => AnswerAction::Decline,
            AnswerChoice::Dismiss => AnswerAction::Dismiss,
        };
        let content = match (action, found.first()) {
            (AnswerAction::Accept, Some((_, request))) => checked(request, input.content)?,
            (AnswerAction::Accept | AnswerAction::Decline | AnswerAction::Dismiss | AnswerAction::Forwarded, _) => None,
        };
        let content = content.map(|content| Payload::new(content.get()));
        let until = self.now().plus(self.policy.hold_back);
        let answers = found.into_iter().map(|(task, request)| {
            let input = AnswerInput {
                key: Some(request.key.clone()),
                action,
                content: content.clone(),
                by: caller.person.clone().into(),
                not_before: self.may_hold(&task, until).then_some(until),
            };
            async move {
                let recorded = live.engine.answer(task.id, input).await;
                (question(task.id, &request.key), recorded.map(|_| ()))
            }
        });
        Ok(gather(futures::stream::iter(answers).buffer_unordered(AT_ONCE).collect().await))
    }

    /// Takes back answers that are still held back.
    ///
    /// # Errors
    /// When no core runs.
    pub async fn undo_many(&self, caller: &Caller, input: UndoMany) -> Result<ManyAnswered, ApiError> {
        let live = self.live()?;
        self.check_count(input.questions.len())?;
        let undone = input.questions.into_iter().map(|one| async move {
            let Ok(id) = one.id.parse::<HandleId>() else { return (one, Err(engine::EngineError::UnknownHandle)) };
            let undone = live.engine.undo_answer(id, RequestKey::new(&one.key), caller.person.clone()).await;
            (one, undone)
        });
        Ok(gather(futures::stream::iter(undone).buffer_unordered(AT_ONCE).collect().await))
    }

    /// The questions, when one answer may fit them all.
    async fn equal_questions(
        &self,
        questions: &[OneQuestion],
    ) -> Result<Vec<(Arc<TaskHandle>, InputRequest)>, ApiError> {
        self.check_count(questions.len())?;
        let engine = &self.live()?.engine;
        let mut found = Vec::with_capacity(questions.len());
        for one in questions.iter().collect::<BTreeSet<_>>() {
            let task = Arc::new(self.find_task(&one.id).await?);
            let Some(request) = task.requests.get(&RequestKey::new(&one.key)).cloned() else {
                return Err(unequal("one of the questions is not there any more"));
            };
            let says = task.tool.as_deref().is_some_and(|tool| engine.says_destructive(task.server, tool));
            if let Err(why) = check_may_stand(&task, &request, Some(says)) {
                return Err(unequal(&why.to_string()));
            }
            found.push((task, request));
        }
        let form = |(task, request): &(Arc<TaskHandle>, InputRequest)| {
            (task.server, task.tool.clone(), form_digest(&request.ask))
        };
        let first = found.first().map(form);
        if found.iter().any(|one| Some(form(one)) != first) {
            return Err(unequal("the questions are not of one server, one tool and one form"));
        }
        Ok(found)
    }

    fn check_count(&self, count: usize) -> Result<(), ApiError> {
        let most = self.policy.asking.answers_at_once_max;
        if (1..=most).contains(&count) {
            return Ok(());
        }
        Err(ApiError::new(
            Code::Usage,
            format!("{count} questions cannot be answered at once; 1 to {most} can"),
            "Choose other questions.",
        ))
    }
}

fn question(id: HandleId, key: &RequestKey) -> OneQuestion {
    OneQuestion { id: id.to_string(), key: key.to_string() }
}

fn gather(all: Vec<(OneQuestion, Result<(), engine::EngineError>)>) -> ManyAnswered {
    let mut told = ManyAnswered { done: Vec::new(), left: Vec::new() };
    for (one, recorded) in all {
        match recorded {
            Ok(()) => told.done.push(one),
            Err(why) => told.left.push(NotAnswered { id: one.id, key: one.key, why: why.to_string() }),
        }
    }
    told.done.sort();
    told
}

fn unequal(why: &str) -> ApiError {
    ApiError::new(
        Code::Refused,
        format!("these questions cannot be answered together: {why}"),
        "Answer them one by one; nothing was sent.",
    )
}
