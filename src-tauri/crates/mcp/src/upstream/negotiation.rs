//! What a connection agreed on, from the negotiated version and the server's handshake result.
//!
//! The version alone picks the dialect (protocol.md §0.1): an extension named on a 2025 connection means nothing, and
//! neither does `capabilities.tasks` on a modern one.

use domain::ids::SessionKey;
use domain::policy::{Policy, plain_text};
use domain::server::{Dialect, Era, Negotiated};

use crate::upstream::transport::link::OpenedLink;
use crate::wire::view::ServerHello;

/// The only version with experimental tasks.
const VERSION_WITH_TASKS_2025: &str = "2025-11-25";
/// Longest version kept. Judgement: they have ten characters.
const VERSION_CAP_CHARS: usize = 64;

/// What every task method of this connection looks like on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// `tasks/result`, live questions.
    Experimental2025,
    /// `tasks/update`, questions as data.
    Extension2026,
}

/// What was agreed, for the port and for this crate.
pub(crate) struct Agreement {
    pub(crate) negotiated: Negotiated,
    pub(crate) generation: Generation,
    /// 2025: calls of tools that support tasks are augmented.
    pub(crate) augments: bool,
    /// A subscription may ask for changes of the tools as well.
    pub(crate) tells_tool_changes: bool,
}

/// Reads the greeting.
pub(crate) fn agree(opened: &OpenedLink, policy: &Policy) -> Agreement {
    let hello = ServerHello::read(&opened.hello, policy);
    let generation = match opened.era {
        Era::Modern => Generation::Extension2026,
        Era::Legacy | Era::LegacySse => Generation::Experimental2025,
    };
    let tasks_2025 = match generation {
        Generation::Experimental2025 if opened.version == VERSION_WITH_TASKS_2025 => hello.tasks,
        Generation::Experimental2025 | Generation::Extension2026 => None,
    };
    let tasks_2026 = generation == Generation::Extension2026 && hello.extension;
    let dialect = match (tasks_2025, tasks_2026) {
        (Some(_), _) => Dialect::Experimental2025,
        (None, true) => Dialect::Extension2026,
        (None, false) => Dialect::NoTasks,
    };
    Agreement {
        negotiated: Negotiated {
            era: opened.era,
            dialect,
            protocol_version: plain_text(&opened.version, VERSION_CAP_CHARS),
            server_name: hello.name,
            server_version: hello.version,
            can_list: tasks_2025.is_some_and(|tasks| tasks.list),
            can_cancel: tasks_2026 || tasks_2025.is_some_and(|tasks| tasks.cancel),
            session: opened.session.clone().map(SessionKey::new),
        },
        generation,
        augments: tasks_2025.is_some_and(|tasks| tasks.call),
        tells_tool_changes: hello.tells_tool_changes,
    }
}
