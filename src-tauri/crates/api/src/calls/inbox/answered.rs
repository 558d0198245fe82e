//! The history of answers: who answered what, when and through which door.
//!
//! It reads what tasks and the audit log keep and stores nothing of its own. What rules answer is `answer_rules.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use domain::audit::{AuditEvent, Subject, Verb};
use domain::ids::{HandleId, RequestKey};
use domain::policy::plain_text;
use domain::ports::InboxItem;
use domain::task::input_request::standing_answer::StandingAnswer;
use domain::task::input_request::{Ask, RequestState, secret_looking_fields};
use domain::task::payload::PayloadKind;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::inbox::answered::{AnsweredDto, AnsweredField, AnsweredList, RuleRefDto};
use crate::dto::inbox::request::DeliveryDto;
use crate::dto::{OriginDto, RequestDto, iso};
use crate::error::ApiError;
use crate::lookup::Names;

/// Which page of the answered questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListAnswered {
    /// Questions before the page; none when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub offset: Option<u64>,
    /// Questions on the page at most; a page of `asking.answered_page_rows` when left out.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub limit: Option<u32>,
}

impl Api {
    /// Answered questions, the last answered first.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn inbox_answered(&self, _caller: &Caller, input: ListAnswered) -> Result<AnsweredList, ApiError> {
        let offset = input.offset.unwrap_or(0);
        let most = self.policy.asking.answered_page_rows;
        let page = self.registry.answered(None, offset, input.limit.unwrap_or(most).min(most)).await?;
        let standing = self.engine().map(engine::Engine::standing_answers).unwrap_or_default();
        let mut names = self.names().await?;
        let mut facts: HashMap<HandleId, Vec<AuditEvent>> = HashMap::new();
        let mut items = Vec::with_capacity(page.items.len());
        for item in &page.items {
            let id = item.handle.id;
            if let std::collections::hash_map::Entry::Vacant(place) = facts.entry(id) {
                place.insert(self.facts_of(id).await?);
            }
            let origin = origin(facts.get(&id).map_or(&[], Vec::as_slice), &item.request.key);
            items.extend(self.answered_dto(item, origin, &standing, &mut names).await?);
        }
        Ok(AnsweredList { items, total: page.total, offset })
    }

    async fn answered_dto(
        &self,
        item: &InboxItem,
        origin: Option<OriginDto>,
        standing: &Arc<Vec<StandingAnswer>>,
        names: &mut Names,
    ) -> Result<Option<AnsweredDto>, ApiError> {
        let InboxItem { handle, request } = item;
        let (RequestState::Answered(answer) | RequestState::Confirmed(answer)) = &request.state else {
            return Ok(None);
        };
        let secrets = match &request.ask {
            Ask::Form { schema, .. } => secret_looking_fields(schema),
            Ask::Visit { .. } | Ask::Sampling | Ask::Roots | Ask::Unsupported(_) => Vec::new(),
        };
        let content = self.registry.payload(handle.id, PayloadKind::Answer(request.key.clone())).await?;
        let dto = RequestDto::of(request);
        let cap = self.policy.asking.answered_content_bytes;
        let fields = match &content {
            Some(content) => AnsweredField::all(content.as_str(), dto.schema.as_ref(), &secrets, cap),
            None => Vec::new(),
        };
        let rule = standing.iter().find(|rule| rule.ended.is_none() && rule.is_about(handle, request));
        let no_rule = self.engine().and_then(|engine| engine.no_standing_answer(handle, request));
        Ok(Some(AnsweredDto {
            task: handle.id.to_string(),
            key: request.key.to_string(),
            server: self.server_name(handle.server, names).await?,
            tool: handle.tool.as_deref().map(|tool| plain_text(tool, self.policy.asking.row_text_chars)),
            agent: match handle.agent {
                Some(agent) => Some(self.agent_name(agent, names).await?),
                None => None,
            },
            message: plain_text(&dto.message, self.policy.asking.row_text_chars),
            action: answer.action.into(),
            is_erased: content.is_none() && !secrets.is_empty() && dto.answer.is_some(),
            fields,
            by: match answer.by.agent() {
                Some(agent) => self.agent_name(agent, names).await?,
                None => answer.by.name(),
            },
            rule: answer.by.rule().map(RuleRefDto::from),
            at: iso(answer.at),
            origin: answer.by.person().and(origin),
            delivery: DeliveryDto::of(&answer.delivery),
            is_over: handle.is_over(),
            answered_by_rule: rule.map(|rule| rule.id.to_string()),
            no_rule: no_rule.map(|why| why.to_string()),
        }))
    }
}

/// How the last answer to this question came in.
fn origin(facts: &[AuditEvent], key: &RequestKey) -> Option<OriginDto> {
    let is_it = |fact: &&AuditEvent| {
        fact.verb == Verb::AnswerBegun && matches!(&fact.subject, Subject::Request(_, about) if about == key)
    };
    facts.iter().rev().find(is_it)?.origin().map(OriginDto::from)
}
