//! Control tokens: what a supervisor program may end, and where (decision 0065).
//!
//! The token is given once, when it is made; only its digest is kept. What it opens is `control.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::agent::control_token::{ControlReach, ControlScope, ControlToken, ReachedTool};
use domain::agent::{TokenDigest, check_agent_name};
use domain::ids::ControlTokenId;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::dto::halt::ToolOfServer;
use crate::dto::iso;
use crate::error::{ApiError, Code};
use crate::lookup::{Names, short};

/// A control token to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[ts(optional_fields = nullable)]
pub struct AddControlToken {
    pub name: String,
    /// What it may do: `read`, `cancel`, `revoke` (which cancels as well), `halt`, `pause`.
    pub scopes: Vec<String>,
    /// It reaches the tasks of these agents only.
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agents: Vec<String>,
    /// It reaches tasks on these servers only.
    #[ts(optional, as = "Option<Vec<String>>")]
    pub servers: Vec<String>,
    /// It reaches calls of these tools only.
    #[ts(optional, as = "Option<Vec<ToolOfServer>>")]
    pub tools: Vec<ToolOfServer>,
    /// It reaches everything; without this, a condition must be given.
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
    /// The agent that holds it, whose own tasks it does not reach.
    pub held_by: Option<String>,
    /// It reaches the tasks of the agent that holds it, and no others.
    #[ts(optional, as = "Option<bool>")]
    pub own_tasks: bool,
    /// Tasks that one call may end.
    pub per_call: Option<u32>,
    /// Tasks that it may end in an hour.
    pub per_hour: Option<u32>,
    #[ts(optional, as = "Option<bool>")]
    pub needs_reason: bool,
    /// It ends tasks by a plan only.
    #[ts(optional, as = "Option<bool>")]
    pub needs_plan: bool,
    /// How long it is valid; for ever when left out.
    pub valid_ms: Option<u64>,
}

/// The control token to revoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneControlToken {
    /// Its name or id.
    pub name: String,
}

/// A control token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ControlTokenFacts {
    pub id: String,
    pub name: String,
    pub scopes: Vec<String>,
    pub agents: Vec<String>,
    pub servers: Vec<String>,
    pub tools: Vec<ToolOfServer>,
    pub own_tasks: bool,
    pub held_by: Option<String>,
    pub per_call: u32,
    pub per_hour: u32,
    pub needs_reason: bool,
    pub needs_plan: bool,
    /// The person who made it.
    pub by: String,
    pub created_at: String,
    pub until: Option<String>,
    pub revoked_at: Option<String>,
    /// Whether it opens anything now.
    pub in_force: bool,
}

/// A control token that was made. Has no `Debug`: it carries the token.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ControlTokenAdded {
    pub facts: ControlTokenFacts,
    /// `twc_…`, given this once.
    pub token: String,
    /// Where it is used; null while the core has no listener.
    pub url: Option<String>,
}

/// All control tokens, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ControlTokenList {
    pub tokens: Vec<ControlTokenFacts>,
}

impl Api {
    /// Makes a control token, and gives it this once.
    ///
    /// # Errors
    /// When the name cannot be one or is taken, a scope or a name is unknown, nothing says what it reaches, or it cannot be
    /// recorded: then there is none.
    pub async fn control_token_add(
        &self,
        caller: &Caller,
        input: AddControlToken,
    ) -> Result<ControlTokenAdded, ApiError> {
        let live = self.live()?;
        check_agent_name(&input.name).map_err(|_| {
            ApiError::new(
                Code::Usage,
                format!("`{}` cannot be the name of a control token", short(&input.name)),
                "Use 1 to 40 of a-z, 0-9, dot, dash and underscore, such as `night-watch`.",
            )
        })?;
        let scopes = input.scopes.iter().map(|word| scope(word)).collect::<Result<BTreeSet<_>, _>>()?;
        if scopes.is_empty() {
            return Err(usage(
                "a control token needs a scope",
                "Give at least one of `read`, `cancel`, `revoke`, `halt`, `pause`.",
            ));
        }
        let owner = match &input.held_by {
            Some(name) => Some(self.find_agent(name).await?.id),
            None => None,
        };
        if input.own_tasks && owner.is_none() {
            let hint = "Name the agent that holds the token with `--held-by AGENT`.";
            return Err(usage("only a token that an agent holds has tasks of its own", hint));
        }
        let reach = self.reach_of(&input).await?;
        let policy = &self.policy.control.tokens;
        let now = self.now();
        let bounded = |wanted: Option<u32>, fallback: u32, what: &str| match wanted.unwrap_or(fallback) {
            many if (1..=self.policy.asking.stops_max).contains(&many) => Ok(many),
            many => Err(usage(
                &format!("a token cannot end {many} tasks {what}"),
                &format!("Give a number from 1 to {}.", self.policy.asking.stops_max),
            )),
        };
        let secret = new_secret(&live.draw, policy.token_bytes);
        let token = ControlToken {
            id: ControlTokenId::from_random((live.draw)()),
            name: input.name,
            digest: TokenDigest::of(&secret),
            scopes,
            reach,
            owner,
            per_call: bounded(input.per_call, policy.per_call, "in one call")?,
            per_hour: bounded(input.per_hour, policy.per_hour, "in an hour")?,
            needs_reason: input.needs_reason,
            needs_plan: input.needs_plan,
            created: now,
            by: caller.person.clone(),
            until: match input.valid_ms {
                Some(0) => return Err(usage("a token that is valid for no time opens nothing", "Give a longer time.")),
                Some(millis) => Some(now.plus(Duration::from_millis(millis))),
                None => None,
            },
            revoked: None,
        };
        let token = live.engine.add_control_token(token).await?;
        let url = (live.agents_at)().url.as_deref().and_then(control_url);
        let facts = self.control_token_facts(&token, &mut self.names().await?).await?;
        Ok(ControlTokenAdded { facts, token: secret, url })
    }

    /// All control tokens.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn control_token_list(&self, _caller: &Caller, _input: Nothing) -> Result<ControlTokenList, ApiError> {
        let (mut names, mut tokens) = (self.names().await?, Vec::new());
        for token in self.registry.control_tokens().await? {
            tokens.push(self.control_token_facts(&token, &mut names).await?);
        }
        Ok(ControlTokenList { tokens })
    }

    /// Revokes a control token: it opens nothing from now on, and what it began ends after the current task.
    ///
    /// # Errors
    /// When there is none of this name in force.
    pub async fn control_token_revoke(
        &self,
        caller: &Caller,
        input: OneControlToken,
    ) -> Result<ControlTokenFacts, ApiError> {
        let live = self.live()?;
        let all = live.engine.control_tokens();
        let is_named = |token: &ControlToken| token.name == input.name || token.id.to_string() == input.name;
        // Of several of one name, all but one were revoked before, or their time is over.
        let known = all.iter().filter(|token| is_named(token)).min_by_key(|token| token.revoked.is_some());
        let known = known.ok_or_else(|| {
            ApiError::new(
                Code::NotFound,
                format!("there is no control token `{}`", short(&input.name)),
                "`taskwarden control list` lists the control tokens.",
            )
        })?;
        if let Some(at) = known.revoked {
            return Err(ApiError::new(
                Code::Refused,
                format!("control token `{}` was already revoked at {at}", known.name),
                "`taskwarden control list` lists the control tokens.",
            ));
        }
        let revoked = live.engine.revoke_control_token(known.id, caller.person.clone()).await?;
        self.control_token_facts(&revoked, &mut self.names().await?).await
    }

    async fn reach_of(&self, input: &AddControlToken) -> Result<ControlReach, ApiError> {
        let mut reach = ControlReach { own_tasks: input.own_tasks, ..ControlReach::default() };
        for name in &input.agents {
            reach.agents.insert(self.find_agent(name).await?.id);
        }
        for name in &input.servers {
            reach.servers.insert(self.find_server(name).await?.id);
        }
        for ToolOfServer { server, tool } in &input.tools {
            let server = self.find_server(server).await?.id;
            reach.tools.insert(ReachedTool { server, tool: tool.as_str().into() });
        }
        match (reach == ControlReach::default(), input.all) {
            (true, false) => Err(usage(
                "nothing says what the control token reaches",
                "Name agents, servers or tools with `--agent`, `--server` or `--tool`, or reach everything with `--all`.",
            )),
            (false, true) => Err(usage(
                "a control token reaches everything, or what is named",
                "Leave out `--all`, or `--agent`, `--server`, `--tool` and `--own-tasks`.",
            )),
            (true, true) | (false, false) => Ok(reach),
        }
    }

    async fn control_token_facts(
        &self,
        token: &ControlToken,
        names: &mut Names,
    ) -> Result<ControlTokenFacts, ApiError> {
        let (mut agents, mut servers, mut tools) = (Vec::new(), Vec::new(), Vec::new());
        for id in &token.reach.agents {
            agents.push(self.agent_name(*id, names).await?);
        }
        for id in &token.reach.servers {
            servers.push(self.server_name(*id, names).await?);
        }
        for ReachedTool { server, tool } in &token.reach.tools {
            tools.push(ToolOfServer { server: self.server_name(*server, names).await?, tool: tool.to_string() });
        }
        Ok(ControlTokenFacts {
            id: token.id.to_string(),
            name: token.name.clone(),
            scopes: token.scopes.iter().map(|scope| scope.word().to_owned()).collect(),
            agents,
            servers,
            tools,
            own_tasks: token.reach.own_tasks,
            held_by: match token.owner {
                Some(id) => Some(self.agent_name(id, names).await?),
                None => None,
            },
            per_call: token.per_call,
            per_hour: token.per_hour,
            needs_reason: token.needs_reason,
            needs_plan: token.needs_plan,
            by: token.by.to_string(),
            created_at: iso(token.created),
            until: token.until.map(iso),
            revoked_at: token.revoked.map(iso),
            in_force: token.is_in_force(self.now()),
        })
    }
}

fn scope(word: &str) -> Result<ControlScope, ApiError> {
    ControlScope::from_word(word).ok_or_else(|| {
        let words: Vec<String> = ControlScope::ALL.iter().map(|scope| format!("`{}`", scope.word())).collect();
        usage(
            &format!("there is no scope `{}`", short(word)),
            &format!("Scopes are {}; a control token can only make things safer.", words.join(", ")),
        )
    })
}

fn usage(message: &str, hint: &str) -> ApiError {
    ApiError::new(Code::Usage, message, hint)
}

/// The address of the control API at the listener that serves agents at this one.
fn control_url(agents: &str) -> Option<String> {
    agents.strip_suffix("/mcp").map(|listener| format!("{listener}/api/v1"))
}

/// A new token: `twc_` and random bytes in base64url.
fn new_secret(draw: &engine::Draw, bytes: usize) -> String {
    let mut random = Vec::with_capacity(bytes.saturating_add(16));
    while random.len() < bytes {
        random.extend(draw().to_le_bytes());
    }
    random.truncate(bytes);
    format!("{}{}", ControlToken::PREFIX, URL_SAFE_NO_PAD.encode(random))
}
