//! The questions that a 2025 server asked and that are not answered yet.
//!
//! What is asked, and who answers, is decided in `elicitation.rs`.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::ids::UpstreamTaskId;

/// The open questions of one connection, by the token of their request.
#[derive(Default)]
pub(crate) struct OpenQuestions {
    pub(crate) pending: HashMap<String, OpenQuestion>,
    /// Tasks whose latest word is `input_required`.
    pub(crate) asking: BTreeSet<UpstreamTaskId>,
}

/// What one open question is about.
pub(crate) struct OpenQuestion {
    pub(crate) task: Option<UpstreamTaskId>,
    /// An elicitation, whose answer says itself whether it was declined; nothing else can.
    pub(crate) elicits: bool,
}

impl OpenQuestions {
    /// The only task that wants input and whose question is not here yet.
    pub(crate) fn only_asking(&self) -> Option<UpstreamTaskId> {
        let here: HashSet<&UpstreamTaskId> =
            self.pending.values().filter_map(|pending| pending.task.as_ref()).collect();
        let mut without = self.asking.iter().filter(|task| !here.contains(task));
        without.next().filter(|_| without.next().is_none()).cloned()
    }
}
