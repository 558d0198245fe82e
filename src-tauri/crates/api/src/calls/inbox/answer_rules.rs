//! Rules that answer: what a person decided to answer whenever a question comes again.
//!
//! Only people make and end them; the engine applies them (`attention/standing_answers.rs`) and says what cannot have one.

use domain::ids::{RequestKey, StandingAnswerId};
use domain::policy::plain_text;
use domain::task::decider::Decider;
use domain::task::input_request::standing_answer::{StandingAnswer, StandingAnswerRef};
use domain::task::input_request::{AnswerAction, RequestState};
use domain::task::payload::Payload;
use engine::RememberAnswer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::calls::inbox::answer::{AnswerChoice, checked};
use crate::dto::inbox::answered::{AnswerRuleDto, AnswerRuleList, AnsweredField};
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};

/// An answer to repeat. Has no `Debug`: it carries content.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RememberRequest {
    pub id: String,
    pub key: String,
    /// What to answer; left out, what a person answered to this question.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub action: Option<AnswerChoice>,
    /// Content of an accepted form.
    #[serde(default)]
    #[ts(optional, type = "object | null")]
    pub content: Option<Box<RawValue>>,
}

/// A rule to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneAnswerRule {
    /// Its id, `ans_…`.
    pub rule: String,
}

impl Api {
    /// Rules that answer, and those that were ended.
    ///
    /// # Errors
    /// When no core runs, or the registry cannot be read.
    pub async fn answer_rules(&self, _caller: &Caller, _input: Nothing) -> Result<AnswerRuleList, ApiError> {
        self.all_answer_rules().await
    }

    /// Answers this question by itself from now on.
    ///
    /// # Errors
    /// When there is no such question, it cannot have a rule, or the answer does not fit its form.
    pub async fn remember_answer(&self, caller: &Caller, input: RememberRequest) -> Result<AnswerRuleList, ApiError> {
        let live = self.live()?;
        let task = self.find_task(&input.id).await?;
        let key = RequestKey::new(input.key);
        let answer = match input.action {
            None => None,
            Some(AnswerChoice::Accept) => {
                let open =
                    task.requests.get(&key).filter(|request| !matches!(request.state, RequestState::Withdrawn { .. }));
                let content = match open {
                    Some(request) => checked(request, input.content)?,
                    None => input.content,
                };
                Some((AnswerAction::Accept, content.map(|content| Payload::new(content.get()))))
            }
            Some(AnswerChoice::Decline) => Some((AnswerAction::Decline, None)),
            Some(AnswerChoice::Dismiss) => Some((AnswerAction::Dismiss, None)),
        };
        let remember = RememberAnswer { task: task.id, key, answer, by: caller.person.clone() };
        live.engine.remember_answer(remember).await?;
        self.all_answer_rules().await
    }

    /// Ends a rule; people are asked again.
    ///
    /// # Errors
    /// When there is none of this id that answers.
    pub async fn end_answer_rule(&self, caller: &Caller, input: OneAnswerRule) -> Result<AnswerRuleList, ApiError> {
        let live = self.live()?;
        let id: StandingAnswerId = input.rule.parse().map_err(|_| {
            ApiError::new(
                Code::NotFound,
                format!("there is no rule `{}`", short(&input.rule)),
                "`taskwarden inbox rules` lists the rules that answer.",
            )
        })?;
        live.engine.end_standing_answer(id, caller.person.clone()).await?;
        self.all_answer_rules().await
    }

    async fn all_answer_rules(&self) -> Result<AnswerRuleList, ApiError> {
        let all = self.live()?.engine.standing_answers();
        let mut names = self.names().await?;
        let mut rules = Vec::with_capacity(all.len());
        for standing in all.iter() {
            rules.push(self.answer_rule_dto(standing, &mut names).await?);
        }
        rules.sort_by_key(|rule| rule.ended_at.is_some());
        Ok(AnswerRuleList { rules })
    }

    async fn answer_rule_dto(&self, standing: &StandingAnswer, names: &mut Names) -> Result<AnswerRuleDto, ApiError> {
        let (mut applied, mut applied_at) = (0_u64, None);
        for version in 1..=standing.version {
            let by = Decider::Rule(StandingAnswerRef { id: standing.id, version });
            let page = self.registry.answered(Some(by), 0, 1).await?;
            applied = applied.saturating_add(page.total);
            let last = page.items.first().and_then(|item| match &item.request.state {
                RequestState::Answered(answer) | RequestState::Confirmed(answer) => Some(answer.at),
                RequestState::Open | RequestState::Withdrawn { .. } => None,
            });
            applied_at = applied_at.max(last);
        }
        let cap = self.policy.asking.answered_content_bytes;
        let content = standing.content.as_ref().map_or("{}", Payload::as_str);
        Ok(AnswerRuleDto {
            id: standing.id.to_string(),
            version: standing.version,
            server: self.server_name(standing.server, names).await?,
            tool: standing.tool.to_string(),
            question: plain_text(&standing.message, self.policy.asking.row_text_chars),
            action: standing.action.into(),
            fields: AnsweredField::all(content, None, &[], cap),
            by: standing.by.to_string(),
            since: iso(standing.since),
            applied,
            applied_at: applied_at.map(iso),
            ended_by: standing.ended.as_ref().map(|(by, _)| by.to_string()),
            ended_at: standing.ended.as_ref().map(|(_, at)| iso(*at)),
        })
    }
}
