//! The tools of a server, as last listed on this connection.
//!
//! One listing at a time, bounded in pages, bytes and entries, and so is what of it is compiled. A change notification
//! drops the list with everything compiled. Tools whose header annotations are invalid are hidden over modern HTTP. Calls
//! and checks use the cached list; people get a fresh one.

pub(crate) mod argument_check;
mod compiled_schemas;
pub(crate) mod param_headers;
pub(crate) mod schema_cost;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::policy::Policy;
use domain::ports::{ArgumentError, ToolFacts, UpstreamError};
use domain::task::payload::Payload;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::connection::Connection;
use crate::upstream::negotiation::Generation;
use crate::upstream::port_errors::upstream_error;
use crate::upstream::tool_cache::compiled_schemas::CompiledSchemas;
use crate::upstream::tool_cache::param_headers::ParamHeader;
use crate::upstream::transport::link::Answer;
use crate::wire::dialect::page_params;
use crate::wire::view::{JsonFields, Misread, ServerError, TaskSupport, ToolEntry, tool};

pub(crate) use param_headers::param_headers;

/// The method that lists tools.
const LIST: &str = "tools/list";
/// Completes "this server cannot …".
const VERB: &str = "list its tools";
/// Lists of fewer bytes are read in place. Judgement: that takes a few milliseconds in a debug build.
const IN_PLACE_BYTES: usize = 64 * 1_024;
/// Tools named in the error for an unknown tool. Judgement: one line.
const NAMES_TOLD: usize = 12;

/// The list of one connection.
#[derive(Default)]
pub(crate) struct ToolCache {
    kept: Mutex<Option<Arc<CachedTools>>>,
    listing: tokio::sync::Mutex<()>,
    /// One check at a time, so that a server's schemas cannot take all threads for blocking work. The check holds it, not
    /// who waits for it.
    checking: Arc<tokio::sync::Mutex<()>>,
    changes: AtomicU64,
}

/// One reading of the list.
#[derive(Default)]
pub(crate) struct CachedTools {
    tools: Vec<ListedTool>,
    by_name: HashMap<String, usize>,
    /// Bytes of the pages as they came.
    bytes: usize,
    compiled: Mutex<CompiledSchemas>,
}

/// A tool, with its header annotations.
pub(crate) struct ListedTool {
    pub(crate) tool: ToolEntry,
    /// Mirrored parameters; empty where they do not matter.
    pub(crate) headers: Vec<ParamHeader>,
}

impl CachedTools {
    /// A tool by its name.
    pub(crate) fn find(&self, name: &str) -> Option<&ListedTool> {
        self.by_name.get(name).and_then(|index| self.tools.get(*index))
    }

    fn check(&self, name: &str, arguments: &serde_json::Value, policy: &Policy) -> Result<(), ArgumentError> {
        let Some((place, listed)) = self.by_name.get(name).and_then(|at| Some((*at, self.tools.get(*at)?))) else {
            let known = self.tools.iter().take(NAMES_TOLD).map(|listed| listed.tool.name.clone()).collect();
            return Err(ArgumentError::UnknownTool { tool: name.to_owned(), known });
        };
        let validator = self.compiled.lock().of_tool(place, &listed.tool.input_schema, policy);
        validator.map_or(Ok(()), |validator| argument_check::check(&validator, arguments))
    }
}

impl Connection {
    /// The tools for people, listed now.
    pub(crate) async fn tool_facts(&self) -> Result<Vec<ToolFacts>, UpstreamError> {
        let list = self.list_tools(true).await?;
        let (generation, augments, bytes) = (self.generation, self.augments, list.bytes);
        let facts = move || {
            let facts =
                |listed: &ListedTool| listed.tool.facts(support_word(generation, augments, listed.tool.support));
            list.tools.iter().map(facts).collect()
        };
        aside(bytes, facts).await
    }

    /// The cached list, or a fresh one.
    pub(crate) async fn tool_list(&self) -> Result<Arc<CachedTools>, UpstreamError> {
        self.list_tools(false).await
    }

    /// Drops the list, because it changed or is outdated.
    pub(crate) fn drop_tools(&self) {
        self.tools.changes.fetch_add(1, Ordering::AcqRel);
        self.tools.kept.lock().take();
    }

    /// Checks arguments against the cached list, and against a fresh one before it refuses: tools may have
    /// changed without notice.
    pub(crate) async fn check_tool_arguments(&self, tool: &str, arguments: &Payload) -> Result<(), ArgumentError> {
        let value = Arc::new(argument_check::object_of(arguments, &self.policy)?);
        let kept = self.tools.kept.lock().clone();
        if let Some(kept) = kept
            && self.check_aside(kept, tool, &value).await.is_ok()
        {
            return Ok(());
        }
        match self.list_tools(true).await {
            Ok(list) => self.check_aside(list, tool, &value).await,
            Err(failed) => {
                tracing::debug!(error = %failed, "arguments are left to the server: its tools cannot be listed");
                Ok(())
            }
        }
    }

    /// Checks off the runtime's workers, because a server's schema may take long to compile. What cannot be checked
    /// is left to the server.
    async fn check_aside(
        &self,
        list: Arc<CachedTools>,
        tool: &str,
        arguments: &Arc<serde_json::Value>,
    ) -> Result<(), ArgumentError> {
        let (tool, arguments, policy) = (tool.to_owned(), Arc::clone(arguments), Arc::clone(&self.policy));
        let turn = Arc::clone(&self.tools.checking).lock_owned().await;
        let checking = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            list.check(&tool, &arguments, &policy)
        });
        checking.await.unwrap_or(Ok(()))
    }

    async fn list_tools(&self, fresh: bool) -> Result<Arc<CachedTools>, UpstreamError> {
        let kept = || self.tools.kept.lock().clone();
        if let (false, Some(list)) = (fresh, kept()) {
            return Ok(list);
        }
        let _one = self.tools.listing.lock().await;
        if let (false, Some(list)) = (fresh, kept()) {
            return Ok(list);
        }
        let changes = self.tools.changes.load(Ordering::Acquire);
        let list = Arc::new(self.read_all_tools().await?);
        if self.tools.changes.load(Ordering::Acquire) == changes {
            *self.tools.kept.lock() = Some(Arc::clone(&list));
        }
        Ok(list)
    }

    async fn read_all_tools(&self) -> Result<CachedTools, UpstreamError> {
        let mut list = CachedTools::default();
        let mut cursor: Option<String> = None;
        let mut bytes = 0usize;
        for _page in 0..self.policy.list_pages_max {
            let params = page_params(cursor.as_deref());
            let answer = self.ask(LIST, params).await.map_err(|failed| upstream_error(failed, &self.policy))?;
            let raw = match answer {
                Answer::Result(raw) => raw,
                Answer::Error(raw) => return Err(ServerError::read(&raw, &self.policy).of_method(VERB)),
            };
            bytes = bytes.saturating_add(raw.get().len());
            let next;
            (list, next) = self.with_page(list, raw).await?;
            let full = bytes > self.policy.message_cap_bytes || list.tools.len() >= self.policy.shares.tools_per_server;
            if next.is_none() || next == cursor || full {
                break;
            }
            cursor = next;
        }
        Ok(list)
    }

    /// The list with another page.
    async fn with_page(
        &self,
        mut list: CachedTools,
        raw: Box<RawValue>,
    ) -> Result<(CachedTools, Option<String>), UpstreamError> {
        let (policy, mirrors_params) = (Arc::clone(&self.policy), self.mirrors_params);
        let bytes = raw.get().len();
        let read = move || {
            let next = add_page(&raw, &mut list, &policy, mirrors_params);
            next.map(|next| (list, next)).map_err(|misread| misread.of(&raw, &policy))
        };
        aside(bytes, read).await?
    }
}

const fn support_word(generation: Generation, augments: bool, support: TaskSupport) -> &'static str {
    match (generation, augments, support) {
        (Generation::Extension2026, _, _) => "server decides",
        (Generation::Experimental2025, true, TaskSupport::Optional) => "optional",
        (Generation::Experimental2025, true, TaskSupport::Required) => "required",
        (Generation::Experimental2025, _, _) => "forbidden",
    }
}

/// Does this with a list of so many bytes: beside the runtime's threads where it is long, because a server decides how
/// long it is.
async fn aside<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> Result<T, UpstreamError> {
    if bytes < IN_PLACE_BYTES {
        return Ok(work());
    }
    let unread = |_| UpstreamError::Unreadable { path: "$.result".into(), why: "reading it ended".into(), raw: None };
    tokio::task::spawn_blocking(work).await.map_err(unread)
}

/// Adds what one page lists. Returns where the next one begins.
fn add_page(
    raw: &RawValue,
    list: &mut CachedTools,
    policy: &Policy,
    mirrors_params: bool,
) -> Result<Option<String>, Misread> {
    list.bytes = list.bytes.saturating_add(raw.get().len());
    let page = JsonFields::of(raw, "$.result")?;
    if let Some(kind) = page.text("resultType").filter(|kind| kind != "complete") {
        let why = if kind == "task" { "is a task, which only a call may bring" } else { "does not fit this method" };
        return Err(Misread::new(page.path("resultType"), why));
    }
    for (index, entry) in page.list("tools")?.into_iter().enumerate() {
        if list.tools.len() >= policy.shares.tools_per_server {
            break;
        }
        match tool(entry, format!("$.result.tools[{index}]"), policy) {
            Ok(tool) => add_tool(tool, list, mirrors_params),
            Err(misread) => tracing::debug!(path = %misread.path, "a tool is left out: {}", misread.why),
        }
    }
    Ok(page.text("nextCursor").filter(|next| !next.is_empty()))
}

fn add_tool(tool: ToolEntry, list: &mut CachedTools, mirrors_params: bool) {
    let headers = match (mirrors_params, param_headers(&tool.input_schema)) {
        (true, Ok(headers)) => headers,
        (true, Err(bad)) => {
            tracing::warn!("a tool is hidden, because its header annotations cannot be kept: {bad}");
            return;
        }
        (false, _) => Vec::new(),
    };
    // Of several tools with one name agents are offered the first.
    list.by_name.entry(tool.name.clone()).or_insert(list.tools.len());
    list.tools.push(ListedTool { tool, headers });
}
