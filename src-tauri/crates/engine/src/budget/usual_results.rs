//! How large the results of each tool usually are, from the last ones that agents got.
//!
//! In memory only: the first results after a start answer it again. Sizes are tokens in a window, as each was counted for its
//! agent, so they are about right for others. Limits do not follow from it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use domain::ids::ServerId;

use crate::engine::Engine;

/// Tools whose usual results are remembered. Judgement: a machine has a few dozen servers of a few dozen tools.
const TOOLS_MAX: usize = 4_096;

/// Results of a tool from which its usual size is taken. Judgement: enough to have seen a large one.
const SIZES_KEPT: usize = 10;

/// How large the results of a tool usually are, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualResult {
    /// Results that it is taken from.
    pub samples: u32,
    /// Half of them are at most this large.
    pub median: u64,
    /// The largest of them.
    pub largest: u64,
}

/// Sizes of the last results of each tool.
#[derive(Debug, Default)]
pub(crate) struct UsualSizes(HashMap<(ServerId, Arc<str>), VecDeque<u64>>);

impl UsualSizes {
    pub(crate) fn learn(&mut self, server: ServerId, tool: Option<&Arc<str>>, tokens: u64) {
        let Some(tool) = tool else { return };
        let key = (server, Arc::clone(tool));
        if self.0.len() >= TOOLS_MAX && !self.0.contains_key(&key) {
            return;
        }
        let sizes = self.0.entry(key).or_default();
        if sizes.len() >= SIZES_KEPT {
            sizes.pop_front();
        }
        sizes.push_back(tokens);
    }

    /// The largest of the last results of a tool; `None` when none was seen.
    pub(crate) fn largest(&self, server: ServerId, tool: Option<&Arc<str>>) -> Option<u64> {
        self.0.get(&(server, Arc::clone(tool?)))?.iter().max().copied()
    }

    /// The usual results of a server's tools; a tool with fewer than `samples_min` is left out.
    fn of_server(&self, server: ServerId, samples_min: u32) -> BTreeMap<Arc<str>, UsualResult> {
        let here = self.0.iter().filter(|((of, _), _)| *of == server);
        here.filter_map(|((_, tool), sizes)| Some((Arc::clone(tool), usual(sizes, samples_min)?))).collect()
    }
}

fn usual(sizes: &VecDeque<u64>, samples_min: u32) -> Option<UsualResult> {
    let samples = u32::try_from(sizes.len()).ok().filter(|samples| *samples >= samples_min)?;
    let mut sorted: Vec<u64> = sizes.iter().copied().collect();
    sorted.sort_unstable();
    // The nearest rank, as for durations.
    let median = sorted.get(sorted.len().div_ceil(2).checked_sub(1)?).copied()?;
    Some(UsualResult { samples, median, largest: sorted.last().copied()? })
}

impl Engine {
    /// How large the results of a server's tools usually are, where enough were counted in this run.
    #[must_use]
    pub fn usual_results(&self, server: ServerId) -> BTreeMap<Arc<str>, UsualResult> {
        self.core.budget.windows.lock().sizes().of_server(server, self.core.policy.usual_samples_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_result_needs_enough_samples_and_follows_the_last_ones() {
        let mut sizes = UsualSizes::default();
        let (server, other, tool) = (ServerId::from_random(1), ServerId::from_random(2), Arc::<str>::from("read"));
        for tokens in [900, 10, 20, 30] {
            sizes.learn(server, Some(&tool), tokens);
        }
        assert_eq!(sizes.of_server(server, 5).len(), 0, "four are too few");
        sizes.learn(server, Some(&tool), 40);
        let usual = UsualResult { samples: 5, median: 30, largest: 900 };
        assert_eq!(sizes.of_server(server, 5).get(&tool), Some(&usual), "half are at most this large");
        assert_eq!(sizes.of_server(other, 5).len(), 0, "of this server only");
        for tokens in 1..=10 {
            sizes.learn(server, Some(&tool), tokens);
        }
        let usual = UsualResult { samples: 10, median: 5, largest: 10 };
        assert_eq!(sizes.of_server(server, 5).get(&tool), Some(&usual), "the last ten count");
        assert_eq!(sizes.largest(server, Some(&tool)), Some(10));
    }
}
