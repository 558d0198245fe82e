//! Notifies a 2025-11-25 session about one of its tasks, until the task ends.
//!
//! The session's own stream gets progress (with the token of the original call), `notifications/tasks/status`, and the
//! task's question when no `tasks/result` asks it: at once on stdio, after a delay over HTTP. A session without a
//! stream misses all of it and polls.

use std::sync::Arc;

use serde_json::{Value, json};

use super::blocking_call::ProgressReporter;
use super::dialect_json::object;
use super::job_watch::JobWatch;
use super::state::ScriptState;
use super::{dialect_json, elicitation};
use crate::script_server::script::{Elicitation, JobStage, Question, ScriptJob};
use mcp::server::{Session, SessionTransport};

/// Sends updates about `job` to `session` until the job ends.
pub(super) fn send(state: &Arc<ScriptState>, session: &Arc<Session>, job: Arc<dyn ScriptJob>, token: Option<Value>) {
    let scope = session.scope().clone();
    scope.spawn("task news", news(state.clone(), session.clone(), job.clone(), token));
    scope.spawn("task questions", questions(state.clone(), session.clone(), job));
}

async fn news(state: Arc<ScriptState>, session: Arc<Session>, job: Arc<dyn ScriptJob>, token: Option<Value>) {
    let mut watch = JobWatch::of(&*job, state.limits.push_rest);
    let mut reporter = ProgressReporter::new(token);
    let mut visits: Vec<Question> = Vec::new();
    let mut told = None;
    loop {
        let snapshot = job.snapshot();
        let over = snapshot.stage.is_over();
        for question in &snapshot.questions {
            let known = visits.iter().any(|visit| visit.key == question.key);
            if !known && matches!(question.ask, Elicitation::Visit { .. }) {
                visits.push(question.clone());
            }
        }
        if let Some(mut progress) = reporter.news(&snapshot).filter(|_| !over) {
            if let Some(params) = progress.as_object_mut() {
                params.insert("_meta".to_owned(), dialect_json::related(job.id()));
            }
            drop(session.notify("notifications/progress", &progress).await);
        }
        let task = dialect_json::legacy_task(job.id(), &snapshot);
        if told.as_ref() != Some(&task) {
            drop(session.notify("notifications/tasks/status", &Value::Object(task.clone())).await);
            told = Some(task);
        }
        if over {
            if let JobStage::Done(_) = snapshot.stage {
                for visit in &visits {
                    let params = json!({"elicitationId": dialect_json::elicitation_id(job.id(), visit), "_meta": dialect_json::related(job.id())});
                    drop(session.notify("notifications/elicitation/complete", &Value::Object(object(params))).await);
                }
            }
            return;
        }
        if !watch.changed().await {
            return;
        }
    }
}

async fn questions(state: Arc<ScriptState>, session: Arc<Session>, job: Arc<dyn ScriptJob>) {
    let mut revision = job.revision();
    loop {
        if revision.wait_for(|_| job.snapshot().stage != JobStage::Working).await.is_err()
            || job.snapshot().stage.is_over()
        {
            return;
        }
        tokio::select! {
            () = ask_one(&state, &session, &*job) => {}
            _ = revision.wait_for(|_| job.snapshot().stage.is_over()) => return,
        }
    }
}

/// Asks one open question that nobody else asks, or waits until there might be one.
async fn ask_one(state: &ScriptState, session: &Session, job: &dyn ScriptJob) {
    if session.door() == SessionTransport::Http {
        // A `tasks/result` is the better stream; it has this long to come.
        tokio::time::sleep(state.limits.question_patience).await;
    }
    session.reachable().await;
    let (freed, mut revision) = (state.claims.freed(), job.revision());
    let claimed = job.snapshot().questions.into_iter().find_map(|question| {
        let claim = state.claims.take(job.id(), &question.key)?;
        Some((claim, question))
    });
    let Some((_claim, question)) = claimed else {
        tokio::select! {
            () = freed => {}
            // A job that is gone is seen by the caller.
            _ = revision.changed() => {}
        }
        return;
    };
    let params = dialect_json::legacy_elicitation(job.id(), &question, session.version(), Some(job.id()));
    if !elicitation::settle(job, &question.key, session.ask("elicitation/create", &params)).await {
        // The stream was lost, or has too many questions: the question stays open for a later round.
        tokio::time::sleep(state.limits.question_patience).await;
    }
}
