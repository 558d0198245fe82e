//! The demo's desk: begins jobs, runs their tools, keeps those with handles.
//!
//! A tool runs in the supervisor and is dropped when a stop is asked, except the one that is there to show a server
//! that does not obey. What a job tells is `job.rs`; which tools there are is `tools.rs`.

use std::sync::Arc;

use domain::policy::ServingPolicy;
use mcp::serve::desk::{Card, Desk, Job, Kept, Order, Owner, Stage, ToolCard};
use mcp::serve::fault::{Fault, FaultKind};

use crate::Parts;
use crate::bench::{Bench, Finish};
use crate::job::{Birth, DemoJob};
use crate::store::Store;
use crate::tools::{self, Tool};

/// Tools and jobs of the demo server.
pub(crate) struct DemoDesk {
    parts: Parts,
    limits: Arc<ServingPolicy>,
    cards: Vec<ToolCard>,
    store: Arc<Store>,
}

impl DemoDesk {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let limits = Arc::new(parts.policy.serving.clone());
        let store = Arc::new(Store::new(limits.clone()));
        let cards = Tool::ALL.iter().map(|tool| tool.card(&limits)).collect();
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
    fn run(&self, tool: Tool, job: &Arc<DemoJob>, order: Order) {
        let bench = Bench {
            job: job.clone(),
            arguments: Arc::new(order.arguments),
            limits: self.limits.clone(),
            draw: self.parts.draw.clone(),
            supervisor: self.parts.supervisor.clone(),
        };
        let (store, job) = (self.store.clone(), job.clone());
        self.parts.supervisor.spawn("demo tool", async move {
            let stop = job.stopping();
            let work = tools::run(tool, bench);
            let finish = if tool.obeys() {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => Finish::Stopped,
                    finish = work => finish,
                }
            } else {
                work.await
            };
            let stage = finish.stage();
            let bytes = match &stage {
                Stage::Done(result) => result.to_string().len(),
                Stage::Working | Stage::Asking | Stage::Failed(_) | Stage::Cancelled => 0,
            };
            job.end(stage);
            store.ended(job.id(), bytes);
        });
    }
}

impl Desk for DemoDesk {
    fn card(&self) -> Card {
        Card {
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

    fn begin(&self, order: Order) -> Result<Arc<dyn Job>, Fault> {
        let tool = Tool::ALL.iter().find(|tool| tool.name() == order.tool).copied();
        let tool = tool.ok_or_else(|| Fault::new(FaultKind::InvalidParams, "there is no tool of this name"))?;
        let ttl = match order.kept {
            Kept::WhileHeld | Kept::For(None) => self.limits.task_ttl,
            Kept::For(Some(asked)) => asked.clamp(self.limits.task_ttl_min, self.limits.task_ttl),
        };
        let job = DemoJob::new(Birth {
            id: format!("{:032x}", (self.parts.draw)()),
            owner: order.owner.clone(),
            clock: self.parts.clock.clone(),
            ttl,
            poll: self.limits.poll_interval,
        });
        if order.kept != Kept::WhileHeld {
            self.store.keep(job.clone())?;
        }
        self.run(tool, &job, order);
        Ok(job)
    }

    fn job(&self, owner: &Owner, id: &str) -> Option<Arc<dyn Job>> {
        let job = self.store.get(owner, id, self.parts.clock.now())?;
        Some(job)
    }

    fn jobs(&self, owner: &Owner, after: Option<&str>, most: usize) -> Option<Vec<Arc<dyn Job>>> {
        let jobs = self.store.list(owner, after, most)?;
        Some(jobs.into_iter().map(|job| job as Arc<dyn Job>).collect())
    }

    fn is_busy(&self, owner: &Owner) -> bool {
        self.store.is_busy(owner)
    }

    fn forget(&self, owner: &Owner) {
        self.store.forget(owner);
    }
}
