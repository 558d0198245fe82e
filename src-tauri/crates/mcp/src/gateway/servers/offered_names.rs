//! Under which name an agent is offered a tool of a server, and which tool such a name means (decision 0046).
//!
//! One function for lists and calls, so that a call reaches the tool that was listed. Which names are valid is
//! `domain::server::tool_names`; prefixes are `names.rs`.

use std::borrow::Cow;

use domain::ids::ServerId;
use domain::server::tool_names::is_tool_name;

use crate::gateway::model_text::tool_definitions;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::names;
use crate::gateway::servers::names::NamedServer;

/// How the tools of one server are named at the endpoint of a request.
pub(crate) struct OfferedNames {
    /// The server's part of names.
    slug: String,
    /// Every name has the prefix: the endpoint is that of all servers.
    is_of_all: bool,
    /// The names of the four task tools are ours for this client.
    has_task_tools: bool,
}

impl OfferedNames {
    pub(crate) fn of(context: &RequestContext, server: &NamedServer) -> Self {
        Self {
            slug: server.slug.clone(),
            is_of_all: context.server.is_none(),
            has_task_tools: context.has_task_tools(),
        }
    }

    /// The same for the server with this id; `None` when it was removed.
    pub(crate) fn of_server(context: &RequestContext, server: ServerId) -> Option<Self> {
        let servers = context.state.named_servers();
        servers.iter().find(|named| named.id == server).map(|named| Self::of(context, named))
    }

    /// What the agent calls a tool of this name; `None` where it is not offered.
    pub(crate) fn name<'t>(&self, tool: &'t str) -> Option<Cow<'t, str>> {
        if !is_tool_name(tool) {
            return None;
        }
        let is_ours = self.has_task_tools && tool_definitions::NAMES.contains(&tool);
        Some(if self.is_of_all || is_ours {
            Cow::Owned(names::prefixed(&self.slug, tool))
        } else {
            Cow::Borrowed(tool)
        })
    }

    /// The first of the listed tools that is offered under this name.
    pub(crate) fn find<'l>(&self, listed: impl IntoIterator<Item = Cow<'l, str>>, name: &str) -> Option<Cow<'l, str>> {
        listed.into_iter().find(|tool| self.name(tool).is_some_and(|offered| offered == name))
    }

    /// The tool of the server that has another name at the server's own endpoint, because one of ours has its name.
    pub(crate) fn renamed(&self, name: &str) -> Option<&'static str> {
        let may_be = self.has_task_tools && !self.is_of_all && may_have_prefix(name);
        let mut ours = tool_definitions::NAMES.into_iter().filter(|_| may_be);
        ours.find(|ours| names::prefixed(&self.slug, ours) == name)
    }
}

/// Whether this name may be one with a prefix at the endpoint of one server. Most names are not, and nothing is looked
/// up for them.
pub(crate) fn may_be_renamed(context: &RequestContext, name: &str) -> bool {
    context.server.is_some() && context.has_task_tools() && may_have_prefix(name)
}

fn may_have_prefix(name: &str) -> bool {
    names::split(name).is_some() || names::may_be_shortened(name)
}

/// Whether this name is one of our four task tools for this agent.
pub(crate) fn is_task_tool(context: &RequestContext, name: &str) -> bool {
    tool_definitions::NAMES.contains(&name) && context.has_task_tools()
}

/// Whether this may be the name of a server's tool: it is valid, and none of ours.
pub(crate) fn may_be_of_server(context: &RequestContext, name: &str) -> bool {
    is_tool_name(name) && !is_task_tool(context, name)
}
