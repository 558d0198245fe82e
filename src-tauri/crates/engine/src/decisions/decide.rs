//! What people and agents decide about a task: recorded first, delivered after.
//!
//! Each decision is one commit that either wins or is refused by the state of the task; its delivery follows from the
//! registry (`deliver.rs`). Nothing is sent here, and nothing here waits for a server.

use std::sync::Arc;

use domain::ids::{AgentId, HandleId, PersonId, RequestKey};
use domain::rule::LimitKind;
use domain::task::decider::Decider;
use domain::task::{AnswerInput, MoreTime, Refusal, ResultForm, TaskHandle, Transition};
use domain::time::Timestamp;

use crate::core::{EngineCore, then};
use crate::engine::Engine;
use crate::error::{EngineError, LedgerError};
use crate::servers::open_connection;

impl Engine {
    /// Records an answer, of which the first one wins; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when there is nothing to answer or somebody was faster, or that a halt freezes the questions.
    pub async fn answer(&self, id: HandleId, input: AnswerInput) -> Result<RequestKey, EngineError> {
        if let Some(frozen) = self.core.ledger.held(id).and_then(|handle| self.core.gate.freezes(&handle)) {
            return Err(EngineError::Frozen(frozen));
        }
        let recorded = record(&self.core, id, |handle, now| handle.answer(input.clone(), now)).await;
        if let Err(EngineError::Refused(refusal @ (Refusal::AlreadyAnswered { .. } | Refusal::DoesNotFit { .. }))) =
            &recorded
        {
            self.note_refused_answer(id, &input, refusal).await;
        }
        recorded
    }

    /// The task says that somebody's answer came too late, or did not fit the form.
    async fn note_refused_answer(&self, id: HandleId, input: &AnswerInput, refusal: &Refusal) {
        let noted = self.core.ledger.apply(id, |handle, now| match (refusal, &input.key) {
            (Refusal::AlreadyAnswered { .. }, Some(key)) => handle.answered_late(key, &input.by, now),
            (Refusal::DoesNotFit { key, broken }, _) => handle.answer_unfit(key, &input.by, broken, now),
            _ => Transition::none(handle),
        });
        if let Err(LedgerError::Registry(error)) = noted.await {
            tracing::debug!(handle.id = %id, %error, "that an answer was refused could not be noted");
        }
    }

    /// The agent has no answer to this question: from now on people are asked instead of it, if they are ever asked.
    ///
    /// # Errors
    /// When the task is unknown or the registry cannot be written.
    pub async fn ask_people_now(&self, id: HandleId, key: &RequestKey) -> Result<(), EngineError> {
        self.decide(id, |handle, now| Ok(handle.ask_people_now(key, now))).await
    }

    /// Takes back an answer that was not sent yet.
    ///
    /// # Errors
    /// A refusal when it already left.
    pub async fn undo_answer(&self, id: HandleId, key: RequestKey, by: PersonId) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.undo_answer(&key, &by, now)).await
    }

    /// Records a cancel request; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when the task is over or a cancel was asked for before.
    pub async fn cancel(
        &self,
        id: HandleId,
        by: impl Into<Decider>,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let by = by.into();
        let recorded = self.decide(id, |handle, now| handle.cancel(&by, reason.as_deref(), now)).await;
        match (recorded, &by) {
            // It has no row because it cannot be recorded: it is cancelled from memory.
            (Err(EngineError::UnknownHandle), Decider::Person(person))
                if self.core.calls.unrecorded.cancel(id, person) =>
            {
                Ok(())
            }
            (outcome, _) => outcome,
        }
    }

    /// Cancels a task for its agent at once and asks its server to cancel it (2025 `tasks/cancel`), in one commit. A cancel
    /// that was asked for before stays as it is.
    ///
    /// # Errors
    /// A refusal when it is over.
    pub async fn agent_told_cancelled(&self, id: HandleId, by: AgentId) -> Result<(), EngineError> {
        let by = Decider::Agent(by);
        self.decide(id, |handle, now| match handle.cancel(&by, None, now) {
            Ok(asked) => Ok(then(asked, |next| next.agent_told_cancelled(now))),
            Err(Refusal::AlreadyAsked { .. }) => Ok(handle.agent_told_cancelled(now)),
            Err(refusal) => Err(refusal),
        })
        .await
    }

    /// Takes the handle from its agent and asks the server to cancel.
    ///
    /// # Errors
    /// A refusal when it was revoked before.
    pub async fn revoke(
        &self,
        id: HandleId,
        by: impl Into<Decider>,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let by = by.into();
        self.decide(id, |handle, now| handle.revoke(&by, reason.as_deref(), now)).await
    }

    /// Stops watching a task; nothing is asked of its server. A task that is lost, expired or unconfirmed is marked as
    /// resolved by it.
    ///
    /// # Errors
    /// A refusal when the server said how it ended, or while a cancel is on its way to the server.
    pub async fn unwatch(&self, id: HandleId, by: PersonId, note: Option<String>) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.unwatch(&by, note.as_deref(), now)).await
    }

    /// Holds the result of a task back from its agent until a person decides.
    ///
    /// # Errors
    /// A refusal when it is over, held or decided already, or no agent waits for it.
    pub async fn hold(&self, id: HandleId, by: PersonId) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.hold(&by, now)).await
    }

    /// Lets a held result go to its agent in this form, or withholds it for good (`None`).
    ///
    /// # Errors
    /// A refusal when it is not held, or somebody decided before.
    pub async fn release(
        &self,
        id: HandleId,
        by: PersonId,
        form: Option<ResultForm>,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.release(&by, form, reason.as_deref(), now)).await
    }

    /// Lets a task go on past its limit of tokens.
    ///
    /// # Errors
    /// A refusal when nobody was asked, or somebody decided before.
    pub async fn let_go_on(&self, id: HandleId, by: PersonId) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.let_go_on(&by, now)).await
    }

    /// Allows a task more time than its limit, or removes the limit from it.
    ///
    /// # Errors
    /// A refusal when the task is over, or it has no such limit any more.
    pub async fn allow_time(
        &self,
        id: HandleId,
        kind: LimitKind,
        more: MoreTime,
        by: PersonId,
    ) -> Result<(), EngineError> {
        self.decide(id, |handle, now| handle.allow_time(kind, more, &by, now)).await
    }

    pub(super) async fn decide(
        &self,
        id: HandleId,
        mut decide: impl FnMut(&TaskHandle, Timestamp) -> Result<Transition, Refusal>,
    ) -> Result<(), EngineError> {
        record(&self.core, id, |handle, now| decide(handle, now).map(|step| (step, ()))).await
    }
}

pub(crate) async fn record<T>(
    core: &Arc<EngineCore>,
    id: HandleId,
    decide: impl FnMut(&TaskHandle, Timestamp) -> Result<(Transition, T), Refusal>,
) -> Result<T, EngineError> {
    let (_, said) = core.ledger.decide(id, decide).await?;
    // Somebody did something for a server: when it is not connected, that is tried now and not after the back-off.
    let connection = core.ledger.held(id).and_then(|handle| open_connection::reopen(core, &handle));
    if let Some(connection) = connection {
        connection.connect_unless_open();
    }
    Ok(said)
}
