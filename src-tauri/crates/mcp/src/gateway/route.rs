//! Which part of the gateway answers a method, by era; nothing else is reachable.
//!
//! The tables of protocol.md §1.4, §2.1 and §2.6. Methods that an era removed are not served in it, even if a server has
//! them. A method that is not named here is forwarded at the endpoint of one server, and unknown at that of all servers.

use crate::server::rpc_error::RequestError;
use crate::server::{Client, Session};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Initialize,
    Discover,
    Ping,
    Call,
    Task(TaskVerb),
    List(ListKind),
    Listen,
    /// `resources/subscribe`; with `false`, `resources/unsubscribe`.
    Subscribe(bool),
    SetLevel,
    /// Anything else, forwarded raw.
    Forward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskVerb {
    Get,
    /// Only of 2026-07-28.
    Update,
    Cancel,
    /// Only of 2025-11-25.
    Result,
    /// Only of 2025-11-25.
    List,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of an entry that is its identity.
    pub(super) const fn identity(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// The member of the result that holds the list.
    pub(crate) const fn member(self) -> &'static str {
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
pub(crate) fn route(client: &Client, method: &str) -> Result<Route, RequestError> {
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
        // Removed in this era (protocol.md §2.1, §2.6); other methods of tasks are unknown here.
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
