//! The alarms of one feed: those that nobody has dismissed are rows of the inbox.
//!
//! They are few, so all of them are read again when one changes.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::WindowFeed;
use crate::dto::InboxRow;
use crate::error::ApiError;

impl WindowFeed {
    /// The rows of alarms as they are now.
    pub(super) async fn put_alarms(&mut self) -> Result<(), ApiError> {
        let mut rows: BTreeMap<String, Vec<InboxRow>> = BTreeMap::new();
        for alarm in self.api.kept_alarms().await?.iter().filter(|alarm| alarm.needs_look()) {
            let told = self.api.alarm_dto(alarm, &mut self.names).await?;
            rows.insert(told.id.clone(), vec![InboxRow::of_alarm(told)]);
        }
        let now = rows.keys().cloned().collect();
        for gone in std::mem::replace(&mut self.alarms, now) {
            rows.entry(gone).or_default();
        }
        for (id, rows) in rows {
            self.inbox.put(&id, rows, |_| None, Instant::now());
        }
        Ok(())
    }
}
