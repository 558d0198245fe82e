//! Holds a call whose client gets no handle: it waits, hears progress, and answers questions on the way.
//!
//! When the client gives the call up, the future is dropped and the work is asked to stop. A modern client's question
//! parks the call until its retry; an older session is asked on the call's own stream.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::desk::{Job, Reply, Sheet, Stage};
use super::super::fault::{Fault, FaultKind};
use super::super::seat::Seat;
use super::super::session::Session;
use super::follow::Follower;
use super::modern::members;
use super::{Inner, ask, wire};

/// Asks the work to stop unless it was let go on purpose.
struct Hold(Option<Arc<dyn Job>>);

impl Hold {
    fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.ask_stop();
        }
    }
}

/// Says progress on the call's stream, each state once and only when it grew.
pub(super) struct Teller {
    token: Option<Value>,
    told: Option<f64>,
}

impl Teller {
    pub(super) const fn new(token: Option<Value>) -> Self {
        Self { token, told: None }
    }

    /// What is to be said now, if anything.
    pub(super) fn news(&mut self, sheet: &Sheet) -> Option<Value> {
        let (Some(token), Some(progress)) = (&self.token, sheet.progress) else { return None };
        if self.told.is_some_and(|told| progress.done <= told) {
            return None;
        }
        self.told = Some(progress.done);
        Some(wire::progress(token, progress, sheet.message.as_deref()))
    }
}

/// Holds a modern call.
pub(super) async fn modern(
    front: &Inner,
    job: Arc<dyn Job>,
    tool: &'static str,
    arguments: Map<String, Value>,
    token: Option<Value>,
    seat: Seat,
) -> Result<Value, Fault> {
    let mut hold = Hold(Some(job.clone()));
    let mut follower = Follower::of(&*job, front.limits.push_rest);
    let mut teller = Teller::new(token);
    loop {
        let sheet = job.sheet();
        match &sheet.stage {
            Stage::Working => {}
            Stage::Asking => {
                hold.release();
                let state = front.parked.park(job, tool, arguments)?;
                let input = json!({"inputRequests": wire::input_requests(&sheet.questions), "requestState": state});
                return Ok(wire::modern_result("input_required", members(input), &front.desk.card()));
            }
            Stage::Done(result) => return Ok(wire::modern_tool_result(result, &front.desk.card())),
            Stage::Failed(fault) => return Err(fault.clone()),
            Stage::Cancelled => return Err(stopped()),
        }
        if let Some(news) = teller.news(&sheet) {
            // A client that is gone has dropped this future, or will.
            drop(seat.notify("notifications/progress", &news).await);
        }
        if !follower.changed().await {
            return Err(stopped());
        }
    }
}

/// Holds a call of an older session.
pub(super) async fn legacy(
    front: &Inner,
    session: &Session,
    job: Arc<dyn Job>,
    token: Option<Value>,
    seat: Seat,
) -> Result<Value, Fault> {
    let _hold = Hold(Some(job.clone()));
    let mut follower = Follower::of(&*job, front.limits.push_rest);
    let mut teller = Teller::new(token);
    loop {
        let sheet = job.sheet();
        if let Some(ended) = outcome(&sheet.stage) {
            return ended;
        }
        if let Some(news) = teller.news(&sheet) {
            drop(seat.notify("notifications/progress", &news).await);
        }
        if let Some(question) = sheet.questions.first() {
            let params = wire::legacy_elicitation(job.id(), question, session.version(), None);
            let asked = seat.ask("elicitation/create", &params);
            if !ask::settle(&*job, &question.key, asked).await {
                job.answer(&question.key, Reply::Dismiss);
            }
            continue;
        }
        if !follower.changed().await {
            return Err(stopped());
        }
    }
}

/// How a call ends for a session of the older eras, if it is over.
pub(super) fn outcome(stage: &Stage) -> Option<Result<Value, Fault>> {
    match stage {
        Stage::Working | Stage::Asking => None,
        Stage::Done(result) => Some(Ok((**result).clone())),
        Stage::Failed(fault) => Some(Err(fault.clone())),
        Stage::Cancelled => Some(Err(stopped())),
    }
}

fn stopped() -> Fault {
    Fault::new(FaultKind::Internal, "the work was cancelled")
}
