//! A task whose server says that it needs input, and asks nothing that anybody here can answer.
//!
//! The server's word stays as it came (ruling 45); this only says why nobody is asked. Who is asked otherwise is in
//! `audience.rs`.

use crate::task::TaskHandle;
use crate::task::input_request::{Ask, RequestState};
use crate::task::status::TaskStatus;

impl TaskHandle {
    /// What its server asks while it says that it needs input and nobody here can give any; empty where it asks
    /// nothing. `None` while there is something to answer, or an answer that the server has not reacted to.
    #[must_use]
    pub fn unmet_input(&self) -> Option<Vec<&Ask>> {
        let needs_input = self.view.task().is_some_and(|task| task.status == TaskStatus::InputRequired);
        if !needs_input || self.is_over() || self.more_questions > 0 || !self.shared.elsewhere.is_empty() {
            return None;
        }
        let mut asks = Vec::new();
        for request in self.requests.values() {
            match &request.state {
                // Only what somebody can answer is ever open.
                RequestState::Open | RequestState::Answered(_) => return None,
                RequestState::Confirmed(answer) if answer.at >= self.contact.seen() => return None,
                RequestState::Withdrawn { .. } if !request.ask.is_for_people() => asks.push(&request.ask),
                RequestState::Confirmed(_) | RequestState::Withdrawn { .. } => {}
            }
        }
        Some(asks)
    }
}
