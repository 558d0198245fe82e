//! The tasks related to one task: its parent, its children, and other attempts of the same job.
//!
//! Read from the registry for a single task on screen; lists carry only the parent's id and the attempt number.

use domain::ids::HandleId;
use domain::task::TaskHandle;

use crate::api::Api;
use crate::dto::{JobDto, ParentDto, RelatedTaskDto, iso};
use crate::error::ApiError;
use crate::lookup::Names;

impl Api {
    /// Its parent, its children, and its job when there was more than one attempt.
    pub(crate) async fn kin(
        &self,
        task: &TaskHandle,
        names: &mut Names,
    ) -> Result<(Option<ParentDto>, Vec<RelatedTaskDto>, Option<JobDto>), ApiError> {
        let most = self.policy.gateway.kin_max;
        let parent = match task.parent {
            Some(parent) => self.registry.handle(parent.id).await?.map(|known| (known, parent.why)),
            None => None,
        };
        let parent = match parent {
            Some((known, why)) => Some(ParentDto {
                id: known.id.to_string(),
                server: self.server_name(known.server, names).await?,
                tool: known.tool.as_deref().map(str::to_owned),
                why: why.into(),
            }),
            None => None,
        };
        let children = self.relatives(self.registry.children(task.id, most).await?, names).await?;
        let job = match &task.job {
            Some(job) => {
                let ids = self.registry.attempts(job.clone(), most).await?;
                let attempts = if ids.len() > 1 { self.relatives(ids, names).await? } else { Vec::new() };
                (attempts.len() > 1).then(|| JobDto { key: job.to_string(), attempt: task.attempt, attempts })
            }
            None => None,
        };
        Ok((parent, children, job))
    }

    async fn relatives(&self, ids: Vec<HandleId>, names: &mut Names) -> Result<Vec<RelatedTaskDto>, ApiError> {
        let now = self.now();
        let mut kin = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(task) = self.registry.handle(id).await? else { continue };
            kin.push(RelatedTaskDto {
                id: task.id.to_string(),
                server: self.server_name(task.server, names).await?,
                tool: task.tool.as_deref().map(str::to_owned),
                phase: task.phase(now).into(),
                attempt: task.attempt,
                created_at: iso(task.created),
                ended_at: task.ended_at().map(iso),
            });
        }
        Ok(kin)
    }
}
