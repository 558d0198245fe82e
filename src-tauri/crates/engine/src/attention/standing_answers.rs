//! Answers questions that a person decided to answer in advance, before anybody is notified of them.
//!
//! Standing answers are user data of the kind `rule`, stored together with the audit row of the decision; what they fit is
//! decided in `domain::task::input_request::standing_answer`. An answer is recorded like a person's, names its rule and version, and is
//! delivered the same way. Ended ones stay, so that what they answered can be explained.

use std::collections::HashSet;
use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{HandleId, PersonId, RequestKey, ServerId, StandingAnswerId};
use domain::ports::{Registry, RegistryError, UserDataItem};
use domain::task::decider::Decider;
use domain::task::input_request::standing_answer::{
    NoStandingAnswer, StandingAnswer, check_may_stand, question_digest,
};
use domain::task::input_request::{AnswerAction, Ask, InputRequest, RequestState};
use domain::task::payload::{Payload, PayloadKind};
use domain::task::{AnswerInput, Refusal, TaskHandle};
use domain::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Their kind among the user data.
const KIND: &str = "rule";

/// The standing answers of this machine, ended ones among them.
pub(crate) struct StandingAnswers {
    all: RwLock<Arc<Vec<StandingAnswer>>>,
    /// One change at a time, so that a version is given once.
    changing: tokio::sync::Mutex<()>,
    /// Tasks whose server is being asked for its tools, or was: each once.
    unlisted: Mutex<HashSet<HandleId>>,
}

/// What is to be answered from now on.
pub struct RememberAnswer {
    /// The task that asks.
    pub task: HandleId,
    /// Which of its questions.
    pub key: RequestKey,
    /// The answer to an open question; `None` takes the one that a person gave.
    pub answer: Option<(AnswerAction, Option<Payload>)>,
    /// Who decides it.
    pub by: PersonId,
}

impl StandingAnswers {
    pub(crate) async fn read(registry: &dyn Registry) -> Result<Self, RegistryError> {
        let items = registry.desk_list(KIND).await?;
        // What another version wrote and this one does not understand answers nothing.
        let mut all: Vec<StandingAnswer> = items.iter().filter_map(decode).collect();
        all.sort_by_key(|standing| (standing.since, standing.id));
        Ok(Self {
            all: RwLock::new(Arc::new(all)),
            changing: tokio::sync::Mutex::default(),
            unlisted: Mutex::default(),
        })
    }

    fn all(&self) -> Arc<Vec<StandingAnswer>> {
        Arc::clone(&self.all.read())
    }

    /// Those that may answer something of this task.
    fn of(&self, task: &TaskHandle) -> Vec<StandingAnswer> {
        let all = self.all();
        let fits = |standing: &&StandingAnswer| {
            standing.ended.is_none() && standing.server == task.server && task.tool.as_deref() == Some(&*standing.tool)
        };
        all.iter().filter(fits).cloned().collect()
    }
}

impl Engine {
    /// All standing answers, ended ones among them, the oldest first.
    #[must_use]
    pub fn standing_answers(&self) -> Arc<Vec<StandingAnswer>> {
        self.core.standing.all()
    }

    /// Why this question cannot have a standing answer, if it cannot.
    #[must_use]
    pub fn no_standing_answer(&self, task: &TaskHandle, request: &InputRequest) -> Option<NoStandingAnswer> {
        check_may_stand(task, request, listed_destructive(&self.core, task)).err()
    }

    /// Answers this question by itself whenever it comes again. One that stands for it already gets a new version.
    ///
    /// # Errors
    /// When there is no such question, it cannot have a standing answer, or it cannot be recorded.
    pub async fn remember_answer(&self, input: RememberAnswer) -> Result<StandingAnswer, EngineError> {
        let RememberAnswer { task: id, key, answer, by } = input;
        let core = &self.core;
        let task = core.ledger.load(id).await?.ok_or(EngineError::UnknownHandle)?;
        let request = task.requests.get(&key).ok_or_else(|| Refusal::UnknownKey(key.clone()))?;
        if destructive(core, &task).is_none() {
            // They are asked for, because what destroys is never repeated.
            let _ = self.tools(task.server).await;
        }
        check_may_stand(&task, request, destructive(core, &task)).map_err(EngineError::NoStandingAnswer)?;
        let (action, content) = match answer {
            Some(answer) => answer,
            None => given(core, &task, request).await?,
        };
        match action {
            AnswerAction::Accept | AnswerAction::Decline => {}
            AnswerAction::Dismiss | AnswerAction::Forwarded => {
                return Err(EngineError::NoStandingAnswer(NoStandingAnswer::Action));
            }
        }
        let (Some(question), Some(tool), Ask::Form { message, .. }) =
            (question_digest(&request.ask), task.tool.clone(), &request.ask)
        else {
            return Err(EngineError::NoStandingAnswer(NoStandingAnswer::NotAForm));
        };
        let _one = core.standing.changing.lock().await;
        let all = core.standing.all();
        let active = all.iter().filter(|standing| standing.ended.is_none());
        let before = active.clone().find(|standing| standing.is_about(&task, request));
        let most = core.policy.asking.standing_answers_max;
        if before.is_none() && active.count() >= most {
            return Err(EngineError::TooManyStandingAnswers { most });
        }
        let standing = StandingAnswer {
            id: before.map_or_else(|| StandingAnswerId::from_random(core.time.random.bits()), |before| before.id),
            version: before.map_or(1, |before| before.version.saturating_add(1)),
            server: task.server,
            tool,
            question,
            message: message.clone(),
            action,
            content,
            by,
            since: core.time.now(),
            ended: None,
        };
        store(core, &standing, "answers from now on").await?;
        Ok(standing)
    }

    /// Ends a standing answer; people are asked again.
    ///
    /// # Errors
    /// When there is none of this id that stands, or it cannot be recorded.
    pub async fn end_standing_answer(&self, id: StandingAnswerId, by: PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let _one = core.standing.changing.lock().await;
        let all = core.standing.all();
        let standing = all.iter().find(|standing| standing.id == id && standing.ended.is_none());
        let ended = StandingAnswer {
            ended: Some((by, core.time.now())),
            ..standing.ok_or(EngineError::UnknownStandingAnswer)?.clone()
        };
        store(core, &ended, "ended").await
    }
}

/// Records a decision about a standing answer, and lets it hold.
async fn store(core: &EngineCore, standing: &StandingAnswer, what: &str) -> Result<(), EngineError> {
    let (by, at) = standing.ended.as_ref().map_or((&standing.by, standing.since), |(by, at)| (by, *at));
    let fact = AuditEvent {
        at,
        actor: Actor::Person(by.clone()),
        verb: Verb::RuleChanged,
        subject: Subject::Server(standing.server),
        note: format!(
            "rule {} version {} for {}: {} {what}",
            standing.id,
            standing.version,
            standing.tool,
            standing.action.word()
        ),
    };
    let key = standing.id.to_string();
    core.registry.desk_decide(KIND, &key, Some(encode(standing).to_string()), vec![fact]).await?;
    let mut all: Vec<StandingAnswer> =
        core.standing.all().iter().filter(|other| other.id != standing.id).cloned().collect();
    all.push(standing.clone());
    // As many ended ones stay as may stand; the oldest go, so that they never push out one that stands.
    let ended: Vec<StandingAnswerId> =
        all.iter().filter(|standing| standing.ended.is_some()).map(|standing| standing.id).collect();
    for old in ended.iter().take(ended.len().saturating_sub(core.policy.asking.standing_answers_max)) {
        core.registry.desk_put(KIND, &old.to_string(), None, at).await?;
        all.retain(|standing| standing.id != *old);
    }
    *core.standing.all.write() = Arc::new(all);
    Ok(())
}

/// The answer that a person gave to this question.
async fn given(
    core: &EngineCore,
    task: &TaskHandle,
    request: &InputRequest,
) -> Result<(AnswerAction, Option<Payload>), EngineError> {
    let answer = match &request.state {
        RequestState::Answered(answer) | RequestState::Confirmed(answer) if answer.by.person().is_some() => answer,
        RequestState::Answered(_)
        | RequestState::Confirmed(_)
        | RequestState::Open
        | RequestState::Withdrawn { .. } => return Err(Refusal::NothingAsked.into()),
    };
    let content = match answer.action {
        AnswerAction::Accept => {
            let kind = PayloadKind::Answer(request.key.clone());
            Some(core.registry.payload(task.id, kind).await?.ok_or(EngineError::AnswerNotKept)?)
        }
        AnswerAction::Decline | AnswerAction::Dismiss | AnswerAction::Forwarded => None,
    };
    Ok((answer.action, content))
}

/// What the server said of the task's tool when its tools were listed last: `None` while they are not known in this run.
fn listed_destructive(core: &EngineCore, task: &TaskHandle) -> Option<bool> {
    let connection = core.connections.shared(task.server)?;
    connection.known_tools()?;
    Some(connection.says_destructive(task.tool.as_deref()?))
}

/// The same, of a listing that was asked for after the task began: a tool may have become destructive since an earlier
/// one, and a server need not say so.
fn destructive(core: &EngineCore, task: &TaskHandle) -> Option<bool> {
    let asked = core.connections.shared(task.server)?.tools_asked()?;
    if asked < task.created {
        return None;
    }
    listed_destructive(core, task)
}

/// Records the standing answers to the open questions of a task. Whether nobody is needed for it any more is seen from
/// the task afterwards. False while the server's tools must be known first: then the task comes up again.
pub(crate) async fn answer(core: &Arc<EngineCore>, id: HandleId) -> bool {
    let Some(task) = core.ledger.held(id) else { return true };
    if core.gate.freezes(&task).is_some() {
        // Nobody answers while a halt freezes it, rules neither. Afterwards people see it in the inbox.
        return true;
    }
    let standing = core.standing.of(&task);
    let now = core.time.now();
    let meant: Vec<(&RequestKey, &StandingAnswer)> = task
        .requests
        .iter()
        .filter_map(|(key, request)| Some((key, standing.iter().find(|one| one.answers(&task, request, now))?)))
        .collect();
    if meant.is_empty() {
        return true;
    }
    let known = destructive(core, &task);
    if known.is_none() && core.standing.unlisted.lock().insert(id) {
        list_tools(core, id, task.server);
        return false;
    }
    core.standing.unlisted.lock().remove(&id);
    for (key, standing) in meant {
        let Some(request) = task.requests.get(key) else { continue };
        if let Err(why) = check_may_stand(&task, request, known) {
            tracing::info!(handle.id = %id, rule.id = %standing.id, %why, "a rule does not answer; people are asked");
            continue;
        }
        record(core, id, key, standing).await;
    }
    true
}

async fn record(core: &Arc<EngineCore>, id: HandleId, key: &RequestKey, standing: &StandingAnswer) {
    let input = AnswerInput {
        key: Some(key.clone()),
        action: standing.action,
        content: standing.content.clone(),
        by: Decider::Rule(standing.reference()),
        not_before: None,
    };
    let recorded = core.ledger.decide(id, |handle, now| {
        // It may have been ended, or the question shared or answered, since it was looked at.
        let stands =
            core.standing.all().iter().any(|one| one.ended.is_none() && one.reference() == standing.reference());
        let fits = handle.requests.get(key).is_some_and(|request| standing.answers(handle, request, now));
        if stands && fits { handle.answer(input.clone(), now) } else { Err(Refusal::NothingAsked) }
    });
    match recorded.await {
        Ok(_) => {
            tracing::info!(handle.id = %id, rule.id = %standing.id, rule.version = standing.version, "a rule answered")
        }
        Err(why) => {
            let why = EngineError::from(why);
            tracing::info!(handle.id = %id, rule.id = %standing.id, %why, "a rule could not answer; people are asked");
        }
    }
}

/// Asks the server for its tools and brings the task up again, whatever it says.
fn list_tools(core: &Arc<EngineCore>, id: HandleId, server: ServerId) {
    let engine = Engine { core: Arc::clone(core) };
    core.supervisor.spawn("tools of a rule", async move {
        // Without them nothing is known not to destroy: then people are asked.
        let _ = engine.tools(server).await;
        engine.core.effects.attention.push(id, domain::task::Attention::Waiting);
    });
}

fn encode(standing: &StandingAnswer) -> Value {
    json!({
        "version": standing.version,
        "server": standing.server.to_string(),
        "tool": &*standing.tool,
        "question": &*standing.question,
        "message": standing.message,
        "action": standing.action.word(),
        "content": standing.content.as_ref().map(Payload::as_str),
        "by": standing.by.as_str(),
        "since": standing.since.as_millis(),
        "ended": standing.ended.as_ref().map(|(by, at)| json!({ "by": by.as_str(), "at": at.as_millis() })),
    })
}

fn decode(item: &UserDataItem) -> Option<StandingAnswer> {
    let value: Value = serde_json::from_str(&item.value).ok()?;
    let text = |name: &str| value.get(name)?.as_str();
    let ended = match value.get("ended") {
        None | Some(Value::Null) => None,
        Some(ended) => {
            Some((PersonId::new(ended.get("by")?.as_str()?), Timestamp::from_millis(ended.get("at")?.as_i64()?)))
        }
    };
    Some(StandingAnswer {
        id: item.key.parse().ok()?,
        version: u32::try_from(value.get("version")?.as_u64()?).ok()?,
        server: text("server")?.parse().ok()?,
        tool: Arc::from(text("tool")?),
        question: Arc::from(text("question")?),
        message: text("message")?.to_owned(),
        action: AnswerAction::from_word(text("action")?)?,
        content: text("content").map(Payload::new),
        by: PersonId::new(text("by")?),
        since: Timestamp::from_millis(value.get("since")?.as_i64()?),
        ended,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_answer_reads_back_as_it_was_decided() {
        let standing = StandingAnswer {
            id: StandingAnswerId::from_random(3),
            version: 2,
            server: ServerId::from_random(4),
            tool: "deploy".into(),
            question: "d1".into(),
            message: "Deploy?".into(),
            action: AnswerAction::Accept,
            content: Some(Payload::new("{\"go\":true}")),
            by: PersonId::new("ada"),
            since: Timestamp::from_millis(70),
            ended: Some((PersonId::new("bob"), Timestamp::from_millis(80))),
        };
        let item = |value: String| UserDataItem { key: standing.id.to_string(), value, changed: Timestamp::EPOCH };
        assert_eq!(decode(&item(encode(&standing).to_string())), Some(standing.clone()));
        let declined = StandingAnswer { action: AnswerAction::Decline, content: None, ended: None, ..standing.clone() };
        assert_eq!(decode(&item(encode(&declined).to_string())), Some(declined));
        assert_eq!(decode(&item("{}".into())), None, "what cannot be read answers nothing");
    }
}
