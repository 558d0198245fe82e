//! Tasks as agents see them: `tasks/*` in both dialects, questions to agents, and the texts about a task.
//!
//! Rows belong to the engine. The spelling of each dialect is `conversion/`.

pub(crate) mod elicitation;
pub(crate) mod elicitation_claims;
pub(crate) mod legacy_tasks;
pub(crate) mod legacy_view;
pub(crate) mod lookup;
pub(crate) mod modern_elicitation;
pub(crate) mod modern_tasks;
pub(crate) mod notes;
pub(crate) mod notified_tasks;
pub(crate) mod result_resource;
pub(crate) mod session_notifier;
pub(crate) mod task_subscription;
