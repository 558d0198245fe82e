//! How a decision came in: the door, the process that asked, and the file it ran (ruling 43).
//!
//! The host fills it from what the operating system says of the peer; it travels with the person to the audit row. It
//! does not say who may decide.

use std::fmt;

/// The text for what the system did not say.
const UNKNOWN: &str = "unknown";

/// Which way a decision came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionDoor {
    /// The window of the desktop.
    Window,
    /// The page in a browser that was signed in.
    Browser,
    /// A command at the socket.
    Terminal,
}

impl DecisionDoor {
    /// The word of the audit log.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Browser => "browser",
            Self::Terminal => "terminal",
        }
    }
}

/// A process number with its start time in the kernel's ticks, because numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessStamp {
    pub pid: u32,
    /// When it was started.
    pub started: u64,
}

/// How one decision came in. What the system did not say is `unknown` in its text, never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DecisionOrigin {
    /// The way in.
    pub door: DecisionDoor,
    /// The process that asked; a browser's is not known, because TCP names none.
    pub process: Option<ProcessStamp>,
    /// The file that the process ran.
    pub executable: Option<String>,
}

impl DecisionOrigin {
    /// Reads its text form back; `None` when it is none.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let word = words.next()?;
        let door = [DecisionDoor::Window, DecisionDoor::Browser, DecisionDoor::Terminal]
            .into_iter()
            .find(|door| door.word() == word)?;
        let process = match words.next()? {
            UNKNOWN => None,
            process => {
                let (pid, started) = process.split_once('@')?;
                Some(ProcessStamp { pid: pid.parse().ok()?, started: started.parse().ok()? })
            }
        };
        let executable = Some(words.next()?.to_owned()).filter(|path| path != UNKNOWN);
        Some(Self { door, process, executable })
    }
}

impl fmt::Display for DecisionOrigin {
    /// `DOOR PID@STARTED EXECUTABLE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.door.word())?;
        match self.process {
            Some(ProcessStamp { pid, started }) => write!(f, "{pid}@{started} ")?,
            None => write!(f, "{UNKNOWN} ")?,
        }
        f.write_str(self.executable.as_deref().unwrap_or(UNKNOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_reads_back_from_its_text_and_is_never_empty() {
        let process = Some(ProcessStamp { pid: 7, started: 99 });
        let terminal =
            DecisionOrigin { door: DecisionDoor::Terminal, process, executable: Some("/opt/my tools/x".into()) };
        assert_eq!(terminal.to_string(), "terminal 7@99 /opt/my tools/x");
        let browser = DecisionOrigin { door: DecisionDoor::Browser, process: None, executable: None };
        assert_eq!(browser.to_string(), "browser unknown unknown");
        for origin in [terminal, browser] {
            assert_eq!(DecisionOrigin::from_text(&origin.to_string()), Some(origin));
        }
        for other in ["", "terminal", "terminal 7 x", "door 7@9 x", "terminal 7@x y"] {
            assert_eq!(DecisionOrigin::from_text(other), None, "{other}");
        }
    }
}
