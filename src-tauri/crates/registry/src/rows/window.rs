//! A window as columns and a JSON body.
//!
//! The body names tools and the sessions of the agent at its doors, and is sealed because of these. What came in lately
//! is not kept: after a restart the burn begins anew. What a window is stands in `domain::budget::window`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::client::profile::ToolListCost;
use domain::time::Timestamp;
use domain::tokens::Count;
use domain::budget::window::{ListedTools, TokenSource, ToolListScope, Window};
use serde_json::{Map, Value, json};

use super::budget::{count, read_count, read_family};
use super::{ENCODING, Fields, Flaw, Read};

/// The columns of a window, as read.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    /// `id`.
    pub(crate) id: &'a str,
    /// `agent`.
    pub(crate) agent: &'a str,
    /// `began`.
    pub(crate) began: Timestamp,
    /// `last`.
    pub(crate) last: Timestamp,
    /// `ended`.
    pub(crate) ended: Option<Timestamp>,
}

fn shelf((door, shelf): (&ToolListScope, &ListedTools)) -> Value {
    let ListedTools { session, tools, own } = shelf;
    let tools: Map<String, Value> = tools.iter().map(|(tool, cost)| (tool.to_string(), count(*cost))).collect();
    json!({ "door": door.map(|id| id.to_string()), "session": session.as_deref(), "tools": tools, "own": count(*own) })
}

fn read_shelf(value: &Value) -> Read<(ToolListScope, ListedTools)> {
    let fields = Fields::of(value, "shelf")?;
    let tools = fields.raw("tools")?.as_object().ok_or_else(|| Flaw::new("tools", "is not an object"))?;
    let tool = |(tool, cost): (&String, &Value)| Ok((Arc::from(tool.as_str()), read_count(cost, "tools")?));
    let shelf = ListedTools {
        session: fields.maybe_text("session")?.map(Into::into),
        tools: tools.iter().map(tool).collect::<Read<BTreeMap<Arc<str>, Count>>>()?,
        own: read_count(fields.raw("own")?, "own")?,
    };
    Ok((fields.get("door").map(|_| fields.parsed("door")).transpose()?, shelf))
}

/// Writes the body of a window.
pub(crate) fn body(window: &Window) -> Value {
    let Window { id: _, agent: _, family, began: _, last: _, ended: _, lately: _, .. } = window;
    let Window { shelves, tool_list, sums, passed, kept_out, unsaid, .. } = window;
    let by_source = |sums: &BTreeMap<TokenSource, Count>| -> Map<String, Value> {
        sums.iter().map(|(source, sum)| (source.word().to_owned(), count(*sum))).collect()
    };
    json!({
        "v": ENCODING,
        "family": family.word(),
        "shelves": shelves.iter().map(shelf).collect::<Vec<_>>(),
        "toolList": { "percent": tool_list.percent, "searched": tool_list.searched },
        "sums": by_source(sums),
        "passed": by_source(passed),
        "keptOut": count(*kept_out),
        "unsaid": unsaid,
    })
}

/// Reads a window.
pub(crate) fn read(columns: &Columns<'_>, body: &Value) -> Read<Window> {
    let fields = Fields::stored(body, "body")?;
    let id = |name: &str| Flaw::new(name, "does not read as an id");
    let shelves = fields.raw("shelves")?.as_array().ok_or_else(|| Flaw::new("shelves", "is not a list"))?;
    let by_source = |name: &str| -> Read<BTreeMap<TokenSource, Count>> {
        let sums = fields.raw(name)?.as_object().ok_or_else(|| Flaw::new(name, "is not an object"))?;
        let sum = |(word, sum): (&String, &Value)| {
            let source = TokenSource::from_word(word).ok_or_else(|| Flaw::word(name, word))?;
            Ok((source, read_count(sum, name)?))
        };
        sums.iter().map(sum).collect()
    };
    let sums = by_source("sums")?;
    let tool_list = |fields: Fields<'_>| {
        let percent = u16::try_from(fields.u64("percent")?).map_err(|_| Flaw::new("percent", "is too large"))?;
        Ok(ToolListCost { percent, searched: fields.flag("searched")? })
    };
    Ok(Window {
        id: columns.id.parse().map_err(|_| id("id"))?,
        agent: columns.agent.parse().map_err(|_| id("agent"))?,
        family: read_family(fields.text("family")?)?,
        began: columns.began,
        last: columns.last,
        ended: columns.ended,
        shelves: shelves.iter().map(read_shelf).collect::<Read<_>>()?,
        // Written since there are two figures; before, all that was passed stood in the window.
        tool_list: fields.maybe_inner("toolList", tool_list)?.unwrap_or(ToolListCost::STATED),
        passed: fields.get("passed").map_or_else(|| Ok(sums.clone()), |_| by_source("passed"))?,
        sums,
        kept_out: read_count(fields.raw("keptOut")?, "keptOut")?,
        // Written since limits count what makers do not say.
        unsaid: fields.get("unsaid").map_or(Ok(0), |_| fields.u64("unsaid"))?,
        lately: VecDeque::new(),
    })
}
