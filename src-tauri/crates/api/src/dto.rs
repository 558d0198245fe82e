//! Plain data in the user's vocabulary, as it stands in JSON (ruling 20).
//!
//! camelCase keys, ISO 8601 times with milliseconds, durations that end in `Ms`. Nothing here decides: phases come
//! from `domain`, and upstream ids and sessions never stand here. `task.rs` is a task, `request.rs` its questions,
//! `server.rs` a server with its tools, `agent.rs` an agent with its rules, `program.rs` what is known of its program and
//! `program_settings.rs` what to paste there; `kin.rs` what tasks have to do with each other; `budget.rs` what stands in
//! windows; `row.rs`, `waiting.rs` and `list.rs` are what lists show.

pub mod agent;
pub mod budget;
pub mod content;
pub mod core;
mod counted;
pub mod desk;
pub mod facts;
pub mod figures;
pub mod history;
pub mod kin;
pub mod list;
pub mod program;
pub mod program_settings;
pub mod request;
pub mod row;
pub mod server;
pub mod storage;
pub mod task;
pub mod waiting;

pub use agent::{AgentFacts, AgentsAt, RepeatDto, RuleDto, ScopeDto, WhoIsAsked};
pub use budget::{
    AtLimitDto, BudgetChoices, BudgetDto, BudgetList, BudgetShown, ComingDto, ComingState, ExactnessDto, FamilyDto,
    LimitDto, ModelDto, OneAgent, OverLimitDto, SeriesDto, SeriesPoint, SetBudget, ShowSeries, ShowWaste, SizeFromDto,
    SourceDto, SourcePart, TokensDto, ToolCost, WasteDto, WasteList, WindowDto,
};
pub use content::{ContentDto, PartDto, PieceDto};
pub use core::{CoreDto, NoticesGo};
pub(crate) use counted::sources;
pub use desk::{DeskItemDto, SettingsDto, Theme};
pub use facts::{ContactDto, ErrorDto, IntentDto, ProgressDto, ResultDto, UsualDto};
pub use figures::{InboxFigures, TaskFigures, Totals};
pub use history::{ActorDto, DoorDto, HistoryDto, HistoryEvent, OriginDto, RawDto, RawListDto};
pub use kin::{FormDto, HeldDto, HeldWhy, JobDto, KinDto, ParentDto, VerdictDto};
pub use list::{Flag, ListGroup, ListQuery, ListView};
pub use program::{LongResultDto, ProgramChoice, ProgramDto, ProgramFromDto, ShownPartDto};
pub use program_settings::{ProgramSettings, ReadySettings, SettingsPlace, SettingsText, SettingsTransport};
pub use request::{AnswerDto, InboxDto, InboxRow, RequestDto};
pub use row::TaskRow;
pub use server::{AddressDto, CancelsDto, HealthDto, RefusedQuestionsDto, ServerDto, ToolDto};
pub use storage::{AuditVerifiedDto, RecordingDto, StorageDto};
pub use task::{LogLineDto, TaskDto, TaskListDto};
pub use waiting::WaitingRow;

use std::time::Duration;

use domain::time::Timestamp;

/// A moment as it stands in JSON.
pub(crate) fn iso(at: Timestamp) -> String {
    at.to_string()
}

/// A duration as it stands in JSON.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Reads a moment of ours back.
#[must_use]
pub fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
