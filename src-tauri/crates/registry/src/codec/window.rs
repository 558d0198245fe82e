//! A window as columns and a JSON body.
//!
//! The body names tools and the sessions of the agent at its doors, and is sealed because of these. What came in lately
//! is not kept: after a restart the burn begins anew. What a window is stands in `domain::budget::window`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::budget::window::{CarriedTools, ListedTools, MinuteSum, TokenSource, ToolListScope, Window};
use domain::client::profile::ToolListCost;
use domain::ids::{AgentId, ServerId, WindowId};
use domain::time::Timestamp;
use domain::tokens::{Count, Family};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::form::{As, Maybe, Mirror, Newer, OlderRows, column, mirrors, zero_if_null};
use super::primitive::{EncodedWord, IdText, ObjectOf};
use super::tokens::CountPair;
use super::{DecodeError, decode};

/// The tools behind each door, as a list.
struct Shelves;

#[derive(Serialize, Deserialize)]
struct ShelfBody {
    #[serde(default, with = "As::<Maybe<IdText<ServerId>>>")]
    door: ToolListScope,
    session: Option<Arc<str>>,
    #[serde(with = "As::<ObjectOf<Arc<str>, CountPair>>")]
    tools: BTreeMap<Arc<str>, Count>,
    #[serde(with = "As::<CountPair>")]
    own: Count,
    // Written since an emptied window passes nothing on as passed; only where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried: Option<CarriedBody>,
}

#[derive(Serialize, Deserialize)]
struct CarriedBody {
    #[serde(with = "As::<ObjectOf<Arc<str>, CountPair>>")]
    tools: BTreeMap<Arc<str>, Count>,
    #[serde(with = "As::<CountPair>")]
    own: Count,
}

impl From<ListedTools> for ShelfBody {
    fn from(shelf: ListedTools) -> Self {
        let ListedTools { session, tools, own, carried } = shelf;
        let carried = (carried != CarriedTools::default()).then_some(carried);
        let carried = carried.map(|CarriedTools { tools, own }| CarriedBody { tools, own });
        Self { door: None, session, tools, own, carried }
    }
}

impl From<ShelfBody> for ListedTools {
    fn from(body: ShelfBody) -> Self {
        let ShelfBody { door: _, session, tools, own, carried } = body;
        let carried = carried.map(|CarriedBody { tools, own }| CarriedTools { tools, own });
        Self { session, tools, own, carried: carried.unwrap_or_default() }
    }
}

impl Mirror for Shelves {
    type Of = BTreeMap<ToolListScope, ListedTools>;

    fn write<S: Serializer>(value: &Self::Of, serializer: S) -> Result<S::Ok, S::Error> {
        let shelf = |(door, shelf): (&ToolListScope, &ListedTools)| ShelfBody { door: *door, ..shelf.clone().into() };
        serializer.collect_seq(value.iter().map(shelf))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Of, D::Error> {
        let list = Vec::<ShelfBody>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|shelf| (shelf.door, shelf.into())).collect())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolListCost")]
struct ToolListCostDef {
    percent: u16,
    searched: bool,
}

impl OlderRows for ToolListCostDef {
    fn without() -> ToolListCost {
        ToolListCost::STATED
    }
}

/// The body of a window; skipped fields are columns, or not kept.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Window", rename_all = "camelCase")]
pub(crate) struct WindowDef {
    #[serde(skip, default = "column")]
    id: WindowId,
    #[serde(skip, default = "column")]
    agent: AgentId,
    #[serde(with = "As::<EncodedWord<Family>>")]
    family: Family,
    #[serde(skip, default = "column")]
    began: Timestamp,
    #[serde(skip, default = "column")]
    last: Timestamp,
    #[serde(skip)]
    ended: Option<Timestamp>,
    #[serde(with = "As::<Shelves>")]
    shelves: BTreeMap<ToolListScope, ListedTools>,
    #[serde(default = "Newer::<ToolListCostDef>::without", with = "Newer::<ToolListCostDef>")]
    tool_list: ToolListCost,
    #[serde(with = "As::<ObjectOf<TokenSource, CountPair>>")]
    sums: BTreeMap<TokenSource, Count>,
    #[serde(with = "As::<ObjectOf<TokenSource, CountPair>>")]
    passed: BTreeMap<TokenSource, Count>,
    #[serde(with = "As::<CountPair>")]
    kept_out: Count,
    // Written since limits count what makers do not say.
    #[serde(default, deserialize_with = "zero_if_null")]
    unsaid: u64,
    #[serde(skip)]
    lately: VecDeque<MinuteSum>,
}

mirrors! {
    ToolListCostDef => ToolListCost;
    WindowDef => Window, upgrade upgrade;
}

/// Rows from before there were two figures: all that was passed is taken to be in the window.
fn upgrade(body: &mut Value) {
    let Value::Object(fields) = body else { return };
    if fields.get("passed").is_none_or(Value::is_null) {
        let sums = fields.get("sums").cloned().unwrap_or_default();
        fields.insert("passed".into(), sums);
    }
}

/// The columns of a window, as read.
#[derive(Debug)]
pub(crate) struct WindowColumns<'a> {
    pub(crate) id: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) began: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) ended: Option<Timestamp>,
}

/// Reads a window from its columns and its body.
pub(crate) fn read(columns: &WindowColumns<'_>, body: Value) -> Result<Window, DecodeError> {
    let id = |name: &str| DecodeError::new(name, "does not read as an id");
    let mut window = decode::<WindowDef>(body)?;
    window.id = columns.id.parse().map_err(|_| id("id"))?;
    window.agent = columns.agent.parse().map_err(|_| id("agent"))?;
    (window.began, window.last, window.ended) = (columns.began, columns.last, columns.ended);
    Ok(window)
}
