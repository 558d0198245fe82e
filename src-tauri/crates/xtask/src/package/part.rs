//! The parts that are installed by themselves, and how packages describe them.
//!
//! The headless part is both command lines and the core; the desktop part is the window alone and needs the headless one
//! of the same version. Which files they have is `contents.rs`'s.

/// What is installed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Headless,
    Desktop,
}

impl Part {
    /// The name of its packages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Headless => "taskwarden",
            Self::Desktop => "taskwarden-desktop",
        }
    }

    /// The programs in it.
    pub(crate) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Headless => &["taskwarden", "taskwarden-verify"],
            Self::Desktop => &["taskwarden-desktop"],
        }
    }

    /// The packages of the workspace that its programs are.
    pub(crate) const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Headless => &["taskwarden-host", "taskwarden-verify"],
            Self::Desktop => &["taskwarden-desktop"],
        }
    }

    /// One line without a final stop, as both package formats want it.
    pub(super) const fn summary(self) -> &'static str {
        match self {
            Self::Headless => "watch, answer and stop the long-running MCP tasks of AI agents",
            Self::Desktop => "window for the long-running MCP tasks of AI agents",
        }
    }

    /// Lines of at most 80 columns.
    pub(super) const fn description(self) -> &'static [&'static str] {
        match self {
            Self::Headless => &[
                "Taskwarden sits between agents and their MCP servers, records every",
                "long-running task in a local registry, and shows what each one is doing.",
                "This package has the command line, and the core with its page for a browser.",
            ],
            Self::Desktop => &[
                "Taskwarden sits between agents and their MCP servers, records every",
                "long-running task in a local registry, and shows what each one is doing.",
                "This package has the window and its icon in the tray.",
            ],
        }
    }

    /// Packages of Debian that make it better and that it does not need.
    pub(super) const fn recommended(self) -> &'static str {
        match self {
            Self::Headless => "ca-certificates",
            // Opens links in a browser, and registers `taskwarden://`.
            Self::Desktop => "xdg-utils",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_fit_a_terminal_and_summaries_are_no_sentences() {
        for part in [Part::Headless, Part::Desktop] {
            assert!(part.description().iter().all(|line| line.len() <= 80), "{part:?}");
            assert!(part.summary().len() <= 70 && !part.summary().ends_with('.'), "{part:?}");
        }
    }
}
