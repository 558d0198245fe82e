//! Limits of how long a task runs, as rules set them, and which rule set one.
//!
//! What a task does at such a limit is in `run_time.rs`. Limits of tokens are in `domain::rule`, which shows these too.

use std::time::Duration;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Tokens that a task said and brought.
    Tokens,
    /// Time that a task ran; waiting for people is not counted.
    Time,
    /// Time since a task last showed progress; waiting for people is not counted.
    Progress,
    /// Calls that an agent makes again and again, too often, or too many of at once: an alarm.
    Calls,
}

impl LimitKind {
    /// All kinds, for reading words back.
    const ALL: [Self; 4] = [Self::Tokens, Self::Time, Self::Progress, Self::Calls];

    /// Its word in JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Time => "time",
            Self::Progress => "progress",
            Self::Calls => "calls",
        }
    }

    /// Reads [`LimitKind::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Why a task was cancelled, for programs.
    #[must_use]
    pub const fn reason_code(self) -> &'static str {
        match self {
            Self::Tokens => "tokenLimit",
            Self::Time => "timeLimit",
            Self::Progress => "progressLimit",
            Self::Calls => "callLimit",
        }
    }
}

/// What happens when a task reaches a limit of time, and when an alarm is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunAction {
    /// People are notified, and it continues.
    Warn,
    /// A person decides: whether the task may continue, which it does until then; or what becomes of the calls that an
    /// alarm is about, of which further ones wait until then.
    Ask,
    /// The task is cancelled, or the open tasks that an alarm is about.
    Cancel,
}

impl RunAction {
    /// All actions, for reading words back.
    const ALL: [Self; 3] = [Self::Warn, Self::Ask, Self::Cancel];

    /// Its word in JSON, settings and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Ask => "ask",
            Self::Cancel => "cancel",
        }
    }

    /// Reads [`RunAction::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// A limit of time, and what happens at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimit {
    pub allowed: Duration,
    pub action: RunAction,
}

/// How wide a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleLevel {
    Agent,
    Server,
    Tool,
}

impl RuleLevel {
    /// All levels, for reading words back.
    const ALL: [Self; 3] = [Self::Agent, Self::Server, Self::Tool];

    /// Its word in JSON and the registry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Server => "server",
            Self::Tool => "tool",
        }
    }

    /// Reads [`RuleLevel::word`] back.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// The rule that a limit comes from. Agent, server and tool are those of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSource {
    pub level: RuleLevel,
    /// The version of the rule when it was applied.
    pub version: u32,
}

impl RuleSource {
    /// Names the rule, for notes: `the rule for this tool, version 3`.
    #[must_use]
    pub fn words(self) -> String {
        format!("the rule for this {}, version {}", self.level.word(), self.version)
    }
}

/// What happens at an alarm, with the rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetAlarmAction {
    pub action: RunAction,
    pub rule: RuleSource,
}

/// A limit of time with the rule that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetRunLimit {
    pub limit: RunLimit,
    pub rule: RuleSource,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_limit_of_time_reads_back() {
        for kind in LimitKind::ALL {
            assert_eq!(LimitKind::from_word(kind.word()), Some(kind));
        }
        for action in RunAction::ALL {
            assert_eq!(RunAction::from_word(action.word()), Some(action));
        }
        for level in RuleLevel::ALL {
            assert_eq!(RuleLevel::from_word(level.word()), Some(level));
        }
        assert_eq!(RunAction::from_word("hold"), None, "nothing is held for its time");
    }
}
