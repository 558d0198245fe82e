//! What a peer can make grow, and how it is shared.
//!
//! One rule for everything that agents use together (open calls, sessions, connections, bodies): one agent gets a part
//! of it, and a part is reserved for people. Older limits are beside their subject; ARCHITECTURE.md lists all of them,
//! and `limits.show` says what is in use.

use super::{BadPolicy, KIB, MIB};

/// Shares, and the limits that nothing else in the policy has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharePolicy {
    /// The part of a common limit that one agent may use, in percent. Judgement: a busy agent is not held up, and three
    /// others always have room.
    pub agent_percent: u32,
    /// The part of a common limit that agents leave to people, in percent. Judgement: a person starts and cancels by
    /// the dozen, not by the hundred.
    pub people_percent: u32,
    /// Bytes of request bodies that are being received or worked on, all together. Judgement: eight of the largest for
    /// each of four agents, and a laptop does not notice it.
    pub body_bytes_max: usize,
    /// Tools of one server that are kept; the rest is left out. Judgement: the largest known catalogues have a few
    /// hundred.
    pub tools_per_server: usize,
    /// Patterns of one tool's schema that are checked here; further ones are left to the server. Judgement: large real
    /// tools have a few dozen.
    pub patterns_per_tool: usize,
    /// Longest pattern that is checked here. Judgement: the longest seen (a version with all its suffixes) has 300.
    pub pattern_cap_bytes: usize,
    /// Memory that one compiled pattern may take; one that needs more is left to the server. Judgement: thousands of
    /// times what ordinary patterns need, and all patterns of a tool together stay below 16 MiB.
    pub pattern_compiled_bytes: usize,
    /// Memory that the compiled schemas of one list of tools may take together; those that were not used for longest are
    /// dropped. Judgement: two tools with as many patterns as may be, or hundreds of ordinary ones.
    pub compiled_schema_bytes: usize,
}

impl Default for SharePolicy {
    fn default() -> Self {
        Self {
            agent_percent: 25,
            people_percent: 10,
            body_bytes_max: 128 * MIB,
            tools_per_server: 10_000,
            patterns_per_tool: 64,
            pattern_cap_bytes: KIB,
            pattern_compiled_bytes: 256 * KIB,
            compiled_schema_bytes: 40 * MIB,
        }
    }
}

impl SharePolicy {
    /// What one agent may use of a limit that agents and people have in common; never nothing.
    #[must_use]
    pub fn of_one_agent(&self, most: u64) -> u64 {
        part(most, self.agent_percent).max(1).min(self.of_all_agents(most))
    }

    /// What all agents together may use of it; never nothing.
    #[must_use]
    pub fn of_all_agents(&self, most: u64) -> u64 {
        most.saturating_sub(part(most, self.people_percent)).max(1)
    }

    /// Whether the numbers fit together.
    pub(super) fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule((1..=100).contains(&self.agent_percent), "shares.agent_percent", "must be between 1 and 100")?;
        rule(self.people_percent < 100, "shares.people_percent", "must be below 100")
    }
}

fn part(most: u64, percent: u32) -> u64 {
    // Rounded up: a part that somebody is promised is never less than it says.
    most.saturating_mul(u64::from(percent)).div_ceil(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_agent_leaves_room_for_others_and_all_of_them_leave_room_for_people() {
        let shares = SharePolicy::default();
        assert_eq!((shares.of_one_agent(1_000), shares.of_all_agents(1_000)), (250, 900));
        assert_eq!((shares.of_one_agent(1), shares.of_all_agents(1)), (1, 1), "a share is never nothing");
        let alone = SharePolicy { agent_percent: 100, ..shares };
        assert_eq!(alone.of_one_agent(1_000), 900, "even an agent alone leaves people theirs");
    }
}
