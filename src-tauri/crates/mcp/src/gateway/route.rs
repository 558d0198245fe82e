//! Which part of the gateway answers a method, by era; nothing else is reachable.
//!
//! The tables of protocol.md §1.4, §2.1 and §2.6. Methods that an era removed are not served in it, whatever stands
//! behind. What is not named here is forwarded where one server stands behind the door, and unknown where many do.

use crate::server::rpc_error::RequestError;
use crate::server::{Client, Session};

/// A method as the gateway sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `initialize` of an older client.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `ping` of an older client.
    Ping,
    /// `tools/call`.
    Call,
    /// `tasks/*`.
    Task(TaskVerb),
    /// A list of what servers have.
    List(ListKind),
    /// `subscriptions/listen`.
    Listen,
    /// `resources/subscribe`, or `unsubscribe` when `false`.
    Subscribe(bool),
    /// `logging/setLevel`.
    SetLevel,
    /// Anything else, raw.
    Forward,
}

/// What is asked about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskVerb {
    /// `tasks/get`.
    Get,
    /// `tasks/update`, of 2026-07-28.
    Update,
    /// `tasks/cancel`.
    Cancel,
    /// `tasks/result`, of 2025-11-25.
    Result,
    /// `tasks/list`, of 2025-11-25.
    List,
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

impl ListKind {
    /// The method.
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds the list.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// Who answers `method` of this client.
///
/// # Errors
/// When its era has no such method.
pub(super) fn route(client: &Client, method: &str) -> Result<Route, RequestError> {
    let route = match method {
        "tools/call" => Route::Call,
        "tools/list" => Route::List(ListKind::Tools),
        "prompts/list" => Route::List(ListKind::Prompts),
        "resources/list" => Route::List(ListKind::Resources),
        "resources/templates/list" => Route::List(ListKind::Templates),
        _ => match client {
            Client::Modern(_) => modern(method)?,
            Client::Legacy(session) => legacy(session, method)?,
        },
    };
    Ok(route)
}

fn modern(method: &str) -> Result<Route, RequestError> {
    match method {
        "server/discover" => Ok(Route::Discover),
        "subscriptions/listen" => Ok(Route::Listen),
        "tasks/get" => Ok(Route::Task(TaskVerb::Get)),
        "tasks/update" => Ok(Route::Task(TaskVerb::Update)),
        "tasks/cancel" => Ok(Route::Task(TaskVerb::Cancel)),
        // Removed in this era (protocol.md §2.1, §2.6); other members of the family are not ours to guess.
        "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            Err(RequestError::no_method())
        }
        _ if method.starts_with("tasks/") => Err(RequestError::no_method()),
        _ => Ok(Route::Forward),
    }
}

fn legacy(session: &Session, method: &str) -> Result<Route, RequestError> {
    match method {
        "initialize" => Ok(Route::Initialize),
        "ping" => Ok(Route::Ping),
        "logging/setLevel" => Ok(Route::SetLevel),
        "resources/subscribe" => Ok(Route::Subscribe(true)),
        "resources/unsubscribe" => Ok(Route::Subscribe(false)),
        "tasks/get" if session.has_tasks() => Ok(Route::Task(TaskVerb::Get)),
        "tasks/cancel" if session.has_tasks() => Ok(Route::Task(TaskVerb::Cancel)),
        "tasks/result" if session.has_tasks() => Ok(Route::Task(TaskVerb::Result)),
        "tasks/list" if session.has_tasks() => Ok(Route::Task(TaskVerb::List)),
        "server/discover" | "subscriptions/listen" => Err(RequestError::no_method()),
        _ if method.starts_with("tasks/") => Err(RequestError::no_method()),
        _ => Ok(Route::Forward),
    }
}
