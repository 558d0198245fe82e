//! Pauses that ask which of the waiting calls are sent: items of the inbox (stop.md §3.6).
//!
//! A pause asks from `choice_after` on, as long as calls wait. When that is, and what an end without a choice is told, is
//! decided in `domain::server::pause` and the engine; here it is only shown. A person decides with `pauses.end`.

use std::sync::Arc;

use domain::server::pause::Pause;
use domain::task::TaskHandle;

use crate::api::Api;
use crate::dto::InboxRow;
use crate::dto::pause::waiting_since;
use crate::error::ApiError;
use crate::lookup::Names;

impl Api {
    /// The rows of all pauses that ask now.
    pub(crate) async fn pause_choices(&self, names: &mut Names) -> Result<Vec<InboxRow>, ApiError> {
        let mut rows = Vec::new();
        for pause in self.pauses_in_force().await? {
            let waiting = self.waiting_calls(&pause).await?;
            rows.extend(self.pause_choice(&pause, &waiting, names).await?);
        }
        Ok(rows)
    }

    /// The row of this pause with the calls that wait, in their order; `None` while it asks nothing.
    pub(crate) async fn pause_choice(
        &self,
        pause: &Pause,
        waiting: &[Arc<TaskHandle>],
        names: &mut Names,
    ) -> Result<Option<InboxRow>, ApiError> {
        let policy = &self.policy.control.pauses;
        let (Some(first), Some(last)) = (waiting.first(), waiting.last()) else { return Ok(None) };
        if !pause.needs_choice(self.now(), policy.choice_after) {
            return Ok(None);
        }
        let mut shown = self.pause_dto(pause, waiting.len(), names).await?;
        for call in waiting.iter().take(policy.calls_shown) {
            shown.calls.push(self.waiting_call(call, names).await?);
        }
        // A call that came after the pause was long makes it ask from then on.
        let since = pause.choice_due(policy.choice_after).max(waiting_since(first));
        Ok(Some(InboxRow::of_pause(shown, since, waiting_since(last))))
    }
}
