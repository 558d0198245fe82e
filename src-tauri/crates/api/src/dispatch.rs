//! Maps a name to its call, for every door: JSON text in, JSON text out, so that payloads pass byte for byte.
//!
//! To add a call, add one line to the table: its name, whether it acts or only reads, the ability its caller needs, the
//! method, and its types. A line without an ability does not compile. Doors know names only, and `bindings.rs` writes the same table as TypeScript, so that the window cannot drift from it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::agents::connection_check::ConnectionCheck;
use crate::calls::agents::new_token::NewAgentToken;
use crate::calls::agents::{AddAgent, AgentAdded, AgentList, AgentRevoked, RevokeAgent};
use crate::calls::alarms::{AlarmList, DecideAlarms, DismissAlarms};
use crate::calls::clients::import::{ImportList, ImportServers};
use crate::calls::clients::route::{ClientRouted, RouteClient};
use crate::calls::clients::undo::{ClientUndone, UndoClient};
use crate::calls::clients::{ClientList, ReadClients};
use crate::calls::control_tokens::{
    AddControlToken, ControlTokenAdded, ControlTokenFacts, ControlTokenList, OneControlToken,
};
use crate::calls::core::anchors::{AddAnchor, AddCollectorAnchor, CompareNotes, OneAnchor};
use crate::calls::core::audit::{ListAudit, OneAuditRow};
use crate::calls::core::checkpoints::{MakeCheckpoint, VerifyTree};
use crate::calls::core::doctor::CoreFacts;
use crate::calls::core::export::{ExportAudit, ExportBegun, ExportPart, ReadExport};
use crate::calls::core::findings::DoctorReport;
use crate::calls::core::limits::LimitList;
use crate::calls::core::receipts::{ListReceipts, VerifyReceipts};
use crate::calls::core::report::ReportAudit;
use crate::calls::core::sessions::{RevokeSessions, SessionList};
use crate::calls::core::sinks::{AddSink, OneSink, ResumeSink};
use crate::calls::core::storage::{CleanStorage, SetStorage, StorageCleaned, VerifyAudit};
use crate::calls::halts::{HaltRetried, ResumeHalt, StartHalts};
use crate::calls::inbox::ReadInbox;
use crate::calls::inbox::answer::{AnswerGiven, AnswerRequest, UndoAnswer};
use crate::calls::inbox::answer_many::{AnswerMany, ManyAnswered, UndoMany};
use crate::calls::inbox::answer_rules::{OneAnswerRule, RememberRequest};
use crate::calls::inbox::answered::ListAnswered;
use crate::calls::inbox::lost::{LostResolved, ResolveLost};
use crate::calls::pauses::{PauseEndedDto, PauseInput, PauseList, UnpauseInput};
use crate::calls::plans::{MakePlan, RunPlanInput, ShowPlan};
use crate::calls::rules::RuleList;
use crate::calls::servers::change::ChangeServer;
use crate::calls::servers::running::{ActOnServer, ReadServerLog, ServerActed};
use crate::calls::servers::sign_in::{AwaitSignIn, BeginSignIn, FinishSignIn};
use crate::calls::servers::tools::{OneChangedTool, SeeTools, ServerTools};
use crate::calls::servers::{
    AddServer, LocateProgram, ProgramLocated, RemoveServer, ServerAdded, ServerList, ServerRemoved,
};
use crate::calls::tasks::answers::AnswerContents;
use crate::calls::tasks::cancel::{CancelList, CancelTasks, RevokeTask};
use crate::calls::tasks::content::{ReadPiece, ShowContent};
use crate::calls::tasks::escalate::{EscalateTask, TaskEscalated};
use crate::calls::tasks::hide::{HiddenList, HideTasks};
use crate::calls::tasks::history::Unwatch;
use crate::calls::tasks::page::{CountTasks, PageTasks, TaskCounts, TaskPageDto};
use crate::calls::tasks::recent_arguments::{OneTool, RecentArgumentsList};
use crate::calls::tasks::result_hold::ReleaseTask;
use crate::calls::tasks::time_limit::AllowTime;
use crate::calls::tasks::{AdoptTask, ListTasks, ShownTask, StartTask, TaskResult};
use crate::calls::user_data::{ChangeSettings, ListUserData, PutUserData, UserDataList};
use crate::calls::{Done, Nothing, OneServer, OneTask};
use crate::dto::budget::price::{PriceList, RemovePrice, SetPrice};
use crate::dto::budget::spend::{ChartDto, ShowChart, ShowToday, TodayDto};
use crate::dto::core::anchor::{AnchorDto, AnchorList, NotesCompared};
use crate::dto::core::audit::{AuditListDto, AuditShownDto, CheckpointDto, TreeVerifiedDto};
use crate::dto::core::receipt::{ReceiptListDto, ReceiptsVerifiedDto};
use crate::dto::core::report::AuditReportDto;
use crate::dto::core::sink::{SinkDto, SinkList};
use crate::dto::halt::HaltShown;
use crate::dto::inbox::answered::{AnswerRuleList, AnsweredList};
use crate::dto::pause::PauseDto;
use crate::dto::plan::{OperationBegun, PlanMade, PlanShown};
use crate::dto::server::observed::{ServerLogDto, ServerRunning, ServerTimesDto};
use crate::dto::server::sign_in::{SignInBegunDto, SignInShown, SignedOutDto};
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
#[cfg(test)]
pub(crate) trait CallVisitor {
    fn call<I: ts_rs::TS + 'static, O: ts_rs::TS + 'static>(&mut self, name: &'static str);
}

/// One line of the table, for doors and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallEntry {
    pub name: &'static str,
    /// What its caller must be able to do.
    pub ability: Ability,
    /// Whether it may change or start something; what only reads also works without a core.
    pub acts: bool,
}

macro_rules! calls {
    ($($name:literal $kind:ident $ability:ident $method:ident: $input:ty => $output:ty;)*) => {
        /// Every call that [`Api::dispatch`] knows.
        pub const CALLS: [CallEntry; [$($name),*].len()] =
            [$(CallEntry { name: $name, ability: Ability::$ability, acts: calls!(@$kind) }),*];

        /// Tells of every call, in the order of the table.
        #[cfg(test)]
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
                        caller.require(Ability::$ability)?;
                        let input: $input = read(input)?;
                        let output: $output = Box::pin(self.$method(caller, input)).await?;
                        written(output)
                    })*
                    unknown => Err(no_such_call(unknown)),
                }
            }
        }
    };
    (@reads) => { false };
    (@acts) => { true };
}

calls! {
    "servers.add" acts Configure server_add: AddServer => ServerAdded;
    "servers.locate" acts Configure server_locate: LocateProgram => ProgramLocated;
    "servers.list" reads Read server_list: Nothing => ServerList;
    "servers.show" reads Read server_show: OneServer => ServerDto;
    "servers.tools" acts Read server_tools: OneServer => ServerTools;
    "servers.toolDiff" reads Read server_tool_diff: OneChangedTool => ToolDiff;
    "servers.toolsSeen" acts Decide server_tools_seen: SeeTools => Done;
    "servers.remove" acts Configure server_remove: RemoveServer => ServerRemoved;
    "servers.agree" acts Configure server_agree: OneServer => ServerDto;
    "servers.change" acts Configure server_change: ChangeServer => ServerDto;
    "servers.log" reads ReadContent server_log: ReadServerLog => ServerLogDto;
    "servers.times" reads Read server_times: OneServer => ServerTimesDto;
    "servers.running" reads Read server_running: OneServer => ServerRunning;
    "servers.restart" acts Configure server_restart: ActOnServer => ServerActed;
    "servers.end" acts Cancel server_end: ActOnServer => ServerActed;
    "signIns.begin" acts Configure sign_in_begin: BeginSignIn => SignInBegunDto;
    "signIns.finish" acts Configure sign_in_finish: FinishSignIn => SignInShown;
    "signIns.wait" reads Read sign_in_wait: AwaitSignIn => SignInShown;
    "signIns.giveUp" acts Configure sign_in_give_up: OneServer => SignInShown;
    "signIns.signOut" acts Configure sign_in_sign_out: OneServer => SignedOutDto;
    "demo.address" acts Configure demo_address: Nothing => AddressDto;
    "tasks.start" acts Decide task_start: StartTask => TaskDto;
    "tasks.list" reads Read task_list: ListTasks => TaskListDto;
    "tasks.page" reads Read task_page: PageTasks => TaskPageDto;
    "tasks.counts" reads Read task_counts: CountTasks => TaskCounts;
    "tasks.show" reads Read task_show: OneTask => ShownTask;
    "tasks.history" reads Read task_history: OneTask => HistoryDto;
    "tasks.result" reads ReadContent task_result: OneTask => TaskResult;
    "tasks.answers" reads ReadContent task_answers: OneTask => AnswerContents;
    "tasks.content" reads ReadContent task_content: ShowContent => ContentDto;
    "tasks.piece" reads ReadContent task_piece: ReadPiece => PieceDto;
    "tasks.raw" reads ReadContent task_raw: OneTask => RawListDto;
    "tasks.recentArguments" reads ReadContent recent_arguments: OneTool => RecentArgumentsList;
    "tasks.adopt" acts Decide task_adopt: AdoptTask => TaskDto;
    "tasks.answer" acts Decide answer: AnswerRequest => AnswerGiven;
    "tasks.undoAnswer" acts Decide undo_answer: UndoAnswer => TaskDto;
    "tasks.cancel" acts Cancel cancel: CancelTasks => CancelList;
    "tasks.revoke" acts Revoke revoke: RevokeTask => CancelList;
    "tasks.escalate" acts Cancel task_escalate: EscalateTask => TaskEscalated;
    "tasks.unwatch" acts Decide unwatch: Unwatch => TaskDto;
    "tasks.hide" acts Decide tasks_hide: HideTasks => HiddenList;
    "tasks.unhide" acts Decide tasks_unhide: HideTasks => HiddenList;
    "tasks.lookNow" acts Read look_now: OneTask => TaskDto;
    "tasks.hold" acts Decide task_hold: OneTask => TaskDto;
    "tasks.release" acts Decide task_release: ReleaseTask => TaskDto;
    "tasks.goOn" acts Decide task_go_on: OneTask => TaskDto;
    "tasks.allowTime" acts Decide task_allow_time: AllowTime => TaskDto;
    "plans.make" acts Cancel plan_make: MakePlan => PlanMade;
    "plans.run" acts Cancel plan_run: RunPlanInput => OperationBegun;
    "plans.show" reads Read plan_show: ShowPlan => PlanShown;
    "halts.show" reads Read halt_show: Nothing => HaltShown;
    "halts.start" acts Halt halt_start: StartHalts => HaltShown;
    "halts.retry" acts Halt halt_retry: Nothing => HaltRetried;
    "halts.resume" acts LiftHalt halt_resume: ResumeHalt => HaltShown;
    "pauses.list" reads Read pause_list: Nothing => PauseList;
    "pauses.start" acts Pause pause_start: PauseInput => PauseDto;
    "pauses.end" acts LiftHalt pause_end: UnpauseInput => PauseEndedDto;
    "agents.add" acts ManageTokens agent_add: AddAgent => AgentAdded;
    "agents.list" reads Read agent_list: Nothing => AgentList;
    "agents.newToken" acts ManageTokens agent_new_token: OneAgent => NewAgentToken;
    "agents.check" acts Read agent_check: OneAgent => ConnectionCheck;
    "agents.revoke" acts Revoke agent_revoke: RevokeAgent => AgentRevoked;
    "controlTokens.add" acts ManageTokens control_token_add: AddControlToken => ControlTokenAdded;
    "controlTokens.list" reads Read control_token_list: Nothing => ControlTokenList;
    "controlTokens.revoke" acts ManageTokens control_token_revoke: OneControlToken => ControlTokenFacts;
    "clients.list" acts ManageTokens client_list: ReadClients => ClientList;
    "clients.import" acts ManageTokens client_import: ImportServers => ImportList;
    "clients.route" acts ManageTokens client_route: RouteClient => ClientRouted;
    "clients.undo" acts ManageTokens client_undo: UndoClient => ClientUndone;
    "alarms.list" reads Read alarm_list: Nothing => AlarmList;
    "alarms.dismiss" acts Decide alarms_dismiss: DismissAlarms => AlarmList;
    "alarms.decide" acts Decide alarms_decide: DecideAlarms => AlarmList;
    "rules.list" reads Read rule_list: Nothing => RuleList;
    "rules.put" acts Configure rule_put: RuleDto => RuleList;
    "budgets.list" reads Read budget_list: Nothing => BudgetList;
    "budgets.show" reads Read budget_show: OneAgent => BudgetShown;
    "budgets.set" acts Configure budget_set: SetBudget => BudgetDto;
    "budgets.empty" acts Configure budget_empty: OneAgent => BudgetDto;
    "budgets.series" reads Read budget_series: ShowSeries => SeriesDto;
    "budgets.waste" reads Read budget_waste: ShowWaste => WasteList;
    "budgets.chart" reads Read budget_chart: ShowChart => ChartDto;
    "budgets.today" reads Read budget_today: ShowToday => TodayDto;
    "budgets.prices" reads Read price_list: Nothing => PriceList;
    "budgets.setPrice" acts Configure price_set: SetPrice => PriceList;
    "budgets.removePrice" acts Configure price_remove: RemovePrice => PriceList;
    "budgets.choices" reads Read budget_choices: Nothing => BudgetChoices;
    "sessions.list" reads Read session_list: Nothing => SessionList;
    "sessions.revoke" acts ManageTokens session_revoke: RevokeSessions => SessionList;
    "inbox" reads Read inbox: ReadInbox => InboxDto;
    "inbox.answer" acts Decide answer_many: AnswerMany => ManyAnswered;
    "inbox.undoAnswer" acts Decide undo_many: UndoMany => ManyAnswered;
    "inbox.lost" reads Read inbox_lost: OneTask => Vec<InboxRow>;
    "inbox.resolve" acts Decide resolve_lost: ResolveLost => LostResolved;
    "inbox.answered" reads Read inbox_answered: ListAnswered => AnsweredList;
    "answers.rules" reads Read answer_rules: Nothing => AnswerRuleList;
    "answers.remember" acts Decide remember_answer: RememberRequest => AnswerRuleList;
    "answers.end" acts Decide end_answer_rule: OneAnswerRule => AnswerRuleList;
    "desk.list" reads ReadContent desk_list: ListUserData => UserDataList;
    "desk.put" acts Configure desk_put: PutUserData => Done;
    "settings.change" acts Configure settings_change: ChangeSettings => SettingsDto;
    "recording" reads Read recording: Nothing => RecordingDto;
    "storage.show" reads Read storage_show: Nothing => StorageDto;
    "storage.set" acts Configure storage_set: SetStorage => StorageDto;
    "storage.clean" acts Configure storage_clean: CleanStorage => StorageCleaned;
    "audit.list" reads ReadAudit audit_list: ListAudit => AuditListDto;
    "audit.show" reads ReadAudit audit_show: OneAuditRow => AuditShownDto;
    "audit.report" reads ReadAudit audit_report: ReportAudit => AuditReportDto;
    "audit.verify" reads ReadAudit audit_verify: VerifyAudit => AuditVerifiedDto;
    "audit.calls" reads ReadAudit audit_calls: ListReceipts => ReceiptListDto;
    "audit.verifyReceipts" reads ReadAudit audit_verify_receipts: VerifyReceipts => ReceiptsVerifiedDto;
    "audit.verifyTree" reads ReadAudit audit_verify_tree: VerifyTree => TreeVerifiedDto;
    "audit.checkpoint" acts ExportAudit audit_checkpoint: MakeCheckpoint => CheckpointDto;
    "audit.anchors" reads ReadAudit audit_anchors: Nothing => AnchorList;
    "audit.addAnchor" acts Configure audit_add_anchor: AddAnchor => AnchorDto;
    "audit.addCollectorAnchor" acts Configure audit_add_collector_anchor: AddCollectorAnchor => AnchorDto;
    "audit.removeAnchor" acts Configure audit_remove_anchor: OneAnchor => AnchorList;
    "audit.sinks" reads ReadAudit audit_sinks: Nothing => SinkList;
    "audit.addSink" acts Configure audit_add_sink: AddSink => SinkDto;
    "audit.removeSink" acts Configure audit_remove_sink: OneSink => SinkList;
    "audit.resumeSink" acts Configure audit_resume_sink: ResumeSink => SinkDto;
    "audit.compareNotes" reads ReadAudit audit_compare_notes: CompareNotes => NotesCompared;
    "audit.export" acts ExportAudit audit_export: ExportAudit => ExportBegun;
    "audit.exportRows" reads ExportAudit audit_export_rows: ReadExport => ExportPart;
    "feed.focus" acts Read feed_focus: FocusInput => Done;
    "core.ping" reads Health core_ping: Nothing => Done;
    "doctor" reads Health doctor: Nothing => CoreFacts;
    "doctor.run" acts Configure doctor_run: Nothing => DoctorReport;
    "limits.show" reads Read limits_show: Nothing => LimitList;
}

fn no_such_call(name: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is no call `{}`", crate::lookup::short(name)),
        did_you_mean(name, CALLS.iter().map(|call| call.name)).unwrap_or_else(|| {
            "The command line and the core may be of different versions; restart `taskwarden serve`.".into()
        }),
    )
}

fn read<T: DeserializeOwned>(input: &str) -> Result<T, ApiError> {
    if input.trim_start().starts_with('[') {
        // serde would read it as the object, member by member in the order of the type.
        let error = <serde_json::Error as serde::de::Error>::custom("it is a list, and an object is needed");
        return Err(ApiError::bad_input(&error));
    }
    serde_json::from_str(input).map_err(|error| ApiError::bad_input(&error))
}

fn written<T: Serialize>(output: T) -> Result<String, ApiError> {
    serde_json::to_string(&output).map_err(|error| ApiError::unwritable(&error))
}
