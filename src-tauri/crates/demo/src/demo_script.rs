//! The demo's [`ToolScript`]: starts jobs, runs their tools and keeps those that became tasks.
//!
//! A cancel drops the tool's future, except for the tools that end themselves or ignore it on purpose. What a job
//! reports is `job.rs`; the list of tools is `tools.rs`.

use std::sync::Arc;

use crate::script_server::script::{
    CallOrder, JobOwner, JobRetention, JobStage, ScriptJob, ServerCard, ToolCard, ToolScript,
};
use domain::policy::ServingPolicy;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};

use crate::Parts;
use crate::job::{DemoJob, NewJob};
use crate::job_store::JobStore;
use crate::tool_context::{ToolContext, ToolOutcome};
use crate::tools::{self, DemoTool};

/// Tools and jobs of the demo server.
pub(crate) struct DemoScript {
    parts: Parts,
    limits: Arc<ServingPolicy>,
    cards: Vec<ToolCard>,
    store: Arc<JobStore>,
}

impl DemoScript {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let limits = Arc::new(parts.policy.serving.clone());
        let store = Arc::new(JobStore::new(limits.clone()));
        let cards = DemoTool::ALL.iter().map(|tool| tool.card(&limits)).collect();
        let (swept, clock, every) = (store.clone(), parts.clock.clone(), limits.sweep_every);
        parts.supervisor.spawn("expired tasks", async move {
            loop {
                tokio::time::sleep(every).await;
                swept.sweep(clock.now());
            }
        });
        Arc::new(Self { parts, limits, cards, store })
    }

    /// Runs a tool as the job.
    fn run(&self, tool: DemoTool, job: &Arc<DemoJob>, order: CallOrder) {
        let context = ToolContext {
            job: job.clone(),
            arguments: Arc::new(order.arguments),
            limits: self.limits.clone(),
            draw: self.parts.draw.clone(),
            supervisor: self.parts.supervisor.clone(),
        };
        let (store, job) = (self.store.clone(), job.clone());
        self.parts.supervisor.spawn("demo tool", async move {
            let stop = job.stopping();
            let work = tools::run(tool, context);
            let finish = if tool.obeys() {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => ToolOutcome::Stopped,
                    finish = work => finish,
                }
            } else {
                work.await
            };
            let stage = finish.stage();
            let bytes = match &stage {
                JobStage::Done(result) => result.to_string().len(),
                JobStage::Working | JobStage::Asking | JobStage::Failed(_) | JobStage::Cancelled => 0,
            };
            job.end(stage);
            store.ended(job.id(), bytes);
        });
    }
}

impl ToolScript for DemoScript {
    fn card(&self) -> ServerCard {
        ServerCard {
            name: "taskwarden-demo",
            title: "Taskwarden demo",
            version: env!("CARGO_PKG_VERSION"),
            instructions: "Tools that do real, long work on this machine, for trying out how long tasks are followed, \
                           answered and stopped. Paths are folders on the machine the server runs on.",
        }
    }

    fn tools(&self) -> &[ToolCard] {
        &self.cards
    }

    fn begin(&self, order: CallOrder) -> Result<Arc<dyn ScriptJob>, RequestError> {
        let tool = DemoTool::ALL.iter().find(|tool| tool.name() == order.tool).copied();
        let tool =
            tool.ok_or_else(|| RequestError::new(RequestErrorKind::InvalidParams, "there is no tool of this name"))?;
        let ttl = match order.kept {
            JobRetention::WhileHeld | JobRetention::For(None) => self.limits.task_ttl,
            JobRetention::For(Some(asked)) => asked.clamp(self.limits.task_ttl_min, self.limits.task_ttl),
        };
        let job = DemoJob::new(NewJob {
            id: format!("{:032x}", (self.parts.draw)()),
            owner: order.owner.clone(),
            clock: self.parts.clock.clone(),
            ttl,
            poll: self.limits.poll_interval,
        });
        if order.kept != JobRetention::WhileHeld {
            self.store.keep(job.clone())?;
        }
        self.run(tool, &job, order);
        Ok(job)
    }

    fn job(&self, owner: &JobOwner, id: &str) -> Option<Arc<dyn ScriptJob>> {
        let job = self.store.get(owner, id, self.parts.clock.now())?;
        Some(job)
    }

    fn jobs(&self, owner: &JobOwner, after: Option<&str>, most: usize) -> Option<Vec<Arc<dyn ScriptJob>>> {
        let jobs = self.store.list(owner, after, most)?;
        Some(jobs.into_iter().map(|job| job as Arc<dyn ScriptJob>).collect())
    }

    fn is_busy(&self, owner: &JobOwner) -> bool {
        self.store.is_busy(owner)
    }

    fn forget(&self, owner: &JobOwner) {
        self.store.forget(owner);
    }
}
