//! What a list shows as the last message of a task: its question, its error or the first line of its result.
//!
//! The window and the command line show the same. What a server says of a task that works is in the row anyway.

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::task::payload::PayloadKind;
use domain::task::status::Outcome;

use crate::api::Api;
use crate::dto::RequestDto;
use crate::dto::task::facts;
use crate::error::ApiError;
use crate::format::first_line::first_line;

impl Api {
    /// The line; `None` when there is none beside the server's own message.
    pub(crate) async fn last_line(&self, task: &TaskHandle) -> Result<Option<String>, ApiError> {
        let now = self.now();
        let asked = task.requests.values().filter(|request| task.asks_people(request, now));
        if let Some(request) = asked.min_by_key(|request| request.opened) {
            return Ok(Some(self.line(&RequestDto::of(request).message)));
        }
        if !task.view.is_terminal() {
            return Ok(None);
        }
        if let Some(error) = facts::error(&task.view) {
            return Ok(Some(self.line(&error.message)));
        }
        match task.view.outcome() {
            Some(Outcome::Ok(stored) | Outcome::ToolError(stored) | Outcome::FailedWithResult(stored))
                if stored.bytes <= self.policy.search.line_bytes_max =>
            {
                self.result_line(task).await
            }
            Some(_) | None => Ok(None),
        }
    }

    async fn result_line(&self, task: &TaskHandle) -> Result<Option<String>, ApiError> {
        if let Some(known) = self.engine().and_then(|engine| engine.remembered_line(task.id)) {
            return Ok(known.map(|line| line.to_string()));
        }
        let payload = self.registry.payload(task.id, PayloadKind::Result).await?;
        let line = payload.and_then(|payload| first_line(payload.as_str(), self.policy.search.line_chars));
        if let Some(engine) = self.engine() {
            engine.remember_line(task.id, line.as_deref().map(Arc::from));
        }
        Ok(line)
    }

    fn line(&self, text: &str) -> String {
        domain::policy::plain_text(text, self.policy.search.line_chars).replace(['\n', '\t'], " ")
    }
}
