//! Jobs that became tasks: bounded in number, in time and in the total size of their results.
//!
//! An expired job is cancelled and removed, whatever its stage. When results take too much room the oldest finished
//! jobs go first. Jobs of blocking calls are never kept here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::script_server::script::{JobOwner, ScriptJob};
use domain::policy::ServingPolicy;
use domain::time::Timestamp;
use mcp::server::rpc_error::{RequestError, RequestErrorKind};
use parking_lot::Mutex;

use crate::job::DemoJob;

/// The kept jobs.
pub(crate) struct JobStore {
    kept: Mutex<StoredJobs>,
    limits: Arc<ServingPolicy>,
}

#[derive(Default)]
struct StoredJobs {
    last: u64,
    by_order: BTreeMap<u64, Arc<DemoJob>>,
    by_id: HashMap<String, u64>,
    per_owner: HashMap<JobOwner, usize>,
    result_bytes: HashMap<u64, usize>,
    bytes: usize,
}

impl StoredJobs {
    fn remove(&mut self, order: u64) -> Option<Arc<DemoJob>> {
        let job = self.by_order.remove(&order)?;
        self.by_id.remove(job.id());
        self.bytes -= self.result_bytes.remove(&order).unwrap_or(0);
        if let Some(count) = self.per_owner.get_mut(&job.owner) {
            *count -= 1;
            if *count == 0 {
                self.per_owner.remove(&job.owner);
            }
        }
        Some(job)
    }
}

impl JobStore {
    pub(crate) fn new(limits: Arc<ServingPolicy>) -> Self {
        Self { kept: Mutex::default(), limits }
    }

    /// Keeps a job.
    pub(crate) fn keep(&self, job: Arc<DemoJob>) -> Result<(), RequestError> {
        let full = |most: usize| {
            RequestError::new(RequestErrorKind::Internal, format!("more than {most} tasks are kept here"))
        };
        let mut kept = self.kept.lock();
        if kept.by_order.len() >= self.limits.tasks_max {
            return Err(full(self.limits.tasks_max));
        }
        let of_owner = kept.per_owner.get(&job.owner).copied().unwrap_or(0);
        if of_owner >= self.limits.tasks_per_owner_max {
            return Err(full(self.limits.tasks_per_owner_max));
        }
        kept.last += 1;
        let order = kept.last;
        kept.per_owner.insert(job.owner.clone(), of_owner + 1);
        kept.by_id.insert(job.id().to_owned(), order);
        kept.by_order.insert(order, job);
        Ok(())
    }

    /// A job ended with a result of this size: the oldest finished ones make room.
    pub(crate) fn ended(&self, id: &str, bytes: usize) {
        let mut kept = self.kept.lock();
        let Some(order) = kept.by_id.get(id).copied() else { return };
        kept.result_bytes.insert(order, bytes);
        kept.bytes += bytes;
        while kept.bytes > self.limits.results_cap_bytes {
            let oldest = kept.result_bytes.keys().filter(|other| **other != order).min().copied();
            let Some(oldest) = oldest else { return };
            kept.remove(oldest);
        }
    }

    pub(crate) fn get(&self, owner: &JobOwner, id: &str, now: Timestamp) -> Option<Arc<DemoJob>> {
        let kept = self.kept.lock();
        let job = kept.by_order.get(kept.by_id.get(id)?)?;
        (job.owner == *owner && job.expires() > now).then(|| job.clone())
    }

    pub(crate) fn list(&self, owner: &JobOwner, after: Option<&str>, most: usize) -> Option<Vec<Arc<DemoJob>>> {
        let kept = self.kept.lock();
        let from = match after {
            None => 0,
            Some(id) => kept.by_id.get(id).copied()? + 1,
        };
        Some(
            kept.by_order
                .range(from..)
                .map(|(_, job)| job)
                .filter(|job| job.owner == *owner)
                .take(most)
                .cloned()
                .collect(),
        )
    }

    pub(crate) fn is_busy(&self, owner: &JobOwner) -> bool {
        self.kept.lock().by_order.values().any(|job| job.owner == *owner && !job.is_over())
    }

    /// Stops and forgets what is expired.
    pub(crate) fn sweep(&self, now: Timestamp) {
        self.remove_where(|job| job.expires() <= now);
    }

    /// Stops and forgets all of an owner.
    pub(crate) fn forget(&self, owner: &JobOwner) {
        self.remove_where(|job| job.owner == *owner);
    }

    fn remove_where(&self, over: impl Fn(&DemoJob) -> bool) {
        let mut kept = self.kept.lock();
        let orders: Vec<u64> = kept.by_order.iter().filter(|(_, job)| over(job)).map(|(order, _)| *order).collect();
        let removed: Vec<_> = orders.into_iter().filter_map(|order| kept.remove(order)).collect();
        drop(kept);
        for job in removed {
            job.declare_cancelled();
        }
    }
}
