//! Plain data in the user's vocabulary, as it appears in JSON (ruling 20).
//!
//! camelCase keys, ISO 8601 times with milliseconds, durations that end in `Ms`. Nothing here decides: phases come from
//! `domain`. Upstream task ids and session ids never appear. Each file or folder is one noun of `calls/`.

pub mod agent;
pub mod alarm;
pub mod budget;
pub mod client;
pub mod core;
pub mod figures;
pub mod halt;
pub mod inbox;
pub mod pause;
pub mod plan;
pub mod server;
pub mod task;
pub mod user_data;
pub mod words;

pub use agent::program::{LongResultDto, ProgramChoice, ProgramDto, ProgramFromDto, ShownPartDto};
pub use agent::program_settings::{ProgramSettings, ReadySettings, SettingsPlace, SettingsText, SettingsTransport};
pub use agent::{
    AgentDoorDto, AgentFacts, AgentSessionDto, AgentsAt, RepeatDto, RuleDto, SameCallLimitDto, ScopeDto, WhoIsAsked,
};
pub(crate) use budget::from_domain::sources;
pub use budget::{
    AtLimitDto, BudgetChoices, BudgetDto, BudgetList, BudgetShown, ExactnessDto, FamilyDto, LimitDto, ModelDto,
    OneAgent, OverLimitDto, PendingResultDto, PendingStateDto, SeriesDto, SeriesPoint, SetBudget, ShowSeries,
    ShowWaste, SizeFromDto, SourceDto, SourcePart, TokensDto, ToolCost, WasteDto, WasteList, WindowDto,
};
pub use core::storage::{AuditRecheckedDto, AuditVerifiedDto, RecordingDto, StorageDto};
pub use core::{CoreDto, NoticesGo};
pub use figures::{InboxFigures, TaskFigures, Totals};
pub use inbox::request::{AnswerDto, DeliveryDto, InboxDto, InboxQuestion, RequestDto};
pub use inbox::row::InboxRow;
pub use server::{
    AddressDto, CancelsDto, HealthDto, NotOfferedDto, NotOfferedToolsDto, RefusedQuestionsDto, ServerDto, ToolDto,
};
pub use task::content::{ContentDto, PartDto, PieceDto};
pub use task::facts::{ContactDto, EndedHow, ErrorDto, IntentDto, ProgressDto, ResultDto, ServerEndedDto, UsualDto};
pub use task::history::{ActorDto, DoorDto, HistoryDto, HistoryEvent, OriginDto, RawDto, RawListDto};
pub use task::list::{ListGroup, ListQuery, ListView, TaskFlagDto, TextReachDto};
pub use task::related_tasks::{FormDto, HeldDto, HeldWhy, JobDto, ParentDto, RelatedTaskDto, VerdictDto};
pub use task::row::TaskRow;
pub use task::{LogLineDto, TaskDto, TaskListDto};
pub use user_data::{SettingsDto, Theme, UserDataDto};

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
