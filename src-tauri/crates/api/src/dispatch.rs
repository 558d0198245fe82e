//! Maps a name to its call, for every door: JSON text in, JSON text out, so that payloads pass byte for byte.
//!
//! To add a call, add one line to the table: its name, the ability its caller needs, the method, and its types. Doors know
//! names only, and `bindings.rs` writes the same table as TypeScript, so that the window cannot drift from it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::agents::connection_check::ConnectionCheck;
use crate::calls::agents::new_token::NewAgentToken;
use crate::calls::agents::{AddAgent, AgentAdded, AgentList, AgentRevoked, RevokeAgent};
use crate::calls::core::doctor::CoreFacts;
use crate::calls::core::findings::DoctorReport;
use crate::calls::core::limits::LimitList;
use crate::calls::core::sessions::{RevokeSessions, SessionList};
use crate::calls::core::storage::{CleanStorage, SetStorage, StorageCleaned, VerifyAudit};
use crate::calls::inbox::ReadInbox;
use crate::calls::inbox::answer::{AnswerGiven, AnswerRequest, UndoAnswer};
use crate::calls::inbox::answer_many::{AnswerMany, ManyAnswered, UndoMany};
use crate::calls::inbox::answer_rules::{OneAnswerRule, RememberRequest};
use crate::calls::inbox::answered::ListAnswered;
use crate::calls::inbox::lost::{LostResolved, ResolveLost};
use crate::calls::rules::RuleList;
use crate::calls::servers::change::ChangeServer;
use crate::calls::servers::running::{ActOnServer, ReadServerLog, ServerActed};
use crate::calls::servers::tools::{OneChangedTool, SeeTools, ServerTools};
use crate::calls::servers::{
    AddServer, LocateProgram, ProgramLocated, RemoveServer, ServerAdded, ServerList, ServerRemoved,
};
use crate::calls::tasks::answers::AnswerContents;
use crate::calls::tasks::cancel::{CancelList, CancelTasks, RevokeTask};
use crate::calls::tasks::content::{ReadPiece, ShowContent};
use crate::calls::tasks::hide::{HiddenList, HideTasks};
use crate::calls::tasks::history::Unwatch;
use crate::calls::tasks::page::{CountTasks, PageTasks, TaskCounts, TaskPageDto};
use crate::calls::tasks::recent_arguments::{OneTool, RecentArgumentsList};
use crate::calls::tasks::result_hold::ReleaseTask;
use crate::calls::tasks::{AdoptTask, ListTasks, ShownTask, StartTask, TaskResult};
use crate::calls::user_data::{ChangeSettings, ListUserData, PutUserData, UserDataList};
use crate::calls::{Done, Nothing, OneServer, OneTask};
use crate::dto::budget::price::{PriceList, RemovePrice, SetPrice};
use crate::dto::budget::spend::{ChartDto, ShowChart, ShowToday, TodayDto};
use crate::dto::inbox::answered::{AnswerRuleList, AnsweredList};
use crate::dto::server::observed::{ServerLogDto, ServerRunning, ServerTimesDto};
use crate::dto::server::tools::ToolDiff;
use crate::dto::{
    AddressDto, AuditVerifiedDto, BudgetChoices, BudgetDto, BudgetList, BudgetShown, ContentDto, HistoryDto, InboxDto,
    InboxRow, OneAgent, PieceDto, RawListDto, RecordingDto, RuleDto, SeriesDto, ServerDto, SetBudget, SettingsDto,
    ShowSeries, ShowWaste, StorageDto, TaskDto, TaskListDto, WasteList,
};
use crate::error::{ApiError, Code};
use crate::feed::frame::FocusInput;
use crate::suggestion::did_you_mean;

/// Something that is told of every call: its name and its types.
pub(crate) trait CallVisitor {
    fn call<I: ts_rs::TS + 'static, O: ts_rs::TS + 'static>(&mut self, name: &'static str);
}

macro_rules! calls {
    ($($name:literal $ability:ident $method:ident: $input:ty => $output:ty;)*) => {
        /// Every name that [`Api::dispatch`] knows, with what its caller must be able to do.
        pub const CALLS: [(&str, Ability); [$($name),*].len()] = [$(($name, calls!(@$ability))),*];

        /// Tells of every call, in the order of the table.
        pub(crate) fn each_call(teller: &mut impl CallVisitor) {
            $(teller.call::<$input, $output>($name);)*
        }

        impl Api {
            /// Makes the call of this name.
            ///
            /// # Errors
            /// The call's own, or that there is no such name, that the caller may not make it, or that its input cannot
            /// be read.
            pub async fn dispatch(&self, caller: &Caller, name: &str, input: &str) -> Result<String, ApiError> {
                match name {
                    $($name => {
                        caller.require(calls!(@$ability))?;
                        let input: $input = read(input)?;
                        let output: $output = Box::pin(self.$method(caller, input)).await?;
                        written(output)
                    })*
                    unknown => Err(no_such_call(unknown)),
                }
            }
        }
    };
    (@health) => { Ability::Health };
    (@reads) => { Ability::Read };
    (@acts) => { Ability::Decide };
}

calls! {
    "servers.add" acts server_add: AddServer => ServerAdded;
    "servers.locate" acts server_locate: LocateProgram => ProgramLocated;
    "servers.list" reads server_list: Nothing => ServerList;
    "servers.show" reads server_show: OneServer => ServerDto;
    "servers.tools" acts server_tools: OneServer => ServerTools;
    "servers.toolDiff" reads server_tool_diff: OneChangedTool => ToolDiff;
    "servers.toolsSeen" acts server_tools_seen: SeeTools => Done;
    "servers.remove" acts server_remove: RemoveServer => ServerRemoved;
    "servers.agree" acts server_agree: OneServer => ServerDto;
    "servers.change" acts server_change: ChangeServer => ServerDto;
    "servers.log" reads server_log: ReadServerLog => ServerLogDto;
    "servers.times" reads server_times: OneServer => ServerTimesDto;
    "servers.running" reads server_running: OneServer => ServerRunning;
    "servers.restart" acts server_restart: ActOnServer => ServerActed;
    "servers.end" acts server_end: ActOnServer => ServerActed;
    "demo.address" acts demo_address: Nothing => AddressDto;
    "tasks.start" acts task_start: StartTask => TaskDto;
    "tasks.list" reads task_list: ListTasks => TaskListDto;
    "tasks.page" reads task_page: PageTasks => TaskPageDto;
    "tasks.counts" reads task_counts: CountTasks => TaskCounts;
    "tasks.show" reads task_show: OneTask => ShownTask;
    "tasks.history" reads task_history: OneTask => HistoryDto;
    "tasks.result" reads task_result: OneTask => TaskResult;
    "tasks.answers" reads task_answers: OneTask => AnswerContents;
    "tasks.content" reads task_content: ShowContent => ContentDto;
    "tasks.piece" reads task_piece: ReadPiece => PieceDto;
    "tasks.raw" reads task_raw: OneTask => RawListDto;
    "tasks.recentArguments" reads recent_arguments: OneTool => RecentArgumentsList;
    "tasks.adopt" acts task_adopt: AdoptTask => TaskDto;
    "tasks.answer" acts answer: AnswerRequest => AnswerGiven;
    "tasks.undoAnswer" acts undo_answer: UndoAnswer => TaskDto;
    "tasks.cancel" acts cancel: CancelTasks => CancelList;
    "tasks.revoke" acts revoke: RevokeTask => CancelList;
    "tasks.unwatch" acts unwatch: Unwatch => TaskDto;
    "tasks.hide" acts tasks_hide: HideTasks => HiddenList;
    "tasks.unhide" acts tasks_unhide: HideTasks => HiddenList;
    "tasks.lookNow" acts look_now: OneTask => TaskDto;
    "tasks.hold" acts task_hold: OneTask => TaskDto;
    "tasks.release" acts task_release: ReleaseTask => TaskDto;
    "tasks.goOn" acts task_go_on: OneTask => TaskDto;
    "agents.add" acts agent_add: AddAgent => AgentAdded;
    "agents.list" reads agent_list: Nothing => AgentList;
    "agents.newToken" acts agent_new_token: OneAgent => NewAgentToken;
    "agents.check" acts agent_check: OneAgent => ConnectionCheck;
    "agents.revoke" acts agent_revoke: RevokeAgent => AgentRevoked;
    "rules.list" reads rule_list: Nothing => RuleList;
    "rules.put" acts rule_put: RuleDto => RuleList;
    "budgets.list" reads budget_list: Nothing => BudgetList;
    "budgets.show" reads budget_show: OneAgent => BudgetShown;
    "budgets.set" acts budget_set: SetBudget => BudgetDto;
    "budgets.empty" acts budget_empty: OneAgent => BudgetDto;
    "budgets.series" reads budget_series: ShowSeries => SeriesDto;
    "budgets.waste" reads budget_waste: ShowWaste => WasteList;
    "budgets.chart" reads budget_chart: ShowChart => ChartDto;
    "budgets.today" reads budget_today: ShowToday => TodayDto;
    "budgets.prices" reads price_list: Nothing => PriceList;
    "budgets.setPrice" acts price_set: SetPrice => PriceList;
    "budgets.removePrice" acts price_remove: RemovePrice => PriceList;
    "budgets.choices" reads budget_choices: Nothing => BudgetChoices;
    "sessions.list" reads session_list: Nothing => SessionList;
    "sessions.revoke" acts session_revoke: RevokeSessions => SessionList;
    "inbox" reads inbox: ReadInbox => InboxDto;
    "inbox.answer" acts answer_many: AnswerMany => ManyAnswered;
    "inbox.undoAnswer" acts undo_many: UndoMany => ManyAnswered;
    "inbox.lost" reads inbox_lost: OneTask => Vec<InboxRow>;
    "inbox.resolve" acts resolve_lost: ResolveLost => LostResolved;
    "inbox.answered" reads inbox_answered: ListAnswered => AnsweredList;
    "answers.rules" reads answer_rules: Nothing => AnswerRuleList;
    "answers.remember" acts remember_answer: RememberRequest => AnswerRuleList;
    "answers.end" acts end_answer_rule: OneAnswerRule => AnswerRuleList;
    "desk.list" reads desk_list: ListUserData => UserDataList;
    "desk.put" acts desk_put: PutUserData => Done;
    "settings.change" acts settings_change: ChangeSettings => SettingsDto;
    "recording" reads recording: Nothing => RecordingDto;
    "storage.show" reads storage_show: Nothing => StorageDto;
    "storage.set" acts storage_set: SetStorage => StorageDto;
    "storage.clean" acts storage_clean: CleanStorage => StorageCleaned;
    "audit.verify" reads audit_verify: VerifyAudit => AuditVerifiedDto;
    "feed.focus" acts feed_focus: FocusInput => Done;
    "core.ping" health core_ping: Nothing => Done;
    "doctor" health doctor: Nothing => CoreFacts;
    "doctor.run" acts doctor_run: Nothing => DoctorReport;
    "limits.show" reads limits_show: Nothing => LimitList;
}

fn no_such_call(name: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is no call `{}`", crate::lookup::short(name)),
        did_you_mean(name, CALLS.iter().map(|(name, _)| *name)).unwrap_or_else(|| {
            "The command line and the core may be of different versions; restart `taskwarden serve`.".into()
        }),
    )
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, ApiError> {
    serde_json::from_str(input).map_err(|error| ApiError::bad_input(&error))
}

fn written<T: Serialize>(output: T) -> Result<String, ApiError> {
    serde_json::to_string(&output).map_err(|error| ApiError::unwritable(&error))
}
