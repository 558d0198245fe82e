//! Tells a 2025-11-25 session about one of its tasks, from the handle to the end.
//!
//! On the standing stream go progress (with the token of the original call), `notifications/tasks/status` and, when
//! no `tasks/result` takes it, the task's question: at once on stdio, after a while over HTTP. All of it is a
//! courtesy: a session without a standing stream misses it and polls.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::desk::{Ask, Job, Question, Stage};
use super::super::session::{Door, Session};
use super::follow::Follower;
use super::hold::Teller;
use super::modern::members;
use super::{Inner, ask, wire};

/// Follows `job` for `session` until it ends.
pub(super) fn send(front: &Arc<Inner>, session: &Arc<Session>, job: Arc<dyn Job>, token: Option<Value>) {
    let scope = session.scope().clone();
    scope.spawn("task news", news(front.clone(), session.clone(), job.clone(), token));
    scope.spawn("task questions", questions(front.clone(), session.clone(), job));
}

async fn news(front: Arc<Inner>, session: Arc<Session>, job: Arc<dyn Job>, token: Option<Value>) {
    let mut follower = Follower::of(&*job, front.limits.push_rest);
    let mut teller = Teller::new(token);
    let mut visits: Vec<Question> = Vec::new();
    let mut told = None;
    loop {
        let sheet = job.sheet();
        let over = sheet.stage.is_over();
        for question in &sheet.questions {
            let known = visits.iter().any(|visit| visit.key == question.key);
            if !known && matches!(question.ask, Ask::Visit { .. }) {
                visits.push(question.clone());
            }
        }
        if let Some(mut progress) = teller.news(&sheet).filter(|_| !over) {
            if let Some(params) = progress.as_object_mut() {
                params.insert("_meta".to_owned(), wire::related(job.id()));
            }
            drop(session.notify("notifications/progress", &progress).await);
        }
        let task = wire::legacy_task(job.id(), &sheet);
        if told.as_ref() != Some(&task) {
            drop(session.notify("notifications/tasks/status", &Value::Object(task.clone())).await);
            told = Some(task);
        }
        if over {
            if let Stage::Done(_) = sheet.stage {
                for visit in &visits {
                    let params = json!({"elicitationId": wire::elicitation_id(job.id(), visit), "_meta": wire::related(job.id())});
                    drop(session.notify("notifications/elicitation/complete", &Value::Object(members(params))).await);
                }
            }
            return;
        }
        if !follower.changed().await {
            return;
        }
    }
}

async fn questions(front: Arc<Inner>, session: Arc<Session>, job: Arc<dyn Job>) {
    let mut pulse = job.pulse();
    loop {
        if pulse.wait_for(|_| job.sheet().stage != Stage::Working).await.is_err() || job.sheet().stage.is_over() {
            return;
        }
        tokio::select! {
            () = ask_one(&front, &session, &*job) => {}
            _ = pulse.wait_for(|_| job.sheet().stage.is_over()) => return,
        }
    }
}

/// Asks one open question that nobody else asks, or waits until there might be one.
async fn ask_one(front: &Inner, session: &Session, job: &dyn Job) {
    if session.door() == Door::Http {
        // A `tasks/result` is the better stream; it has this long to come.
        tokio::time::sleep(front.limits.question_patience).await;
    }
    session.reachable().await;
    let (freed, mut pulse) = (front.claims.freed(), job.pulse());
    let claimed = job.sheet().questions.into_iter().find_map(|question| {
        let claim = front.claims.take(job.id(), &question.key)?;
        Some((claim, question))
    });
    let Some((_claim, question)) = claimed else {
        tokio::select! {
            () = freed => {}
            // A job that is gone is seen by the caller.
            _ = pulse.changed() => {}
        }
        return;
    };
    let params = wire::legacy_elicitation(job.id(), &question, session.version(), Some(job.id()));
    if !ask::settle(job, &question.key, session.ask("elicitation/create", &params)).await {
        // The stream was lost, or has too many questions: the question stays open for a later round.
        tokio::time::sleep(front.limits.question_patience).await;
    }
}
