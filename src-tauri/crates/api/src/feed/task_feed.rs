//! The command line's feed: changed tasks and servers, each as its current row.
//!
//! Rows are absolute, so that a reader may get one twice and never needs to count. The stream ends when the core stops; the
//! reader resumes with the last `upto`.

use domain::ids::{HandleId, Seq};
use engine::ChangeFrame;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::dto::{ServerDto, TaskDto};
use crate::error::ApiError;

/// What to be told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WatchTasks {
    /// Only these tasks; all when empty. Their current rows come first.
    pub tasks: Vec<String>,
    /// Everything after this place; from now on when null.
    pub after: Option<u64>,
}

/// A piece of news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskUpdate {
    /// Everything up to here is covered.
    pub upto: u64,
    /// The reader fell behind: read the lists anew.
    pub resync: bool,
    /// Tasks that changed, as they are now.
    pub tasks: Vec<TaskDto>,
    /// Servers that changed, as they are now.
    pub servers: Vec<ServerDto>,
}

impl Api {
    /// Follows what changes. Rows that cannot be read end the stream with the error.
    ///
    /// # Errors
    /// When no core runs, or a task is unknown.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        input: WatchTasks,
    ) -> Result<BoxStream<'static, Result<TaskUpdate, ApiError>>, ApiError> {
        caller.require(Ability::Read)?;
        let engine = self.live()?.engine.clone();
        let mut only: Vec<HandleId> = Vec::with_capacity(input.tasks.len());
        for text in &input.tasks {
            only.push(self.find_task(text).await?.id);
        }
        let start = match input.after {
            Some(after) => Seq(after),
            None => self.registry.newest_seq().await?,
        };
        let feed = engine.feed(Some(start));
        let first = ChangeFrame {
            upto: start,
            resync: false,
            handles: only.clone(),
            servers: Vec::new(),
            agents: Vec::new(),
            halts: false,
            alarms: false,
        };
        let api = self.clone();
        let news = stream::once(async move { first }).chain(feed).filter_map(move |frame| {
            let api = api.clone();
            let only = only.clone();
            async move { api.news(frame, &only, start).await.transpose() }
        });
        Ok(news.boxed())
    }

    /// A frame with its rows; `None` when nothing of it is wanted.
    async fn news(&self, frame: ChangeFrame, only: &[HandleId], start: Seq) -> Result<Option<TaskUpdate>, ApiError> {
        let filtered = !only.is_empty();
        let ids: Vec<HandleId> = match (filtered, frame.resync) {
            (false, _) => frame.handles,
            (true, true) => only.to_vec(),
            (true, false) => frame.handles.into_iter().filter(|id| only.contains(id)).collect(),
        };
        // The first frame without a filter is empty and still told: it carries the place to come back to.
        if filtered && ids.is_empty() && frame.upto != start {
            return Ok(None);
        }
        let mut names = crate::lookup::Names::default();
        let mut tasks = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(task) = self.registry.handle(id).await? {
                let next_poll = self.registry.next_poll(id).await?;
                tasks.push(self.show(&task, next_poll, &mut names).await?);
            }
        }
        let mut servers = Vec::new();
        if !filtered && !frame.servers.is_empty() {
            let tallies = self.registry.tallies().await?;
            for id in frame.servers {
                if let Some(server) = self.registry.server(id).await? {
                    servers.push(self.server_dto(&server, &tallies).await?);
                }
            }
        }
        Ok(Some(TaskUpdate { upto: frame.upto.0, resync: frame.resync, tasks, servers }))
    }
}
