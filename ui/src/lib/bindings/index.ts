/* Generated from the Rust api by `cargo xtask bindings`. Do not edit.
   Times are ISO 8601 in UTC with milliseconds; durations end in Ms; large numbers are `number`. */

/** The one word for a task. */
export type Phase = "waiting" | "overdue" | "unconfirmed" | "blocked" | "running" | "answering" | "cancelling" | "done" | "doneWithError" | "failed" | "cancelled" | "revoked" | "unwatched" | "silent" | "lost" | "expired";

/** Who has to act, in the order of the list. */
export type PhaseGroup = "needsYou" | "moving" | "noNews" | "finished";

/** What was done: the words of the audit log. */
export type AuditVerb = "admitted" | "accepted" | "discovered" | "adopted" | "unconfirmed" | "ended" | "contradiction" | "asked" | "withdrawn" | "answerBegun" | "answerEnded" | "answerUndone" | "stopBegun" | "stopEnded" | "revoked" | "unwatched" | "lost" | "serverAdded" | "serverAllowed" | "serverRemoved" | "processStarted" | "processEnded" | "agentAdded" | "agentRevoked" | "ruleChanged" | "given" | "orphaned" | "resultHeld" | "resultReleased" | "resultWithheld" | "overLimit" | "limitLifted" | "budgetChanged" | "storageCleaned" | "storageChanged" | "segmentRemoved" | "sessionRevoked" | "serverChanged" | "serverRestarted" | "agentTokenReplaced" | "halted" | "resumed" | "escalated" | "bulkBegun" | "bulkEnded" | "controlTokenAdded" | "controlTokenRevoked" | "controlLimited" | "clientFileChanged" | "checkpointed" | "exported" | "signingKeyReplaced" | "anchorAdded" | "anchorRemoved" | "signInBegun" | "signedIn" | "signedOut" | "alarmRaised" | "alarmEnded" | "alarmDismissed" | "called" | "receiptsMissing" | "pauseBegun" | "pauseEnded" | "sinkAdded" | "sinkRemoved" | "sinkResumed" | "toolsChanged" | "toolsSeen" | "epochBegun" | "signInFailed" | "serverActEnded";

/** A server to end or restart. */
export type ActOnServer = { name: string,
/** Open tasks that the person was told of; with more, nothing is done. */
toldOpenTasks?: number, };

export type ActorDto = "person" | "agent" | "server" | "limit" | "taskwarden";

/** An agent to add. */
export type AddAgent = {
/** The person's name for it. */
name: string,
/** Whether a client that knows no tasks is offered the four task tools; it is when left out. */
taskTools?: boolean | null,
/** The program that the agent is, by its word such as `codex`; not known when left out. */
program?: string | null,
/**
 * Whether the token is also put into a file that only the user can read, where `taskwarden connect` finds it: then
 * no command holds it. It is not when left out.
 */
save?: boolean | null, };

/** A place that is to hold copies of checkpoints. */
export type AddAnchor = {
/** The whole path of the file, which may not be there yet, or of the folder of a git repository. */
path: string,
/** What it is; a file when it is left out. */
kind?: AnchorKind,
/** The remote of the repository that each commit is pushed to, by its name there. */
remote?: string, };

/** A collector that is to get checkpoints. Has no `Debug`: it carries secrets. */
export type AddCollectorAnchor = {
/** Its address over OTLP/HTTP; `/v1/logs` at its end is left out. */
url: string,
/** Values of headers of each request, by name. */
headers?: Record<string, string>, };

/** A control token to make. */
export type AddControlToken = { name: string,
/** What it may do: `read`, `cancel`, `revoke` (which cancels as well), `halt`, `pause`. */
scopes: Array<string>,
/** It reaches the tasks of these agents only. */
agents?: Array<string>,
/** It reaches tasks on these servers only. */
servers?: Array<string>,
/** It reaches calls of these tools only. */
tools?: Array<ToolOfServer>,
/** It reaches everything; without this, a condition must be given. */
all?: boolean,
/** The agent that holds it, whose own tasks it does not reach. */
heldBy?: string | null,
/** It reaches the tasks of the agent that holds it, and no others. */
ownTasks?: boolean,
/** Tasks that one call may end. */
perCall?: number | null,
/** Tasks that it may end in an hour. */
perHour?: number | null, needsReason?: boolean,
/** It ends tasks by a plan only. */
needsPlan?: boolean,
/** How long it is valid; for ever when left out. */
validMs?: number | null, };

/** A server to add. Has no `Debug`: it carries secrets. */
export type AddServer = {
/** Its name here. */
name: string,
/** How it is reached. */
address: AddressDto,
/** Values of its secret environment variables or headers, by name. */
secrets?: Record<string, string>,
/** Whether the person was shown exactly this address and agreed. */
agreed: boolean, };

/** A collector to send to. Has no `Debug`: it carries secrets. */
export type AddSink = {
/** Its address over OTLP/HTTP; `/v1/logs` or `/v1/traces` at its end is left out. */
url: string,
/** What it is sent; log records when left out. */
signals?: Array<SignalDto>,
/** Values of headers of each request, by name. */
headers?: Record<string, string>,
/** The first row that is sent; the row that records this when left out. Of traces, tasks that ended from it on. */
first?: number | null, };

/** How a server is reached. */
export type AddressDto = { "kind": "stdio", command: string, args: Array<string>, env: Record<string, string>,
/** Names of environment variables whose values are secrets. */
secretEnv: Array<string>, cwd: string | null, } | { "kind": "http", url: string,
/** Names of headers whose values are secrets. */
secretHeaders: Array<string>, };

/** A task to take up by the server's id of it. Has no `Debug`: task ids may act as secrets. */
export type AdoptTask = {
/** The server's name. */
server: string,
/** The server's id of the task. */
task: string, };

/** An agent that was added. Has no `Debug`: it carries the token. */
export type AgentAdded = { agent: AgentFacts,
/** Its token, `twa_…`; nobody can show it again. */
token: string,
/** Where it reaches all servers over HTTP; null when no address is open. */
url: string | null,
/** The file that the token was put into; null when it was not. */
saved: string | null,
/** Settings for the agent's program, with the token where the program needs it. */
settings: ReadySettings, };

/** An agent program of which at least one file was found. */
export type AgentClient = {
/** Its word for the command line, such as `claude-code`. */
client: string, label: string, files: Array<ClientFile>, };

export type AgentFacts = {
/** Our id of it, `agt_…`. */
id: string,
/** The person's name for it. */
name: string,
/** When it was added. */
createdAt: string,
/** When its access was taken away; null while it has it. */
revokedAt: string | null,
/** When it was last heard of; null when it never was. */
seenAt: string | null,
/** What its program says it is, such as `claude-code 2.1`. */
client: string | null,
/** Tool calls so far. */
calls: number,
/** Tasks of it that are not over: `figures.open`. */
openTasks: number,
/** Tasks of it on which a person has to act: `figures.needsYou`. */
waiting: number,
/** How many tasks of which sort it has. */
figures: TaskFigures,
/** Whether a client that knows no tasks is offered the four task tools. */
taskTools: boolean,
/**
 * After this its program gives up a call, as Taskwarden saw it do; null where it saw nothing of the kind. Its calls
 * are answered before that.
 */
learnedTimeoutMs: number | null,
/** Whether a stream of it is open, or it was heard of within the last minute. */
connected: boolean,
/** Since when it is connected without a break; null when it is not. */
connectedSince: string | null,
/** Its open sessions, the oldest first; at most a page. */
sessions: Array<AgentSessionDto>,
/** When its token was made. */
tokenMadeAt: string,
/** That its new calls wait; left out while they do not, and without a core. */
paused?: PauseDto, };

export type AgentList = {
/** Those that have access first, by name. */
agents: Array<AgentFacts>, };

/** What an agent, or people, have on a server. */
export type AgentOnServer = {
/** Null for people. */
agent: string | null, openTasks: number,
/** Calls in flight that are not shown as tasks yet. */
calls: number, };

/** An agent that has no access any more. */
export type AgentRevoked = { agent: AgentFacts,
/** Tasks of it that are asked to cancel because of this. Those that were asked before are not asked again. */
stopped: number,
/** What became so far of each task that was open, also of those that were asked before; at most a page. */
stops: Array<StopDto>,
/** Entries of agent programs that still connect as it. */
left: Array<LeftEntries>, };

/** One open session of an agent. */
export type AgentSessionDto = { door: "command" | "http",
/** What its program says it is; null where it said nothing. */
program: string | null, since: string,
/** When its last request came; null when that is not known. */
lastAt: string | null, };

/** What one agent took in today. */
export type AgentToday = { agentId: string, agent: string, tokens: number, exactness: ExactnessDto, keptOut: number, keptOutExactness: ExactnessDto,
/** By the price of the model that is set for it now; null without one. */
cost: CostDto | null,
/** Why there is no cost; null where there is one. */
unpriced: UnpricedDto | null, };

/** Where agents reach this core over HTTP. */
export type AgentsAt = {
/**
 * The address of all servers together, `http://127.0.0.1:7717/mcp`; one server is at `/NAME` after it. Null when
 * there is none.
 */
url: string | null,
/** Why there is none, as a sentence; null when it is turned off or there is one. */
why: string | null, };

/** Something that an agent does again and again. */
export type AlarmDto = {
/** Our id of it, `alm_…`. */
id: string,
/** The agent's name. */
agent: string, kind: "sameCall" | "alternating" | "sameError" | "callRate" | "openCalls",
/** The server's name; of many tools, that of the one that is called most. */
server: string, tool: string,
/** The other one of two calls in turn; null elsewhere. */
other: CalledToolDto | null,
/** Calls of it; for `callRate` the most in a minute, for `openCalls` the most at once. */
count: number,
/** The number at which the alarm was raised. */
limit: number,
/** When its first call came. */
since: string, raisedAt: string,
/** When the last call came that is counted. */
lastAt: string,
/** What is done about it, as a rule says. */
action: "warn" | "ask" | "cancel",
/** Further calls wait until a person decides. */
asks: boolean,
/** What a person decided about the calls that waited; null where none waited, or nobody has decided. */
decision: "send" | "cancel" | null, state: "open" | "ended" | "dismissed",
/** When it ended or was dismissed; null while it is open. */
overAt: string | null,
/** Who dismissed it. */
dismissedBy: string | null, };

/** Alarms, the newest first. */
export type AlarmList = { alarms: Array<AlarmDto>, };

/** A person allows more time. */
export type AllowTime = {
/** The task's handle. */
id: string,
/** Of which limit. */
limit: "time" | "progress",
/** So much more, counted from now. Null removes the limit from this task. */
moreMs?: number | null, };

/** A place to which checkpoints are copied. */
export type AnchorDto = { id: number, kind: AnchorKind,
/** The whole path of the file, or of the folder of the repository; of a collector scheme, host and port. */
path: string,
/** The remote that each commit is pushed to; null where nothing is pushed. */
remote: string | null,
/** How many rows the newest copy covers; null while that is not known. Of a collector the newest that it took. */
newest: number | null,
/** When this core copied last; null when it did not yet. */
copied: string | null,
/** Why it gets no copies now, as the second half of a sentence about the place; null while it gets them. */
trouble: string | null,
/** Whether the copies and the log cannot both be right. */
contradicts: boolean,
/** Whether the copies are only on the disk of the registry, so that what destroys one destroys the other. */
isBesideRegistry: boolean, };

/** What kind of place gets copies of checkpoints. */
export type AnchorKind = "file" | "git" | "otlp";

/** All of them. */
export type AnchorList = { anchors: Array<AnchorDto>, };

/** The content of one answer. Has no `Debug`: it carries what a person wrote. */
export type AnswerContent = {
/** The question's key within the task. */
key: string,
/** In the order of the form. */
fields: Array<FieldAnswer>,
/** The content is no longer stored, or never was. */
erased: boolean, };

/** The answers of a task. */
export type AnswerContents = { answers: Array<AnswerContent>, };

/** An answer, without its content. */
export type AnswerDto = {
/** `accept`, `decline` or `dismiss`. */
action: "accept" | "decline" | "dismiss", by: string, at: string,
/** How far it got on its way to the server. */
delivery: "recorded" | "sent" | "acknowledged" | "refused",
/** Why the server refused it. */
refusedWhy: string | null,
/** Held back until then. */
notBefore: string | null, };

/** What became of an answer. */
export type AnswerGiven = { id: string,
/** The question as it stands now. */
request: RequestDto,
/** Open questions of this task that remain. */
stillOpen: number, };

/** An answer to equal questions. Has no `Debug`: it carries content. */
export type AnswerMany = { questions: Array<OneQuestion>, action: Choice,
/** Content of an accepted form. */
content?: object | null, };

/** An answer. Has no `Debug`: it carries content. */
export type AnswerRequest = { id: string,
/** Which question; may be left out when one is open. */
key?: string | null, action: Choice,
/** Content of an accepted form. */
content?: object | null,
/** Hold it back for a few seconds, so that it can be undone; the call then returns at once. */
hold?: boolean, };

/** What is answered without asking. */
export type AnswerRuleDto = {
/** Its id, `ans_…`. */
id: string,
/** From 1; another answer to the same question is another version. */
version: number, server: string, tool: string,
/** The server's words, their beginning. */
question: string,
/** `accept` or `decline`. */
action: "accept" | "decline",
/** What it answers, field by field. */
fields: Array<AnsweredField>,
/** Who decided it. */
by: string, since: string,
/** How often it answered a task that is kept, in all its versions. */
applied: number,
/** When it answered last. */
appliedAt: string | null,
/** Who ended it; null while it answers. */
endedBy: string | null, endedAt: string | null, };

/** Rules that answer first, then those that were ended. */
export type AnswerRuleList = { rules: Array<AnswerRuleDto>, };

/** A question that was answered. */
export type AnsweredDto = {
/** The task's handle. */
task: string, key: string, server: string,
/** Its tool, where known. */
tool: string | null,
/** Whose call it is. */
agent: string | null,
/** The server's words, their beginning. */
message: string,
/** `accept`, `decline`, `dismiss` or `forwarded`. */
action: "accept" | "decline" | "dismiss" | "forwarded",
/** What was answered; empty where nothing was filled in, or where it is kept no more. */
fields: Array<AnsweredField>,
/** Whether the content was erased, because a field looked like one for a secret. */
isErased: boolean, by: string,
/** The rule that answered, if one did. */
rule: RuleRefDto | null, at: string,
/** How a person's answer came in. */
origin: OriginDto | null,
/** How far it got on its way to the server. */
delivery: "recorded" | "sent" | "acknowledged" | "refused",
/** Whether the call or task is over: of an answer that is only `sent`, the server acknowledges nothing any more. */
isOver: boolean,
/** The rule that answers this question now, if one does. */
answeredByRule: string | null,
/** Why no rule can answer this question; null where one can. */
noRule: string | null, };

/** One field of an answer. */
export type AnsweredField = {
/** The server's title of it, or its name. */
title: string,
/** What was answered; null where the field looks like one for a secret. */
value: string | null, };

/** A page of answered questions, the last answered first. */
export type AnsweredList = { items: Array<AnsweredDto>,
/** Answered questions of all tasks that are kept. */
total: number,
/** Answered questions before this page. */
offset: number, };

/** Why a call was not done: the JSON object of the control API, and of commands with `--json`. */
export type ApiError = {
/** What to branch on. */
code: Code,
/** What could not be done, to what; lower case, no final stop. */
message: string,
/** What the person can do next, as a sentence. */
hint: string, };

/** A question with its task, in the inbox of the command line. */
export type AskedDto = {
/** The task's handle. */
task: string, server: string,
/** Its tool, where known. */
tool: string | null,
/** Whose call it is. */
agent: string | null,
/** For how long it waits. */
waitingMs: number,
/** On the last row of a task: questions that its server asks besides. They come up as others close. */
moreQuestions?: number,
/** Names it within its task. */
key: string,
/** What is asked for. */
kind: "form" | "url" | "sampling" | "roots" | "unsupported",
/** The server's words. */
message: string,
/** The form's schema as the server sent it. */
schema?: unknown,
/** The page to visit. */
url?: string,
/** Whether it is open, answered or withdrawn. */
state: "open" | "answered" | "confirmed" | "withdrawn",
/** When it was first seen. */
openedAt: string,
/** What was answered, without content. */
answer: AnswerDto | null,
/** Why the server no longer asks, when nobody here answered. */
withdrawnWhy: string | null,
/** Fields that look like secrets, which servers must not ask for by form. */
secretFields: Array<string>,
/** The tasks of which one asks it, where the server does not say which; empty when it is known. */
oneOf?: Array<string>,
/** Of a page to visit, its host as people read it: Punycode decoded. */
host?: string,
/** The host in ASCII, when that reads differently. */
hostAscii?: string, };

/** What happens at a limit. */
export type AtLimitDto = "warn" | "ask" | "hold" | "stop";

/** Which rows of the audit log; what is null lets every row pass. */
export type AuditFilterDto = {
/** The first row number. */
first: number | null,
/** The last row number. */
last: number | null,
/** From this time on: ISO 8601, or a date in UTC. */
since: string | null,
/** Before this time: ISO 8601, or a date in UTC. */
until: string | null,
/** `person`, `agent`, `control`, `server` or `system`, or a whole actor such as `person:ada`. */
actor: string | null,
/** One of these verbs; every verb when empty. */
verbs: Array<string>,
/** `handle`, `request`, `server`, `agent` or `store`, or a whole subject as a row has it. */
subject: string | null,
/** The name or id of a server. */
server: string | null,
/** The name or id of an agent. */
agent: string | null,
/** The handle of a task or a unique beginning of it: rows about it and its questions. */
task: string | null,
/** Words of the note. */
text: string | null, };

/** A page of the audit log, newest first. */
export type AuditListDto = { rows: Array<AuditRowDto>,
/** Where the next page begins; null at the end. A page may be short, even empty, and not the last. */
next: number | null,
/** The first row that is still there; 0 without rows. */
first: number,
/** The last row that was written; 0 without rows. */
last: number, };

/** Rows of the audit log that were verified before and were verified again. */
export type AuditRecheckedDto = {
/** Rows verified again now. */
rows: number,
/** Rows that were verified before; each is verified again in some round. */
of: number,
/** The first row that does not fit any more. */
broken: BrokenRowDto | null, };

/** What the audit log says of a month in UTC. */
export type AuditReportDto = {
/** Such as `2026-11`. */
month: string,
/** Its first moment. */
since: string,
/** The first moment after it. */
until: string,
/** When the report was made. Before the end of the month it covers the month so far. */
madeAt: string, isOver: boolean,
/** Rows of the month, and the first and the last of them; 0 without any. */
rows: number, firstRow: number, lastRow: number,
/** Rows up to this one were removed by retention, and some of them may be of this month; null when none is. */
removedTo: number | null,
/** Rows behind `verified_to` whose fields do not give their hash: somebody changed them. */
changedRows: number,
/**
 * Rows up to this one were verified before, and their hashes were not computed again for the report; null when that is
 * no row of the month.
 */
verifiedTo: number | null,
/** Calls of agents that left a receipt, quick and refused ones included. */
calls: number,
/** Tasks that began. */
tasks: number,
/** Of these, tasks about which no person, rule or supervisor program decided anything. */
unconsidered: number,
/** Tasks that ended in the month, by the word of their end. */
ended: { [key in string]: number },
/** Days with calls, tasks or decisions, in order. */
days: Array<ReportDayDto>,
/** Who decided what, and how often. */
decisions: Array<ReportDecisionDto>, answers: ReportAnswersDto,
/** Servers with tasks or cancels, by name. */
servers: Array<ReportServerDto>,
/** Agents with tasks, by name. */
agents: Array<ReportAgentDto>,
/** Tasks and windows that went past a limit. */
overLimits: number,
/** Alarms about agents that did the same thing again and again. */
alarms: number,
/** Halts, and what people resumed. */
halts: Array<ReportRowDto>,
/** What became of the tasks of the month's halts, the newest halt first. */
haltedTasks: Array<ReportHaltDto>,
/** Servers that changed their tools, and people who marked them as seen. */
tools: Array<ReportRowDto>,
/** What is missing in the log, and new keys. */
gaps: Array<ReportRowDto>,
/** Halts, gaps and changes of tools beyond those that are listed. */
unlisted: number, };

/** A row of the audit log. */
export type AuditRowDto = { number: number, at: string,
/** Who acted, as the row has it: `person:NAME`, `agent:ID`, `server:ID` or `system:PART`. */
actor: string,
/** The name of who acted. */
who: string,
/** What was done, as the row has it: a newer version may have written a word that this one does not know. */
verb: string,
/** To what, as the row has it. */
subject: string,
/** The name of the server that it is about; null where it names none. */
server: string | null,
/** The name of the agent that it is about; null where it names none. */
agent: string | null,
/** A short sentence; null when it was erased. */
note: string | null,
/** What is known beyond the note: the door and the process of a decision, or the rule that decided. */
detail: { [key in string]: string }, layout: number, hash: string,
/** Whether its fields give its hash. */
fits: boolean, };

/** A row of the audit log with its place in the chain. */
export type AuditShownDto = { row: AuditRowDto,
/** The hash that it has of the row before. */
previous: string, before: AuditRowDto | null, after: AuditRowDto | null,
/** Whether the rows beside it, as far as there are any, link to it and it to them. */
isLinked: boolean,
/** What the row does not say or prove, in sentences. */
unknown: Array<string>, };

/** How far the audit log is verified. */
export type AuditVerifiedDto = {
/** Rows checked now. */
checked: number,
/** Everything up to this row fits. */
verifiedTo: number,
/** The last row. */
last: number,
/** The first row that is still there. */
first: number,
/** Whether everything was checked. */
complete: boolean,
/** Rows checked now whose text was erased: their commitments stand for it, and no row says who erased it. */
erased: number,
/** The first of these. */
firstErased: number | null,
/** The first row that does not fit. */
broken: BrokenRowDto | null, };

/** Waits for the end of a sign-in. */
export type AwaitSignIn = {
/** The server's name. */
name: string,
/** How long, in milliseconds; a call is answered after a while in any case. */
waitMs?: number, };

/** How a person wants to sign in. Has no `Debug`: it may carry a secret. */
export type BeginSignIn = {
/** The server's name. */
name: string,
/** The client that the person registered there by hand. */
clientId?: string,
/** Its secret, if it has one. */
clientSecret?: string,
/** Permissions to ask for beside those that the server names. */
scopes?: Array<string>,
/** The port of this machine that the browser comes back to; any free one when left out. */
port?: number,
/** Whether the place to sign in may be in a private network. */
privateNetwork?: boolean, };

/** An audit row that does not fit. */
export type BrokenRowDto = { number: number,
/** What is wrong with it. */
why: string, };

/** What can be set for an agent. */
export type BudgetChoices = {
/** Families of tokenizers. */
families: Array<FamilyDto>, models: Array<ModelDto>,
/** Agent programs whose behaviour is known. */
programs: Array<ProgramChoice>, };

/** The budget of one agent, as lists show it. */
export type BudgetDto = {
/** The agent's name. */
agent: string, agentId: string,
/** In which tokens. */
family: FamilyDto,
/** Its program, whose profile says what of all that stands in the window. */
program: ProgramDto,
/** Size of the window, in tokens; null when nothing says it. */
windowTokens: number | null,
/** How that is known. */
windowFrom: SizeFromDto | null,
/** The model that a person set. */
model: string | null,
/** Its maker and full name, such as `Anthropic Claude Opus 4.7`; null where no model is set. */
modelLabel: string | null,
/** The window that something last came into; null before anything was seen. */
now: WindowDto | null,
/** Windows of conversations beside it. */
beside: Array<WindowDto>,
/** Tokens a minute that come into the window, over the last minutes; 0 when nothing does or no rate is known. */
burnPerMinute: number,
/** Something came in lately, but less than three minutes or five messages: that is no rate yet. */
burnTooEarly: boolean,
/**
 * How long until it is full at that burn, or at its limit where that is lower, in milliseconds; null when never, not
 * known, or when it was full already.
 */
fullInMs: number | null,
/** What is about to come in, the largest first. */
coming: Array<ComingDto>,
/** The limit of its window, where a rule sets one. */
limit: LimitDto | null, };

export type BudgetList = {
/** Agents with access, those nearest to their limit first; those without a window last. */
budgets: Array<BudgetDto>,
/** Agents beyond those that are given. */
more: number,
/** Share of a window, in percent, from which people are told that it fills. */
warnPercent: number,
/** Share from which it is nearly full. */
fullPercent: number,
/** A held result is read in slices of so many tokens at most, counted with the error of an estimate on top. */
sliceTokens: number, };

/** The budget of one agent, whole. */
export type BudgetShown = {
/** As in lists. */
budget: BudgetDto,
/** What each tool's definition costs, the most costly first. */
tools: Array<ToolCost>,
/** Windows that were emptied, the newest first. */
earlier: Array<WindowDto>,
/** What it spent today, by source. */
spentToday: Array<SourcePart>,
/** What tasks kept out today. */
keptOutToday: number, keptOutExactness: ExactnessDto,
/** What it wasted today, by server. */
waste: Array<WasteDto>, };

/** What is done with each task. */
export type BulkAct = "cancel" | "revoke";

/** What became of all tasks of an operation, counted. */
export type BulkCounts = { notAsked: number, asked: number, acknowledged: number, stopped: number, finishedAnyway: number, notConfirmed: number, endedMeanwhile: number, };

/** What became of one task. */
export type BulkResult = "notAsked" | "asked" | "acknowledged" | "stopped" | "finishedAnyway" | "notConfirmed" | "endedMeanwhile";

/** One task of an operation. */
export type BulkTask = { id: string, result: BulkResult,
/** Its server; null when the task is not on record any more. */
server: string | null, agent: string | null, tool: string | null,
/** Why it was not asked, or what the server refused. */
why: string | null, };

/** A tool of a server. */
export type CalledToolDto = {
/** The server's name. */
server: string, tool: string, };

/** How a server took the cancels that people asked for. */
export type CancelRecord = { asked: number, obeyed: number,
/** Half of those it obeyed ended within this. */
medianMs: number | null,
/** `ci obeyed 14 of 15 cancels, half within 2.1 s`. */
sentence: string, };

/** Tasks to cancel. */
export type CancelTasks = { ids: Array<string>,
/** Besides, all open tasks that match. */
query?: ListQuery | null,
/** How many tasks the caller expects; when the count differs, nothing is asked. */
expect?: number | null,
/** In the person's words. */
reason?: string | null,
/** Whether to wait until each server said something; it does when left out. */
wait?: boolean | null, };

/** How the cancels of a server ended; what of `asked` is in none of the three is still open. */
export type CancelsDto = {
/** Cancels of tasks that were sent to it. */
asked: number,
/** The server says it stopped. */
stopped: number,
/** It ended by itself in spite of the wish. */
finishedAnyway: number,
/** The server refused. */
refused: number,
/** Cancels of calls without a task that were sent to it: MCP has no reply to them, so what became of them is not known. */
noReply: number,
/** Half of the stopped ones stopped within this; null when none stopped. */
medianMs: number | null, };

/** How a server is reached from now on. Has no `Debug`: it carries secrets. */
export type ChangeServer = { name: string, address: AddressDto,
/** New values of secret environment variables or headers, by name; those that are not here keep their value. */
secrets?: Record<string, string>,
/** Whether the person was shown exactly this address and agreed. */
agreed: boolean,
/** Open tasks that the person was told of; with more, nothing is changed. */
toldOpenTasks?: number, };

/** Settings to change; what is left out stays. */
export type ChangeSettings = Partial<SettingsDto>;

/** Lines that are replaced. Values of environments and headers are hidden in them. */
export type ChangedFileLines = {
/** The first of them, counted from one. */
line: number, removed: Array<string>, added: Array<string>, };

/** A tool that differs. */
export type ChangedTool = { name: string, change: "added" | "removed" | "changed", };

/** Tokens over time. */
export type ChartDto = {
/** The parts that were asked for, the oldest first. */
points: Array<ChartPoint>,
/** The sums of all. */
tokens: number, exactness: ExactnessDto, keptOut: number, keptOutExactness: ExactnessDto, messages: number, };

/** One part of time. An hour in which two parts meet counts where it begins. */
export type ChartPoint = {
/** When it begins, as it was asked for. */
at: string,
/** Tokens that came into windows. */
tokens: number, exactness: ExactnessDto,
/** Tokens that were passed to programs. */
passed: number, passedExactness: ExactnessDto,
/** What tasks kept out of windows. */
keptOut: number, keptOutExactness: ExactnessDto, messages: number,
/** Hours of it in which counting ran: with none, its zeros are unknown and not nothing. */
countedHours: number,
/** Hours that it has, as far as they have begun. */
hours: number, };

/** A signed root of the tree over the audit log. */
export type CheckpointDto = {
/** The rows that it covers: the first ones, so many. */
size: number, root: string, at: string,
/** The id of the key that signed. */
key: string,
/** The whole signed note. */
note: string, };

/** Which of the three outcomes. */
export type Choice = "accept" | "decline" | "dismiss";

export type CleanStorage = {
/** Write the registry anew afterwards, so that all free space goes back to the disk. Changes wait meanwhile. */
compact: boolean, };

export type ClientFile = { path: string, scope: "user" | "project",
/** Why nothing of it can be used; null when it was read. */
problem: string | null,
/** What does not stand in it as it was routed, as sentences without a full stop. */
drift: Array<string>, servers: Array<ClientServer>, };

/** An edit of one file of an agent program. */
export type ClientFileEdit = { path: string,
/** Null where it is not known any more. */
scope: "user" | "project" | null, state: "shown" | "done" | "refused",
/** Why it is refused, as a sentence without a full stop; null otherwise. */
problem: string | null,
/** What a person agrees to; null where there is nothing to agree to. */
fingerprint: string | null, lines: Array<ChangedFileLines>,
/** Entries that stay because people changed them since; of an undo. */
kept: Array<string>,
/** The copy of the file from before; null where none was made. */
backup: string | null,
/** The command that brings the file of before back without Taskwarden. */
restore: string | null,
/** Whether both files changed places in one step; the file system may only know a rename. */
exchanged: boolean, };

/** The agent programs that were found. */
export type ClientList = { clients: Array<AgentClient>, };

/** What is changed, or would be. */
export type ClientRouted = { client: string,
/** The agent that the changed entries name. */
agent: string,
/** Whether the agent is added, with its token in a file, before the first file is written. */
addsAgent: boolean, files: Array<ClientFileEdit>,
/** Servers that were meant and are not among them. */
leftOut: Array<LeftOutServer>, };

/** One server in a file. */
export type ClientServer = {
/** The name that the program knows it by. */
name: string,
/** The keys that lead to it in the file. */
place: Array<string>,
/** The folder for which alone it holds; null for every folder. */
folder: string | null,
/** Whether the program does not start it now. */
disabled: boolean, state: "new" | "known" | "routed" | "unresolved",
/** Why it cannot be imported, or routed; null otherwise. */
why: string | null,
/** Its name in Taskwarden, or the name that an import would give it; null where there is none. */
server: string | null,
/** What would run or be contacted, with variables as they stand in the file; null where that is not known. */
address: AddressDto | null,
/** What a person agrees to with an import; null where there is nothing to import. */
fingerprint: string | null,
/** Values that the file leaves open. */
variables: Array<ClientVariable>,
/** Other programs that have the same server, by their words. */
alsoIn: Array<string>, };

/** What is taken back, or would be. */
export type ClientUndone = { client: string, files: Array<ClientFileEdit>, };

/** A value that a file leaves open. */
export type ClientVariable = { name: string,
/** Whether the program would read it from its environment under this name. */
environment: boolean,
/** Whether it is never shown and goes into the vault. */
secret: boolean,
/** What it is when nobody says otherwise. */
default: string | null, };

/** What a caller can branch on. */
export type Code = "failed" | "usage" | "noCore" | "notFound" | "refused" | "overLimit" | "needsInput" | "timedOut";

/** Something that is about to come into a window. */
export type ComingDto = {
/** The task, `hdl_…`. */
id: string, server: string, tool: string | null,
/** Tokens; null while nothing is known. */
tokens: number | null, exactness: ExactnessDto,
/** What keeps it. */
state: ComingState,
/** The phase of an open task, as lists of tasks show it; null when its result is here. */
phase: Phase | null,
/** How far the task is, in percent, while it works and says so. */
percent: number | null, };

/** Why something is not in the window yet. */
export type ComingState = "held" | "slices" | "working" | "ready";

/** Checkpoints that somebody kept. */
export type CompareNotes = {
/** Whole signed notes. */
notes: Array<string>,
/** An epoch of the log that the person knows to have begun: that the log forked before it is no fault. */
epoch?: number | null, };

/** How one kept checkpoint compares with the log. */
export type ComparedNote = {
/** The rows that it covers. */
size: number,
/** Why it and the log cannot both be right, as the second half of a sentence about its file; null where they agree. */
fault: string | null,
/** Whether it is of an earlier epoch of the log and forks from it, as whoever asks knows. */
isKnownFork: boolean, };

/** What a check of an agent's connection found. */
export type ConnectionCheck = { checkedAt: string,
/** The address of agents over HTTP; null when none is open. */
url: string | null,
/** Why none is open, as a sentence; null when it is turned off or there is one. */
urlWhy: string | null,
/** The listener at that address, tried now; null when none is open. */
http: TriedDoorDto | null,
/** The core's own socket for `taskwarden connect`, tried now. */
command: TriedDoorDto,
/** When its last request came; null when none ever did. */
seenAt: string | null,
/** The door of that request; null when it was before this core was started. */
seenThrough: "command" | "http" | null,
/** Whether a request came with its token since that was made. */
tokenUsed: boolean,
/** Servers that can be called now. */
serversUp: number, servers: number,
/** The others, with the reason where one is known; at most a page. */
serversDown: Array<ServerDownDto>,
/** After this its program gives up a call; null where that is not known. */
waitsMs: number | null,
/** Whether that was seen here; otherwise it is what is known of its program. */
waitsLearned: boolean, };

/** What is known about reaching a task. */
export type ContactDto = {
/** Whether it can be reached. */
kind: "fresh" | "silent" | "gone" | "blocked", since: string,
/** Looks in a row that brought nothing. */
failures: number,
/** Why nothing was heard, as a sentence. */
last: string | null,
/** When the first of these looks failed, while the task does not count as silent yet. */
failingSince?: string, };

/** What a payload consists of. */
export type ContentDto = {
/** Size of the whole payload. */
bytes: number,
/** Whether it is or reports an error. */
isError: boolean,
/** Its parts, in the server's order. */
parts: Array<PartDto>, };

/** A control token that was made. Has no `Debug`: it carries the token. */
export type ControlTokenAdded = { facts: ControlTokenFacts,
/** `twc_…`, given this once. */
token: string,
/** Where it is used; null while the core has no listener. */
url: string | null, };

/** A control token without its secret. */
export type ControlTokenFacts = { id: string, name: string, scopes: Array<string>, agents: Array<string>, servers: Array<string>, tools: Array<ToolOfServer>, ownTasks: boolean, heldBy: string | null, perCall: number, perHour: number, needsReason: boolean, needsPlan: boolean,
/** The person who made it. */
by: string, createdAt: string, until: string | null, revokedAt: string | null,
/** Whether it opens anything now. */
inForce: boolean, };

/** All control tokens, the newest first. */
export type ControlTokenList = { tokens: Array<ControlTokenFacts>, };

/** The core that answers. */
export type CoreDto = { version: string, process: number, person: string,
/** When it was started. */
startedAt: string,
/** Its data directory. */
home: string,
/** Where secrets lie, in one line. */
secrets: string,
/** Whether they lie in a file that only the user can read. */
secretsInFile: boolean,
/** Where notices go. */
notifications: "desktop" | "none" | "off",
/** Where agents reach it over HTTP. */
agentsAt: AgentsAt,
/** What the check of the registry found at the start; empty is good. */
registryFindings: Array<string>, };

/** Facts of a registry and, with a running core, of its servers. */
export type CoreFacts = {
/** The version of the program that answers. */
version: string,
/** Its process, when a core runs. */
process: number | null,
/** What and where the registry is. */
registry: string, schema: number,
/** Tasks in it. */
tasks: number,
/** Open questions in it. */
openRequests: number,
/** Audit rows in it. */
auditRows: number, bytes: number,
/** What its check found; empty is good. */
findings: Array<string>,
/** Where secrets lie, when a core runs. */
secrets: string | null,
/** Facts that name servers and agents; null for a caller that is not proven to be a person. */
named: NamedFacts | null,
/** Where agents reach it over HTTP, when a core runs. */
agentsAt: AgentsAt | null,
/** Whether it records changes, when a core runs. */
recording: RecordingDto | null,
/** What is stored. */
storage: StorageDto,
/** How far its audit log is verified; what is new since the last check was checked for this. */
audit: AuditVerifiedDto,
/** Rows of it that were verified before, verified again for this: some of them each time, and all of them in turn. */
rechecked: AuditRecheckedDto,
/** How receipts of calls compare with it: some of them each time, and all of them in turn. */
receipts: ReceiptsVerifiedDto,
/** How its newest checkpoints compare with the rows. */
checkpoints: TreeVerifiedDto,
/** Where its checkpoints are copied to, when a core runs. */
anchors: Array<AnchorDto>, };

/** What tokens cost. */
export type CostDto = { currency: string,
/** Millionths of the currency. */
micros: number,
/** As exact as the tokens. */
exactness: ExactnessDto, };

/** Lists to count. */
export type CountTasks = {
/** Which tasks of each. */
queries: Array<ListQuery>, };

/** What becomes of the calls that wait because of alarms. */
export type DecideAlarms = {
/** Each by its id or a unique beginning of it. */
ids: Array<string>, calls: "send" | "cancel", };

/** What changed. Null and empty mean unchanged. */
export type Delta = {
/** What the reader must hold. */
after: number,
/** Everything up to here is covered. */
upto: number,
/** Tasks that changed, on screen or not. */
changes: number,
/** Servers that changed. */
servers: Array<ServerDto>,
/** Names of servers that are gone. */
goneServers: Array<string>,
/** Agents that changed or are new. */
agents: Array<AgentFacts>, rules: Array<RuleDto> | null,
/** What stands in the windows of agents, all of it; told once a second at most. */
budgets: BudgetList | null,
/** How many tasks there are. */
totals: Totals | null,
/** Inbox rows that changed or are new. */
inbox: Array<InboxRow>,
/** Ids of inbox rows that are gone. */
goneInbox: Array<string>,
/** Rows on screen that changed. */
rows: Array<TaskRow>,
/** Counts of the list on screen. */
view: ListView | null,
/** The task on screen. */
task: TaskDto | null,
/** How the window behaves. */
settings: SettingsDto | null,
/** Saved views, all of them. */
views: Array<DeskItem> | null,
/** Whether the core records changes. */
recording: RecordingDto | null,
/** What is halted, all of it. */
halt: HaltShown | null, };

/** A saved view, a snooze, a draft or the settings. */
export type DeskItem = {
/** `view`, `snooze`, `draft` or `setting`. */
kind: string,
/** Names it among those of its kind. */
key: string,
/** What it is. */
value: unknown,
/** When it was put there. */
changedAt: string, };

/** User data of one kind. */
export type DeskList = {
/** The last put first. */
items: Array<DeskItem>, };

/** A line of a comparison. */
export type DiffLine = { kind: "same" | "removed" | "added" | "skipped", text: string, };

/** Which alarms a person has seen. */
export type DismissAlarms = {
/** Each by its id or a unique beginning of it. */
ids: Array<string>, };

/** Everything that was checked. */
export type DoctorReport = { findings: Array<Finding>,
/** How many of them are broken. */
broken: number,
/** Server processes that a keeper holds when the core ends. */
kept: Array<KeptProcess>,
/** How long a keeper waits for a core before it ends its server. */
keptMs: number, };

/** Nothing to say but that it is done. */
export type Done = Record<symbol, never>;

/** A way in. */
export type DoorDto = "window" | "browser" | "terminal";

/** A file that does not stand as it was routed. */
export type DriftedFile = {
/** The program's word. */
client: string, path: string,
/** What is different, a sentence without a full stop for each entry. */
said: Array<string>, };

/** An error a task ended with. */
export type ErrorDto = {
/** JSON-RPC code; null when the error is not the server's. */
code: number | null,
/** What it says. */
message: string, };

/** A step to take against a task. */
export type EscalateTask = { id: string,
/** From 1 to 5; the next one when left out. */
step?: number | null,
/** In the person's words. */
reason?: string | null,
/** Tasks that the person was told end with the step; with more, nothing is done. */
toldTasks?: number, };

/** How far people went to end a task, and what is left to them. */
export type Escalation = {
/** Steps so far, the lowest first. */
steps: Array<TakenStep>,
/** Steps that can be taken now; the first is the next one. */
offered: Array<OfferedStep>,
/** Higher steps that this task does not have, each with why. */
unavailable: Array<UnavailableStep>,
/** That nothing of it runs any more, and how that is known; null while nobody observed it. */
stopped: Stopped | null,
/** How its server took cancels so far; null when it was never asked. */
record: CancelRecord | null, };

/** How exact a figure is. */
export type ExactnessDto = "exact" | "about" | "atMost";

/** Tasks that are not in a plan, counted. */
export type ExcludedTasks = { why: ExcludedWhy, count: number, };

/** Why a task that was named or matched is not in a plan. */
export type ExcludedWhy = "alreadyOver" | "alreadyAsked";

export type ExportAudit = { filter: AuditFilterDto, format: ExportFormat, gaps: ExportGaps, };

/** An export that is on record and signed, with its first line. */
export type ExportBegun = {
/** How the rest is read. */
next: ReadExport,
/** The first row of the range. */
first: number,
/** The last row of the range. */
last: number,
/** Rows that match. */
matching: number,
/** The beginning of the file. */
text: string,
/** What the file proves, in a sentence. */
proves: string, };

/** In which format rows are written. */
export type ExportFormat = "jsonl" | "csv" | "otlp";

/** What an export holds of rows that do not match. */
export type ExportGaps = "stubs" | "hashes";

/** A part of an export. */
export type ExportPart = { text: string,
/** How the rest is read; null behind the last part. */
next: ReadExport | null,
/** Rows written so far. */
rows: number,
/** Stubs written so far. */
stubs: number,
/** Receipts of calls written so far. */
receipts: number,
/** The first row of this part whose fields do not give its hash. */
broken: number | null, };

/** A request that failed. */
export type FailedRequestDto = { at: string, request: "call" | "poll",
/** Why; may quote the server. */
why: string, };

/** In which tokens an agent is counted. */
export type FamilyDto = {
/** Its word: `o200k`, `cl100k`, `claude3`, `claude47`, `gemini`, `llama`, `unknown`. */
id: string,
/** For people: `GPT o200k`. */
label: string,
/** How exact its counts of text are. */
exactness: ExactnessDto,
/** The measured error of an estimate, in percent either way; 0 where it is exact or a bound. */
errorPercent: number, };

/** One field of an answer. Has no `Debug`: it carries what a person wrote. */
export type FieldAnswer = {
/** Its key in the answer. */
name: string,
/** The server's title of it, or the name. */
title: string,
/** What was answered, as text for people; null for a secret. */
value: string | null, };

/** One thing that was checked. */
export type Finding = {
/** What was checked. */
area: string,
/** How bad it is. */
grade: "fine" | "note" | "broken",
/** What was found. */
message: string,
/** How to fix it; null if there is nothing to do. */
cure: string | null, };

/** The address at which a browser elsewhere ended. Has no `Debug`: it carries a code. */
export type FinishSignIn = {
/** The server's name. */
name: string, address: string, };

/** What is said of a task beside its phase (ruling 3). */
export type Flag = "orphaned" | "held" | "needsYou" | "hidden";

/** What a window watches from now on. */
export type FocusInput = {
/** The feed, as its snapshot names it. */
feed: string,
/** The list on screen, for its counts. */
query: ListQuery | null,
/** The rows on screen. */
ids: Array<string>,
/** The task on screen, or the one whose question is. */
task: string | null,
/** Whether the window is shown and has the focus. */
visible: boolean, };

/** In which form an agent gets a result. */
export type FormDto = "whole" | "slices" | "trimmed";

/** A piece of news. */
export type Frame = { "type": "snapshot" } & Snapshot | { "type": "delta" } & Delta | { "type": "resync", why: string, };

/** What was found of the processes of a frozen server. */
export type FrozenProcessesDto = {
/** Those that stand still, with all their memory. */
stopped: number,
/** Those that were told to and still run. */
moving: number,
/** Processes of somebody else beside them, which were not told. */
foreign: number,
/** When another program let some of them continue; they were stopped again. Left out where nobody did. */
ranAt?: string,
/**
 * When those that stood still were first not found any more; what they had in memory is lost. Left out while some are
 * found, and where none ever were.
 */
goneAt?: string, };

/** By what a list is divided. */
export type Grouping = "need" | "server" | "agent" | "none";

/** A halt with all of its orders. */
export type HaltDto = { id: string, at: string,
/** No call of the newest order began to leave after this; null while that is not known. */
closedAt: string | null, orders: Array<HaltOrderDto>, steps: Array<RecoveryStepDto>,
/** The stage that comes next. */
nextStage: RecoveryStageDto | null,
/** Tools whose calls pass at the stage `readOnly`. */
confirmedTools: Array<ToolOfServer>, counts: HaltedTaskCounts,
/** The first of the tasks, those that may still run first. */
tasks: Array<HaltedTaskDto>, };

/** What an order does where it applies. */
export type HaltEffectDto = "calls" | "running" | "requests";

/** One order to stop. Without a server and an agent it applies to everything. */
export type HaltOrderDto = { server: string | null, agent: string | null,
/** Only this tool of the server. */
tool: string | null,
/** What it did when it was given. */
scope: Array<HaltEffectDto>,
/** What of it is in force. */
inForce: Array<HaltEffectDto>, at: string,
/** Null for the file `HALT`, which any program can make; `control:ctl_…` for a supervisor program. */
by: string | null,
/** The name of that program's control token; left out for a person. */
byName?: string, reason: string, };

/** What was asked again. */
export type HaltRetried = {
/** Tasks whose cancels nobody had confirmed, and which can be asked. */
asked: number, };

/** What is halted now. */
export type HaltShown = {
/** Null when nothing is halted. */
halt: HaltDto | null,
/** Why the halts on record cannot be read; everything is halted then. */
unreadable: string | null, };

/** How many tasks are in which state. */
export type HaltedTaskCounts = { requested: number, acknowledged: number, confirmed: number, notConfirmed: number, open: number,
/** Those of `notConfirmed` of which nothing more can be learnt, because contact with them ended. */
beyondReach: number, };

/** One task that the halt covers. */
export type HaltedTaskDto = { id: string, server: string, agent: string | null, tool: string | null, state: HaltedTaskStateDto,
/** The task's phase, and why its cancel was refused where it was. */
evidence: string, phase: Phase,
/** When somebody asked to cancel it; null when nobody did. */
askedAt: string | null,
/** When the server acknowledged that. */
acknowledgedAt: string | null,
/** Why the server refused it, in its words. */
refused: string | null,
/** When the task ended, where its server said so. */
endedAt: string | null,
/** It has a result that its agent does not get. */
held: boolean, };

/** What became of one task. */
export type HaltedTaskStateDto = "requested" | "acknowledged" | "confirmed" | "notConfirmed" | "open";

/** Whether a server can be reached now. */
export type HealthDto = {
/** Whether it can. */
kind: "unknown" | "connecting" | "up" | "down" | "ended" | "blocked", since: string | null, why: string | null,
/** What a person can do. */
hint: string | null,
/** When it is tried again. */
retryAt: string | null, };

/** A result that waits for a person before the agent gets it. */
export type HeldDto = { at: string,
/** Who holds it: a person, or the rule or the limit that does. */
by: string, why: HeldWhy,
/** Its size in tokens, where it is held for it. */
tokens: number | null,
/** The limit, with `tooLarge`; up to which the program shows its model all of a result, with `wouldBeCut`. */
limit: number | null,
/** The program that would cut it, as people read it, with `wouldBeCut`. */
program: string | null,
/** What was free in the window below the limit, with `doesNotFit`. */
free: number | null,
/** What was decided; null while nobody did. */
verdict: VerdictDto | null, };

/** Why a result is held back. */
export type HeldWhy = "review" | "tooLarge" | "doesNotFit" | "wouldBeCut";

/** Which tasks were hidden or shown. */
export type HiddenList = { ids: Array<string>,
/** Tasks that stay in the list: they are not over, or need somebody. */
kept: number, };

/** Tasks to hide, or to show again. */
export type HideTasks = { ids: Array<string>,
/** Also every task that matches. */
query?: ListQuery | null, };

/** What happened to a task. */
export type HistoryDto = {
/** Facts, oldest first. */
events: Array<HistoryEvent>,
/** The server's messages over time, oldest first. */
log: Array<LogLineDto>,
/** Moments it was heard of, where known, oldest first. */
looks: Array<string>, };

/** One audit event. */
export type HistoryEvent = { at: string,
/** Whose doing it was. */
lane: "agent" | "server" | "person" | "policy",
/** What was done: a word of the audit log. */
verb: AuditVerb,
/** Who did it. */
actor: ActorDto,
/**
 * Their name; of Taskwarden and its limits, `Taskwarden`; of a supervisor program, `control:` with the name of its
 * control token.
 */
who: string,
/** How it came in, when a person decided it: door, process with its start, executable. */
origin?: OriginDto,
/** About which question. */
key: string | null,
/** A short sentence. */
note: string, };

export type ImportList = {
/** What became of each pick, in their order. */
servers: Array<ImportedServer>, };

/** One entry of a file that a person agreed to. Has no `Debug`: it carries secrets. */
export type ImportPick = { path: string,
/** The keys that lead to it in the file. */
place: Array<string>,
/** What the person was shown and agreed to. */
fingerprint: string,
/** Values that the file leaves open, by the names of its variables. */
values?: Record<string, string>, };

/** Servers to import. Has no `Debug`: it carries secrets. */
export type ImportServers = {
/** The project whose files were read as well. */
folder?: string | null, picks: Array<ImportPick>, };

/** What became of a server that was to be imported. */
export type ImportStateDto = "added" | "known" | "refused";

/** What became of one pick. */
export type ImportedServer = {
/** The last key of its place: the name in its file. */
name: string, state: ImportStateDto,
/** Its name in Taskwarden; null where it was refused. */
server: string | null,
/** Why it was refused, as a sentence; null otherwise. */
why: string | null, };

/** Everything that waits for a person, oldest first. */
export type InboxDto = {
/** A page of the open questions. */
items: Array<AskedDto>,
/** Open questions in all. */
total: number,
/** Open questions before this page. */
offset: number,
/** Held results, tasks past a limit that asks, and pauses that ask which calls are sent: rows of the window's inbox. */
decisions: Array<InboxRow>,
/** Tasks in trouble and servers that need a person, one row for each cause. */
trouble: Array<InboxRow>, };

/** What lies in the inbox of this person. */
export type InboxFigures = {
/** Items that are neither answered nor hidden. */
items: number,
/** Items that the person hid for a while. */
hidden: number,
/** Questions that servers ask besides; they become items as others are answered. */
moreQuestions: number, };

/** Something that waits for a person. */
export type InboxRow = {
/**
 * `hdl_…/KEY` for a question, `hdl_…/overdue` and so on for a task, `NAME/blocked` for a server, `alm_…/alarm` for an
 * alarm, `pau_…/pauseChoice` for a pause.
 */
id: string,
/** What it is. */
kind: "form" | "url" | "unsupported" | "held" | "overLimit" | "timeLimit" | "overdue" | "lost" | "unconfirmed" | "blocked" | "alarm" | "pauseChoice", task: string | null, key: string | null,
/** The server's name; empty for a paused agent, whose calls may be to several. */
server: string,
/** The tool, where known. */
tool: string | null,
/** Whose call it is. */
agent: string | null,
/** The server's own words, their beginning. */
message: string | null,
/** Host of a link. */
host: string | null,
/** Since when it waits. */
openedAt: string,
/** When it is too late. */
deadline: string | null,
/** Not now: asleep until then. */
snoozedUntil: string | null,
/** When its task last changed. */
changedAt: string,
/** Set for a few seconds after somebody answered. */
answeredBy: string | null,
/** The server says that the tool destroys something; false when it says nothing. */
destructive: boolean,
/** Tokens of a held result, or of a task that went past its limit; null elsewhere and while they are not counted. */
tokens: number | null,
/** The limit that it is held for, or that the task went past. */
limit: number | null,
/** How exact `tokens` is. */
exactness: ExactnessDto | null,
/** What a task past a limit of time reached, and what it counted. */
runLimit?: TaskRunLimitDto,
/** What an agent does again and again. */
alarm?: AlarmDto,
/** The pause whose waiting calls a person chooses from, with the first `calls_shown` of them. */
pause?: PauseDto,
/** Why a result is held; null elsewhere. */
why: HeldWhy | null,
/** The tasks of which one asks, where the server does not say which; then neither tool nor agent is named. */
oneOf?: Array<string>,
/** On the last question of a task: questions that its server asks besides. They come up as others close. */
moreQuestions?: number,
/**
 * Names the form of a question: open questions of one server and tool with the same can be answered together. Left out
 * where each must be answered for itself.
 */
form?: string,
/** The calls that were lost together, the oldest first and at most `loss_calls_shown`; empty where one task is meant. */
calls?: Array<LostCall>,
/** How many calls were lost together; 0 where one task is meant. */
callCount?: number,
/** Not now: asleep until its task changes. */
snoozedUntilChange?: boolean, };

/** What people want of a task. */
export type IntentDto = {
/** What they want. */
kind: "cancel" | "revoked" | "unwatched", at: string,
/** Who wants it: a person, or `control:ctl_…` for a supervisor program. */
by: string,
/** The name of that program's control token; left out for everybody else. */
byName?: string,
/** In the person's words, or what a limit found. */
reason: string | null,
/** Why, for programs: `tokenLimit`, `timeLimit` or `progressLimit` where a limit decided. */
reasonCode?: string,
/** How far the server is with it; null when nothing was asked of the server. */
state: "asked" | "acknowledged" | "stopped" | "endedHere" | "finishedAnyway" | "refused" | null,
/** Why the server refused, when it did. */
refusedWhy: string | null,
/** When the wish was first sent, where known. */
sentAt: string | null,
/** When the server acknowledged it, where it did. */
acknowledgedAt: string | null, };

/** Calls of the same tool with the same arguments. */
export type JobDto = {
/** Names the job. */
key: string,
/** Which attempt this task is, from 1. */
attempt: number,
/** All attempts that are kept, this one among them, the newest first. */
attempts: Array<KinDto>, };

/** A server process that goes on for a while when the core ends, because a keeper holds it. */
export type KeptProcess = {
/** The process of the server. */
process: number,
/** The process of its keeper. */
keeper: number,
/** The server's command, without its arguments. */
command: string, };

/** A child, or another attempt of the same job. */
export type KinDto = { id: string, server: string,
/** Its tool, where known. */
tool: string | null,
/** The one word for it. */
phase: Phase,
/** Which attempt of its job it is, from 1. */
attempt: number,
/** When it was admitted. */
createdAt: string,
/** When nothing more was expected of it. */
endedAt: string | null, };

/** Entries of one file that lead to what is gone. */
export type LeftEntries = {
/** The program's word, such as `claude-code`. */
client: string, path: string,
/** Their names in the file. */
entries: Array<string>,
/** Whether `clients undo` takes them back; others were written by somebody else. */
undo: boolean, };

/** A server that was meant and is left as it is. */
export type LeftOutServer = { name: string,
/** Why, as a sentence without a full stop. */
why: string, };

/** A process that outlived its server. */
export type LeftProcess = { pid: number, name: string,
/** It belongs to somebody else, and was not signalled. */
foreign: boolean, };

/** A limit of tokens. */
export type LimitDto = {
/** So many are allowed. */
tokens: number,
/** What happens with more. */
at: AtLimitDto, };

/** The limits that the core can count now. */
export type LimitList = {
/** One row for each limit and whom it is for. */
rows: Array<LimitRow>, };

/** How much of one limit is in use. */
export type LimitRow = {
/** What is limited, in plain words. */
name: string,
/** For whom: `everyone`, `agents`, `agent NAME`, `server NAME`, `task ID`. */
scope: string,
/** In use now. */
used: number, most: number,
/** What both count in. */
unit: LimitUnit, };

/** What a limit counts in. */
export type LimitUnit = "count" | "bytes";

/** Which page of the answered questions. */
export type ListAnswered = {
/** Questions before the page; none when left out. */
offset?: number | null,
/** Questions on the page at most; a page of `asking.answered_page_rows` when left out. */
limit?: number | null, };

export type ListAudit = { filter: AuditFilterDto,
/** Continue after a page: its `next` value. */
before: number | null, limit: number | null, };

/** Which kind to list. */
export type ListDesk = {
/** `view`, `snooze`, `draft` or `setting`. */
kind: string, };

/** A group of a list. */
export type ListGroup = {
/** Its word or name; empty for tasks of nobody. */
group: string, count: number, };

/** Which tasks a list shows; an empty list is no condition. */
export type ListQuery = {
/** In any of these phases. */
phases: Array<Phase>,
/** On any of these servers, by name. */
servers: Array<string>,
/** Of any of these agents, by name or id. */
agents: Array<string>,
/** With all of these flags. */
flags: Array<Flag>,
/** Any of these tools. */
tools: Array<string>,
/** In the id, tool, server or agent name, or in what the task says; case does not matter. */
text: string | null,
/** Changed within this time. */
changedWithinMs: number | null,
/** Created longer ago than this. */
olderThanMs: number | null,
/** By what it is divided. */
groupBy: Grouping,
/** Which come first. */
sort: Sorting,
/** By a column: the last value first. */
reversed?: boolean, };

export type ListReceipts = { filter: ReceiptFilterDto,
/** Continue after a page: its `next` value. */
before: number | null, limit: number | null, };

/** Which tasks to list. */
export type ListTasks = {
/** In any of these phases. */
phases?: Array<Phase>,
/** Only those that are not over. */
open?: boolean,
/** On this server. */
server?: string | null,
/** Of this agent, by name or id. */
agent?: string | null,
/** Rows at most. */
limit?: number | null,
/** `next` of the page before. */
before?: string | null, };

/** How a list is divided. */
export type ListView = {
/** Tasks in all groups together. */
total: number,
/** Tasks that there are and that nobody hid, whatever the query; counted at the same moment. */
all: number,
/** Tasks that match and that a person hid; left out where there are none. */
hidden?: number,
/** Groups that are not empty. */
groups: Array<ListGroup>,
/** How far a text was searched in what tasks say; null without a text, and without a running core. */
text?: TextReach, };

/** A command to find. */
export type LocateProgram = {
/** The program as it was typed. */
command: string,
/** The folder in which it will run; the home folder when absent. */
cwd: string | null, };

/** A line of the status log. */
export type LogLineDto = {
/** When it was seen. */
at: string,
/** The server's word then. */
status: string,
/** The server's sentence. */
text: string, };

/** What a program does with a long result. */
export type LongResultDto = "cut" | "file" | "whole";

/** One of the calls of an item. */
export type LostCall = {
/** The task's handle. */
task: string,
/** The tool, where known. */
tool: string | null,
/** Whose call it is. */
agent: string | null,
/** The server says that the tool destroys something. */
destructive: boolean, };

/** What became of them. */
export type LostResolved = {
/** Tasks that were marked as resolved. */
resolved: number,
/** Those that could not be, with the reason. */
left: Array<NotResolved>, };

/** A checkpoint that is asked for. */
export type MakeCheckpoint = {
/** Begin a new epoch of the log with it, because an older copy of the registry was put back. */
newEpoch?: NewEpoch | null, };

/** Tasks to choose: by handle, by filter, or by the query of a list. Exactly one of them. */
export type MakePlan = { kind: BulkAct, ids?: Array<string>, filter?: PlanFilter | null, query?: ListQuery | null, };

/** What became of them. */
export type ManyAnswered = {
/** Questions for which it was recorded. */
done: Array<OneQuestion>,
/** Those for which it was not, with the reason. */
left: Array<NotAnswered>, };

/** A model whose window is known. */
export type ModelDto = { name: string,
/** Its maker and full name. */
label: string,
/** Its family's word. */
family: string,
/** The size of its window, in tokens. */
windowTokens: number,
/** Where the size stands. */
source: string, };

/** A model by its two names. */
export type ModelName = { model: string,
/** Its maker and full name. */
label: string, };

/** The part of [`CoreFacts`] that names servers, agents and collectors. Shown to people only (ruling 26). */
export type NamedFacts = {
/** Every configured server. */
servers: Array<ServerDto>,
/** Every agent, also revoked ones. */
agents: Array<AgentFacts>,
/** What is in use of the limits, when a core runs. Scopes name servers and agents. */
limits: Array<LimitRow>,
/** What is halted. */
halt: HaltShown,
/** Files of agent programs that do not stand as they were routed. */
drifted: Array<DriftedFile>,
/** Where rows of the audit log are sent to. An address may hold a key. */
sinks: Array<SinkDto>, };

/** The new token of an agent. Has no `Debug`: it carries the token. */
export type NewAgentToken = { agent: AgentFacts,
/** Its token, `twa_…`; nobody can show it again. */
token: string,
/** Where it reaches all servers over HTTP; null when no address is open. */
url: string | null,
/** Settings for the agent's program, with the token. */
settings: ReadySettings,
/** The file with the token for `taskwarden connect`, where it now has the new one; null where there is none. */
savedIn: string | null,
/** Sessions that were open with the token before. */
endedSessions: number, };

/** A new epoch of the log. */
export type NewEpoch = {
/** Why, in the words of the person; a part of the row that records it. */
reason?: string | null,
/** Also where no place that gets copies of checkpoints contradicts the log. */
force?: boolean, };

/** A question for which it was not recorded. */
export type NotAnswered = { id: string, key: string, why: string, };

/** A tool that agents are not offered. */
export type NotOfferedDto = { why: "invalidName" | "duplicate",
/** Its name with hidden characters spelled out, such as `a\u{202e}b`, and cut. */
escapedName: string, };

/** How many tools of a server are not offered to agents, and why. */
export type NotOfferedToolsDto = {
/** MCP does not allow their names. */
invalidNames: number,
/** An earlier tool has the same name. */
duplicates: number, };

/** A task that could not be marked as resolved. */
export type NotResolved = { id: string, why: string, };

/** How kept checkpoints compare with the log, in the order in which they were given. */
export type NotesCompared = { notes: Array<ComparedNote>,
/** The rows that the newest checkpoint of the log covers. */
newest: number, };

export type Nothing = Record<symbol, never>;

/** A step that can be taken. */
export type OfferedStep = { number: number, step: "cancel" | "holdResult" | "revoke" | "revokeAgent" | "shutDown",
/** What its button says, such as `Shut down files (ends 3 tasks of 2 agents)`. */
label: string,
/** What it affects. */
affects: string,
/** Open tasks that end or are asked to cancel with it, this one included. */
tasks: number,
/** The names of the agents of these tasks. */
agents: Array<string>,
/** The processes of the group that would be ended, the first one first. */
processes: Array<ProcessName>,
/** Whether it reaches beyond this task, so that a person confirms it. */
confirm: boolean, };

/** An agent whose budget is wanted. */
export type OneAgent = {
/** Its name or id. */
agent: string, };

/** The number of an anchor, as the list shows it. */
export type OneAnchor = { id: number, };

/** A rule to end. */
export type OneAnswerRule = {
/** Its id, `ans_…`. */
rule: string, };

/** Names one row of the audit log. */
export type OneAuditRow = { number: number, };

/** One tool of a server, whose change is shown. */
export type OneChangedTool = { name: string, tool: string, };

/** The control token to revoke. */
export type OneControlToken = {
/** Its name or id. */
name: string, };

/** One question of a task. */
export type OneQuestion = { id: string, key: string, };

/** Names one server. */
export type OneServer = { name: string, };

/** The number of a sink, as the list shows it. */
export type OneSink = { id: number, };

/** Names one task by its handle or a unique beginning of it. */
export type OneTask = { id: string, };

/** A tool of a server. */
export type OneTool = {
/** The server's name. */
server: string, tool: string, };

/** An operation that was begun. */
export type OperationBegun = { operation: string,
/** How many tasks were asked until now. */
asked: number,
/** How many are left to ask; more than none when it takes long. */
left: number,
/** Those that were not asked, at most a page of them. */
refused: Array<RefusedTask>,
/** Why it ended before the last task. */
cutShort: string | null, };

/** An operation, as far as it came. */
export type OperationDto = { id: string, by: string, reason: string | null, begunAt: string,
/** When the last task was asked; null while some are left. */
endedAt: string | null,
/** Why it ended before the last task. */
cutShort: string | null,
/** Whether each task has its final result. */
settled: boolean, counts: BulkCounts, };

/** How a person's decision came in. */
export type OriginDto = { door: DoorDto,
/** The process that asked; null where the system does not tell. */
process: number | null,
/** The file that it ran; null where the system does not tell. */
executable: string | null, };

/** A task said and brought more than it may. */
export type OverLimitDto = {
/** Tokens, when it was noticed. */
tokens: number,
/** The limit that it went past, and what happens at it. */
limit: LimitDto,
/** When it was noticed. */
at: string,
/** Who let it go on; null while nobody did. */
settledBy: string | null, };

/** A stretch of a list. */
export type PageTasks = { query: ListQuery,
/** Only this group, as the view names it. */
group: string | null,
/** Rows before the first one. */
offset: number,
/** Rows at most. */
limit: number, };

/** The task that was open when this one was started. */
export type ParentDto = { id: string, server: string,
/** Its tool, where known. */
tool: string | null,
/** `trace` when both carry the same trace, `openTask` when it was the agent's newest open task. */
why: "trace" | "openTask", };

/** A part of a payload. Has no `Debug`: it carries content. */
export type PartDto = {
/** Its number, from 0. */
n: number,
/** What it is. */
kind: "text" | "image" | "audio" | "resource" | "resourceLink" | "structured" | "json" | "unknown",
/** Its type, as the server says. */
mime: string | null,
/** Its size: of pictures and sounds decoded, else of the text that `tasks.piece` gives. */
bytes: number,
/** The beginning of its text; of pictures and sounds the whole base64, unless they are too large. */
preview: string,
/** Whether the preview is not all of it. */
cut: boolean,
/** The name the server gives it. */
name: string | null,
/** The title for people. */
title: string | null,
/** Where it can be found. */
uri: string | null,
/** What the server says about it. */
description: string | null, };

/** One agent or one local server that stands still. */
export type PauseDto = {
/** Our id of it, `pau_…`. */
id: string,
/** The name of the paused agent; null when it is a server. */
agent: string | null,
/** The name of the frozen server; null when it is an agent. */
server: string | null, since: string,
/** Who paused it: a person, or `control:ctl_…` for a supervisor program. */
by: string,
/** The name of that program's control token; left out for a person. */
byName?: string, reason: string,
/** Results that arrive for the agent are held. */
holdsResults: boolean,
/** Calls that wait. */
waiting: number,
/** Whether whoever ends it must say which of the waiting calls are sent. */
mustChoose: boolean,
/** What was found of a server's processes; null for an agent, and without a core. */
processes: FrozenProcessesDto | null,
/** The calls that wait, in their order: all of them in `pauses.list`, the first in the inbox, none elsewhere. */
calls?: Array<WaitingCallDto>, };

/** A pause that ended. */
export type PauseEndedDto = { agent?: string | null, server?: string | null,
/** Waiting calls that are sent now, in their order. */
sent: number,
/** Waiting calls that were cancelled. Their server never heard of them. */
leftOut: number,
/** Waiting calls that another pause holds still. */
stillWaiting: number, };

/** What to pause: one agent, whose new calls wait, or one local server, whose processes are frozen. */
export type PauseInput = { agent?: string | null, server?: string | null,
/** Results that arrive for the agent meanwhile are held until a person decides. */
holdResults?: boolean, reason?: string | null, };

/** Pauses in force, the newest first, with the calls that wait. */
export type PauseList = { pauses: Array<PauseDto>, };

/** A piece of a large text. Has no `Debug`: it carries content. */
export type PieceDto = {
/** The text, from a whole character to a whole character. */
text: string,
/** Where the next piece begins; null at the end. */
next: number | null,
/** Size of the whole text. */
bytes: number, };

/** Open tasks to choose, in the words of `tasks.list`. All conditions must hold; an empty one is no condition. */
export type PlanFilter = {
/** In any of these phases. */
phases?: Array<Phase>,
/** On this server. */
server?: string | null,
/** Of this agent, by name or id. */
agent?: string | null,
/** Calls of this tool. */
tool?: string | null, };

/** A plan, as it was made. */
export type PlanMade = { planId: string, kind: BulkAct,
/** How many tasks it has, exactly those that matched when it was made. */
count: number,
/** The first hundred of them. */
handles: Array<string>, excluded: Array<ExcludedTasks>,
/** It cannot be run from then on. */
expiresAt: string, };

/** A plan with its operation. */
export type PlanShown = { planId: string, kind: BulkAct, by: string,
/** How the tasks were chosen, in words. */
filter: string, count: number, createdAt: string, expiresAt: string,
/** Null until it is run. */
operation: OperationDto | null,
/** The tasks from `offset` on, at most a page of them, in the order in which they are asked. */
tasks: Array<BulkTask>,
/** The `offset` of the next page; null at the end. */
next: number | null, };

/** What tokens of one model cost. */
export type PriceDto = {
/** The model, such as `claude-opus-4-7`; dated versions of it have the same price. */
model: string,
/** Its maker and full name. */
label: string,
/** For a million tokens that it reads, as decimal text: `3.00`. */
input: string,
/** For a million tokens that it writes. */
output: string,
/** Three letters, such as `USD`. */
currency: string,
/** When a person set it. */
setAt: string, setBy: string, };

export type PriceList = { prices: Array<PriceDto>,
/** Models that are set for agents with access and have no price, by name. */
unpriced: Array<ModelName>, };

/** What was seen of the processes of a server that was ended. */
export type ProcessEnd = { state: "gone" | "left" | "notObserved", at: string,
/** Processes that were seen to end. */
ended: number,
/** Processes that were left. */
left: number,
/** The first of those that were left. */
named: Array<LeftProcess>, };

/** A process as the system names it. */
export type ProcessName = { pid: number, name: string, };

/** An agent program that can be set. */
export type ProgramChoice = {
/** Its word: `claude-code`, `codex`, `gemini-cli`, `opencode` …. */
id: string,
/** For people: `Claude Code`. */
label: string, };

/** What is known of the program of an agent. */
export type ProgramDto = {
/** Its word, such as `codex`; `other` when it is not known. */
id: string,
/** For people: `Codex`. */
label: string,
/** Who says so. */
from: ProgramFromDto,
/** The version that was measured; empty where none was. */
version: string,
/** What of a result its model sees. */
shows: ShownPartDto,
/** What it does with a result that is longer than `resultTokens`. */
longResult: LongResultDto,
/** Tokens of one result that its model sees at most; null when no limit is known. */
resultTokens: number | null,
/** Percent of the stated tool definitions that stand in a request. */
toolsPercent: number,
/** Whether it leaves tool definitions out until its model searches for them: only the program knows how many. */
toolsSearched: boolean,
/** Whether results that it would cut are held and given in slices. */
holdsCut: boolean, };

/** Who says which program an agent is. */
export type ProgramFromDto = "set" | "client" | "nobody";

/** Where a command was found. */
export type ProgramLocated = {
/** Its full path, which will run; null when there is no such program. */
program: string | null, };

/** Settings for one program. */
export type ProgramSettings = {
/** Its word, such as `codex`; `other` for every program that has no line of its own. */
program: string,
/** What people read. */
label: string,
/** What to paste. One of them is enough. */
texts: Array<SettingsText>,
/** What to know about these settings, as sentences. */
notes: Array<string>,
/** The command that shows what the program makes of them; null when none is known. */
check: string | null, };

/** How far a task is. */
export type ProgressDto = {
/** Done so far, in the server's unit. */
done: number | null,
/** Of how much. */
total: number | null,
/** The server's words. */
message: string | null, };

/** User data to store. Has no `Debug`: it carries content. */
export type PutAtDesk = {
/** `view`, `snooze` or `draft`. */
kind: string,
/** Names it among those of its kind. */
key: string,
/** What it is; null deletes it. */
value: unknown, };

/** A message as it went over the wire, without its body. */
export type RawDto = { n: number,
/** When it came or left. */
at: string,
/** Which way it went. */
direction: "fromServer" | "toServer",
/** The method or kind. */
about: string,
/** Its size before it was cut. */
bytes: number,
/** Whether not all of it is kept. */
cut: boolean, };

/** Messages of a task. */
export type RawListDto = { messages: Array<RawDto>, };

/** Where to look for agent programs. */
export type ReadClients = {
/** A project whose files are read as well; only the user's files when left out. */
folder?: string | null, };

/** The part of an export that comes next. */
export type ReadExport = {
/** As the begun export has it: names are ids, and the range has both ends. */
filter: AuditFilterDto, format: ExportFormat, gaps: ExportGaps,
/** The rows that the checkpoint covers. */
size: number,
/** The last row that was looked at. */
after: number,
/** Rows written so far. */
rows: number,
/** Stubs written so far. */
stubs: number,
/** Receipts of calls written so far. */
receipts: number, };

/** Which page of the inbox. */
export type ReadInbox = {
/** Questions before the page; none when left out. */
offset?: number | null,
/** Questions on the page at most; a page of `asking.inbox_page_rows` when left out. */
limit?: number | null, };

/** A piece to read. */
export type ReadPiece = { id: string, of: "result" | "arguments" | "error" | "raw",
/** Which part; null is the payload as it was on the wire. */
part: number | null,
/** From which byte; `next` of the piece before. */
offset: number,
/** Bytes at most. */
limit: number, };

/** Which lines of a log to read. */
export type ReadServerLog = { name: string,
/** Only lines after this number; the newest ones when absent. */
after?: number,
/** At most so many; a page when absent. */
limit?: number, };

/** Settings that can be pasted into an agent's program. They may hold the token: shown once, kept nowhere. */
export type ReadySettings = {
/** JSON for programs that speak HTTP; null when no address is open. */
http: string | null,
/** JSON for programs that start a command. */
stdio: string,
/**
 * A command line that adds it to Claude Code; null when no address is open. It holds the token, which the shell
 * would keep in its history: people are shown `programs`.
 */
claude: string | null,
/** The same for each program in the forms that it takes, those that were measured first. */
programs: Array<ProgramSettings>, };

/** What one call of an agent left behind. */
export type ReceiptDto = { number: number,
/** When the agent got its first answer, or was refused. */
at: string,
/** The name of the agent. */
agent: string, agentId: string,
/** The name of the server; null where no server has the tool. */
server: string | null, serverId: string | null,
/** The server's name for the tool, or the one that the agent used where no server has it. */
tool: string,
/** Equal arguments have equal marks; null where too many arguments waited for theirs, or the call had none that read. */
argsMark: string | null,
/** `allowed`, or why it was refused. */
verdict: string,
/** What the agent got first. */
outcome: string,
/** From the call to the first answer. */
tookMs: number,
/** Size of the arguments. */
bytesIn: number,
/** Size of the first answer; zero where it was no answer of a server. */
bytesOut: number,
/** The task that the call has or joined. */
handle: string | null,
/** Whether its fields are those of its hash, as far as one receipt shows that. */
fits: boolean, };

/** Which receipts; what is null lets every one pass. */
export type ReceiptFilterDto = {
/** From this time on: ISO 8601, or a date in UTC. */
since: string | null,
/** Before this time: ISO 8601, or a date in UTC. */
until: string | null,
/** The name or id of an agent. */
agent: string | null,
/** The name or id of a server. */
server: string | null,
/** The whole name of a tool, as its server has it. */
tool: string | null,
/** One of these words; every verdict when empty. */
verdicts: Array<string>,
/** One of these words; every outcome when empty. */
outcomes: Array<string>,
/** The handle of a task or a unique beginning of it: calls that made it or joined it. */
task: string | null, };

/** A page of receipts, newest first. */
export type ReceiptListDto = { rows: Array<ReceiptDto>,
/** Where the next page begins; null at the end. A page may be short, even empty, and not the last. */
next: number | null,
/** The first receipt that is still there; 0 without any. */
first: number,
/** The last receipt that was stored; 0 without any. */
last: number, };

/** How receipts compare with the audit log. */
export type ReceiptsVerifiedDto = {
/** Batches that were checked now. */
batches: number,
/** Receipts that were checked now. */
receipts: number,
/** Receipts of these batches that retention removed. */
removed: number,
/** The first receipt that does not hold. */
broken: BrokenRowDto | null,
/** Where the check goes on; null at the end. */
next: number | null, };

/** Arguments of an earlier call. Has no `Debug`: it carries arguments. */
export type RecentArguments = {
/** The handle of that call. */
task: string,
/** When it was made. */
at: string,
/** Whose call it was; null when a person made it. */
agent: string | null, arguments: object,
/** Whether values were left out because they look like secrets. */
leftOut: boolean, };

/** Arguments of earlier calls, those of the newest call first, none twice. Has no `Debug`: it carries arguments. */
export type RecentArgumentsList = { recent: Array<RecentArguments>, };

/** Whether changes are recorded. While they are not, calls of agents are refused before they leave. */
export type RecordingDto = { "state": "ok" } | { "state": "cannot", reason: RecordingReason,
/** Why, as a sentence without its full stop. */
message: string,
/** What a person can do. */
cure: string, since: string,
/** Calls that left before and have no row. */
calls: Array<UnrecordedCallDto>, };

/** Why changes are not recorded. */
export type RecordingReason = "diskFull" | "readOnly" | "damaged" | "slowDisk" | "locked" | "failing";

/** How far the way back has come. */
export type RecoveryStageDto = "acknowledged" | "requests" | "readOnly" | "calls";

/** One stage that was reached. */
export type RecoveryStepDto = { stage: RecoveryStageDto, at: string, by: string, };

/** Questions that were refused, because too many of the server's questions are open. */
export type RefusedQuestionsDto = { count: number,
/** When the first of them came. */
since: string, };

/** A task that was not asked. */
export type RefusedTask = { id: string, why: string, };

/** What to do with a held result. */
export type ReleaseTask = {
/** The task's handle. */
id: string,
/** Whether the agent gets it. */
deliver: boolean,
/** In which form it gets it; whole when left out. */
form?: FormDto | null,
/** To about how many tokens it is cut, with `trimmed`. */
trimTokens?: number | null,
/** Why not, in the person's words; told to the agent. */
reason?: string | null, };

/** An answer to repeat. Has no `Debug`: it carries content. */
export type RememberRequest = { id: string, key: string,
/** What to answer; left out, what a person answered to this question. */
action?: Choice | null,
/** Content of an accepted form. */
content?: object | null, };

/** What clean-up removes, or removed. */
export type RemovalDto = {
/** Tasks that lose contents and stay. */
payloadTasks: number,
/** Bytes of these contents. */
payloadBytes: number,
/** Tasks that go with all that belongs to them. */
tasks: number,
/** Receipts of calls that go, in whole batches. */
receipts: number,
/** Audit rows that go, in whole segments. */
auditRows: number, };

/** A model whose price goes. */
export type RemovePrice = { model: string, };

/** A server to remove. */
export type RemoveServer = { name: string,
/** Whether the person knows that its open tasks are lost with it. */
evenWithOpenTasks?: boolean, };

/** What a repeated call means while the first one is still open. */
export type RepeatDto = "join" | "new";

/** An agent that started tasks. */
export type ReportAgentDto = {
/** Its name; null for tasks that no agent started. */
agent: string | null,
/** What its program says it is; null when it never said. */
program: string | null,
/** Tasks that began. */
tasks: number, };

/** Questions, and how long they waited. */
export type ReportAnswersDto = { asked: number,
/** Answers to questions of this month. */
answered: number,
/** Answers to questions of an earlier month, which are not in the times. */
askedBefore: number,
/** Questions of this month that nobody answered before they were withdrawn. */
withdrawn: number,
/** Half of the answers came within this; null without answers. */
medianMs: number | null,
/** 95 of 100 answers came within this. */
p95Ms: number | null, };

/** Which month is reported on. */
export type ReportAudit = {
/** A month in UTC, such as `2026-11`; the last whole month when null. */
month: string | null, };

/** A day in UTC. */
export type ReportDayDto = {
/** Such as `2026-11-21`. */
date: string,
/** Calls of agents that left a receipt. */
calls: number,
/** Tasks that began. */
tasks: number, decisions: number, };

/** How often somebody decided something. */
export type ReportDecisionDto = {
/** As rows have it. */
actor: string,
/** The name of that actor. */
who: string,
/**
 * `answered`, `declined`, `cancelled`, `revoked`, `released`, `withheld`, `limitLifted`, `escalated`, `halted`,
 * `resumed`, `paused`, `pauseEnded`, `toolsSeen`, `serverEnded` or `serverRestarted`.
 */
kind: string,
/** The verb of its rows. */
verb: string, count: number, };

/** What became of the tasks that a halt covered, as is known when the report is made. */
export type ReportHaltDto = { id: string,
/** When it began. */
at: string,
/** Whether people let all of it begin again. */
isOver: boolean, counts: HaltedTaskCounts,
/** Tasks of it that retention removed. */
removed: number, };

/** A row that is listed as it is. */
export type ReportRowDto = {
/** The number of the row. */
row: number, at: string, who: string, verb: string,
/** Empty when it was erased. */
note: string, };

/** What a server did with its tasks and cancels. */
export type ReportServerDto = {
/** Its name; null for rows that name none. */
server: string | null,
/** Tasks that began. */
tasks: number,
/** Tasks that it was asked to cancel. */
cancels: number, acknowledged: number, refused: number,
/** Cancels that could not be sent. */
unsent: number,
/** Tasks that it says it cancelled, after it was asked to. */
stopped: number,
/** Tasks that ended in another way, after it was asked to cancel them. */
finishedAnyway: number,
/** Tasks that had not ended by the end of the month, or by now, although it was asked to cancel them. */
notConfirmed: number,
/** Tasks that became unreachable for good. */
lost: number,
/** Tasks of which it took back that they had ended. */
contradictions: number, };

/** A question of a task. */
export type RequestDto = {
/** Names it within its task. */
key: string,
/** What is asked for. */
kind: "form" | "url" | "sampling" | "roots" | "unsupported",
/** The server's words. */
message: string,
/** The form's schema as the server sent it. */
schema?: unknown,
/** The page to visit. */
url?: string,
/** Whether it is open, answered or withdrawn. */
state: "open" | "answered" | "confirmed" | "withdrawn",
/** When it was first seen. */
openedAt: string,
/** What was answered, without content. */
answer: AnswerDto | null,
/** Why the server no longer asks, when nobody here answered. */
withdrawnWhy: string | null,
/** Fields that look like secrets, which servers must not ask for by form. */
secretFields: Array<string>,
/** The tasks of which one asks it, where the server does not say which; empty when it is known. */
oneOf?: Array<string>,
/** Of a page to visit, its host as people read it: Punycode decoded. */
host?: string,
/** The host in ASCII, when that reads differently. */
hostAscii?: string, };

/** How requests of one kind went. */
export type RequestTimesDto = {
/** Requests that are over. */
count: number,
/** Those without an answer, or with an error for one. */
failed: number,
/** Half of the answers came within this; null without an answer. */
medianMs: number | null,
/** 95 % of the answers came within this. */
p95Ms: number | null, };

/** Tasks that were lost together, by one of them. */
export type ResolveLost = {
/** The handle of one of them. */
id: string,
/** In the person's words. */
note?: string | null, };

/** A stored result. */
export type ResultDto = {
/** Its size; null while it is being fetched or when it can no longer be had. */
bytes: number | null,
/** Whether the tool reported an error. */
isError: boolean,
/** Where it is. */
state: "stored" | "notFetched" | "unavailable", };

/** A stage of the way back. */
export type ResumeHalt = { stage: RecoveryStageDto,
/** The person has seen that tasks may still run. */
withOpen: boolean, };

/** A sink to send to again. Has no `Debug`: it carries secrets. */
export type ResumeSink = { id: number,
/** Values of headers, in place of earlier ones of their names; the others stay. */
headers?: Record<string, string>, };

/** An agent whose access to take away. */
export type RevokeAgent = {
/** Its name or id. */
agent: string,
/** In the person's words. */
reason?: string | null, };

/** Which sessions to end. */
export type RevokeSessions = { "which": "one", id: string, } | { "which": "others" };

/** A task to take from its agent. */
export type RevokeTask = { id: string,
/** In the person's words. */
reason?: string | null, };

/** Which servers of a program are to be reached through Taskwarden. */
export type RouteClient = {
/** The program's word, such as `claude-code`. */
client: string,
/**
 * Names of entries, or of their servers in Taskwarden; all that were imported when left out. Entries of a project
 * are included only by name, because its file is usually shared.
 */
servers?: Array<string>,
/** The project whose files are read as well. */
folder?: string | null,
/** Fingerprints of the edits that the person was shown and agreed to; others are shown and not made. */
agreed?: Array<string>, };

/** A rule. Null means that it says nothing about this. */
export type RuleDto = { scope: ScopeDto,
/**
 * Which version of the rule this is. Whoever changes a rule gives the version that it read, or 0 where there was none:
 * the change is refused when somebody else changed the rule meanwhile. Left out, it replaces what is there.
 */
version?: number | null,
/** Who is asked. */
asked?: WhoIsAsked | null,
/** When people are asked too, with `agentThenPeople`. */
peopleAfterMs?: number | null,
/** What a repeated call means. */
repeat?: RepeatDto | null,
/** Whether results wait for a person before the agent gets them. */
holdResults?: boolean | null,
/** How long a plain call lasts before it becomes a task, for agents that know tasks. */
promoteAfterMs?: number | null,
/** Whether a result that the agent's program would cut is held and given in slices; when nothing says so, it is. */
holdCut?: boolean | null,
/** How large one result may be: warn, ask or hold. */
resultLimit?: LimitDto | null,
/** How much one task may say and bring: warn, ask or stop. */
taskLimit?: LimitDto | null,
/** How full the window of an agent may be: warn, ask or hold. In rules of agents alone. */
windowLimit?: LimitDto | null,
/** How long a task may run; waiting for people is not counted. */
timeLimit?: RunLimitDto | null,
/** How long a task may run without progress. */
progressLimit?: RunLimitDto | null,
/** How many equal calls of an agent raise an alarm. */
sameCallLimit?: SameCallLimitDto | null,
/** How many calls of an agent in a minute raise an alarm; 0 for none. In rules of agents alone. */
callsPerMinute?: number | null,
/** How many calls of an agent in flight at once raise an alarm; 0 for none. In rules of agents alone. */
openCalls?: number | null,
/** What happens when an alarm is raised; when nothing says so, people are told. */
alarmAction?: "warn" | "ask" | "cancel" | null, };

export type RuleList = {
/** Agents first, then servers, then tools. */
rules: Array<RuleDto>, };

/** The rule that answered, in the version that it had then. */
export type RuleRefDto = { id: string, version: number, };

/** A limit of time of a rule. */
export type RunLimitDto = { allowedMs: number,
/** What happens after that. */
at: "warn" | "ask" | "cancel", };

/** A plan to run. */
export type RunPlanInput = { planId: string,
/** In the caller's words, for the audit log and for servers that accept one. */
reason?: string | null, };

/** How many equal calls raise an alarm, and within which time. */
export type SameCallLimitDto = {
/** 0 for no alarm. A call whose result is that of the call before counts twice. */
count: number, windowMs: number, };

/** For what a rule holds. The narrower wins, field by field: tool, then server, then agent. */
export type ScopeDto = { "kind": "agent",
/** Its name or id. */
agent: string, } | { "kind": "server", server: string, } | { "kind": "tool",
/** The server's name. */
server: string, tool: string, };

/** What of a server's tools a person has seen. */
export type SeeTools = { name: string,
/** The digest of the list that was shown. */
digest: string, };

/** What flowed over time. */
export type SeriesDto = {
/** Points, the oldest first, without gaps. */
points: Array<SeriesPoint>,
/** How long one is. */
stepMs: number,
/** The least exact of the figures. */
exactness: ExactnessDto,
/** The families they were counted in, by their words: sums over several are what was spent, not comparable sizes. */
families: Array<string>, };

/** One point of a series. */
export type SeriesPoint = {
/** When it begins. */
at: string,
/** Tokens that came in, by source, all of them, in order. */
sources: Array<SourcePart>,
/** What tasks kept out. */
keptOut: number, messages: number, };

/** What was ended. */
export type ServerActed = { name: string,
/** The processes that ran, and were told to end. */
processes: Array<number>,
/** Tasks that were open on it. */
openTasks: number,
/** Processes that were seen to run afterwards, the first of them; left out when there are none. */
left?: Array<number>, };

/** What became of it. */
export type ServerAdded = {
/** The server, as it is after the first attempt to connect. */
server: ServerDto,
/** Its tools; null when it could not be reached, or when its tools could not be listed. */
tools: Array<ToolDto> | null,
/** Why its tools could not be listed, although it is connected; left out otherwise. */
toolsFailed?: string, };

/** A server that cannot be called now. */
export type ServerDownDto = { name: string, why: string | null, };

/** A configured server. */
export type ServerDto = {
/** Its name here. */
name: string,
/** Our id of it. */
id: string,
/** How it is reached. */
address: AddressDto,
/** Which handshake it uses; null until it was connected once. */
era: "modern" | "legacy" | "legacySse" | null,
/** Which tasks it has; null until it was connected once. */
dialect: "2026-07-28" | "2025-11-25" | "none" | null,
/** The protocol version as agreed. */
protocolVersion: string | null,
/** The server's name for itself. */
serverName: string | null,
/** Its version of itself. */
serverVersion: string | null,
/** Whether it can list its tasks. */
canList: boolean | null,
/** Whether it can cancel tasks. */
canCancel: boolean | null,
/** Whether it can be reached now. */
health: HealthDto,
/** Whether a person agreed to contact exactly this address. */
agreed: boolean, agreedBy: string | null, agreedAt: string | null,
/** Tasks on it that are not over: `figures.open`. */
openTasks: number,
/** How many tasks of which sort are on it. */
figures: TaskFigures,
/** When it was added. */
createdAt: string,
/** The end of its standard error; empty for HTTP and without a core. */
stderrTail: string,
/** Whether it pushes changes now. */
pushes: boolean,
/** Tools as last listed; null when they were never listed. */
toolCount: number | null,
/** Tools that differ from what a person last saw, as compared last in this run of the core. */
changedTools?: number,
/** Tools that agents are not offered, as listed last; left out where there are none. */
notOffered?: NotOfferedToolsDto,
/** How its cancels ended. */
cancels: CancelsDto,
/** Questions of it that nobody saw, because too many were open; null when there were none in this run of the core. */
refusedQuestions: RefusedQuestionsDto | null,
/** The sign-in to it; null where it asked for none, or has a token of its own in its headers. */
signIn: SignInDto | null,
/** That its processes are frozen; left out while they are not, and without a core. */
frozen?: PauseDto, };

/** How the server of a lost task was ended, when and by whom. */
export type ServerEndedDto = { how: "ended" | "restarted" | "changed", by: string,
/** When the task was lost by that. */
at: string, };

/** All servers by name. */
export type ServerList = { servers: Array<ServerDto>, };

/** The log of a server in this run of the core, oldest line first. */
export type ServerLogDto = { lines: Array<ServerLogLine>,
/** Number of the oldest line that is kept; lines count from 1. */
first: number,
/** Number that the next line gets. */
next: number,
/** Bytes of text that are kept at most. */
keptBytes: number, };

/** What a line says. Only the text of `line` and `message` is the server's. */
export type ServerLogEvent = { "kind": "line", text: string, } | { "kind": "message",
/** Null for a level that MCP does not know. */
level: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency" | null,
/** Which part of the server says it. */
logger: string | null, text: string, } | { "kind": "skipped", count: number, } | { "kind": "started", pid: number, } | { "kind": "resumed", pid: number, } | { "kind": "ended", code: number | null, signal: number | null,
/** Taskwarden ended it. */
byUs: boolean, } | { "kind": "connected" } | { "kind": "disconnected" } | { "kind": "asked", by: string, act: "restart" | "end" | "change", } | { "kind": "questionRefused" };

/** One line of the log. */
export type ServerLogLine = { number: number,
/** When it came; null when it was written before this core found the process. */
at: string | null,
/** The agent whose own process it is about; null for the one that is shared. */
agent: string | null, event: ServerLogEvent, };

/** A process of a server. */
export type ServerProcessDto = { pid: number,
/** The agent whose own it is; null for the one that is shared. */
agent: string | null,
/** Since when this core has it. */
since: string,
/** The names of all processes of its group, its own first; empty where the system does not tell. */
group: Array<ProcessName>, };

/** What was removed. */
export type ServerRemoved = { name: string,
/** Open tasks that are lost with it. */
lostTasks: number,
/** Entries of agent programs that still lead to it. */
left: Array<LeftEntries>, };

/** What of a server runs now, and so what ends with it. */
export type ServerRunning = {
/** Its processes on this machine; none for a server that is reached by a URL. */
processes: Array<ServerProcessDto>,
/** Its open tasks. */
openTasks: number,
/** The agents of these tasks and of calls in flight that are not tasks yet. */
agents: Array<AgentOnServer>, };

/** How the requests to a server went in this run of the core. */
export type ServerTimesDto = {
/** When measuring began: the start of the core. */
since: string, hour: SpanTimes, day: SpanTimes,
/** Steps of equal length, oldest first; empty ones are there, too. */
steps: Array<SpanTimes>,
/** The last request that failed. */
lastFailure: FailedRequestDto | null, };

/** A browser that is signed in. */
export type SessionDto = {
/** Names the session; it opens nothing. */
id: string,
/** What the browser says it is. Any program may say anything here. */
browser: string,
/** When it was signed in. */
signedInAt: string,
/** When it was last used; an open page counts as use. */
usedAt: string,
/** Whether it is the browser that asks. */
current: boolean, };

/** Browsers that are signed in. */
export type SessionList = {
/** One row for each session, oldest first. */
sessions: Array<SessionDto>, };

/** How an agent is counted. What is left out stays; null takes it back to what is known of its client. */
export type SetBudget = {
/** The agent's name or id. */
agent: string,
/** The model, such as `claude-opus-4-7`. */
model?: string | null,
/** The family, by its word. */
family?: string | null,
/** The size of its window, in tokens. */
windowTokens?: number | null,
/** The program that the agent is, by its word such as `codex`; see `budgets.choices`. */
program?: string | null, };

/** A price to set. */
export type SetPrice = { model: string,
/** For a million tokens that the model reads, such as `3` or `0.075`. */
input: string,
/** For a million tokens that it writes. */
output: string,
/** Three letters, such as `USD`. */
currency: string, };

/** Limits to set; what is null stays as it is. */
export type SetStorage = {
/** Payloads of tasks that ended longer ago go. */
payloadAgeMs: number | null,
/** Bytes of the contents of all tasks. */
payloadBytes: number | null,
/** The same of one agent. */
agentPayloadBytes: number | null,
/** The same of one server. */
serverPayloadBytes: number | null,
/** Tasks that ended longer ago go. */
taskAgeMs: number | null,
/** How many tasks are stored. */
tasks: number | null,
/** Stored tasks of one agent. */
agentTasks: number | null,
/** Stored tasks of one server. */
serverTasks: number | null,
/** Receipts of calls that are older go. */
receiptAgeMs: number | null,
/** How many receipts of calls are stored. */
receipts: number | null,
/** Audit segments that are older go. */
auditAgeMs: number | null,
/** Only say what would exceed these limits and when it would go; nothing is set. */
preview: boolean, };

/** How the window and its notices behave. */
export type SettingsDto = { theme: Theme,
/** Tell when something waits for a person. */
notifyWaiting: boolean,
/** Tell when something is wrong. */
notifyProblem: boolean,
/** Tell when something is over. */
notifyFinished: boolean,
/** Quiet from this time of the day, `22:00`, by the local clock. */
quietFrom: string | null,
/** Quiet until this time of the day. */
quietTo: string | null,
/** No notices until then. */
pausedUntil: string | null,
/** A key of the whole system opens the newest waiting item. */
globalShortcut: boolean,
/** Start with the session. */
autostart: boolean,
/** Closing the window keeps watching. */
closeToTray: boolean,
/** After the window quits, an agent's bridge starts a core without a window; null until a person was asked once. */
keepServingAgents: boolean | null,
/** Columns of the task list that are not shown. */
hiddenTaskColumns?: Array<string>, };

/** Where settings are pasted. */
export type SettingsPlace = "terminal" | "file";

/** One text to paste. */
export type SettingsText = {
/** How the program reaches the gateway with it. */
transport: SettingsTransport,
/** Where it is pasted. */
place: SettingsPlace,
/** The file it belongs into; null for a command line, and where each program has its own. */
file: string | null,
/** The text, whole and unchanged. */
text: string, };

/** How a program reaches the gateway. */
export type SettingsTransport = "http" | "stdio";

/** Parts of time, and whose tokens are wanted in them. */
export type ShowChart = {
/** Of this agent, by name or id; of all when left out. */
agent?: string | null,
/**
 * When each part begins, the oldest first; a part ends where the next begins, the last one now. The caller knows
 * in which time zone a day begins and which day has 23 hours.
 */
starts: Array<string>, };

/** A payload to show. */
export type ShowContent = { id: string, of: "result" | "arguments" | "error", };

/** A plan to show. */
export type ShowPlan = {
/** The id of the plan, or of its operation. */
id: string,
/** Tasks before the first that is shown. */
offset?: number, };

export type ShowSeries = {
/** Of this agent, by name or id; of all when left out. */
agent?: string | null,
/** How far back, in milliseconds; the point in which that time began is there whole. */
spanMs: number,
/** How long one point is, in milliseconds: a whole number of hours. */
stepMs: number, };

/** When the day of the person began, and whose rows are wanted. */
export type ShowToday = {
/** A moment of the last two days. */
since: string,
/** Ids of the agents whose own figures are wanted; the sums are always of all. Of nobody when left out. */
agents?: Array<string> | null, };

export type ShowWaste = {
/** How far back, in milliseconds. */
spanMs: number,
/** Of this agent, by name or id; of all when left out. */
agent?: string | null, };

/** The part of a result that a program puts before its model. */
export type ShownPartDto = "both" | "structuredFirst" | "content";

/** A task with its status log. */
export type ShownTask = {
/** The server's messages over time, oldest first. */
log: Array<LogLineDto>,
/** What people decided about it, oldest first, each with the way it came in. */
decisions: Array<HistoryEvent>,
/** How far people went to end it, and which steps are left. */
escalation?: Escalation,
/** Our handle of it, `hdl_…`. */
id: string,
/** The name of its server. */
server: string,
/** The name of the agent whose call it is; null when a person's, or unknown. */
agent: string | null,
/** Our id of that agent. */
agentId: string | null,
/** The tool, where known. */
tool: string | null,
/** How it came to be. */
origin: "started" | "agent" | "discovered" | "adopted",
/** The one word for it. */
phase: Phase,
/** Who has to act. */
group: PhaseGroup,
/** Whether it is over. */
over: boolean,
/** What the server's view of it is. */
view: string,
/** The server's own word; null when there is no task on the server. */
status: string | null,
/** The server's own sentence. */
statusMessage: string | null,
/** How far it is, where the dialect says. */
progress: ProgressDto | null,
/** When it was admitted here. */
createdAt: string,
/** When anything but contact last changed. */
changedAt: string,
/** When nothing more was expected of it; null while something is. */
endedAt: string | null,
/** Time it waited for people so far, without a wait that goes on. */
pausedMs: number,
/** Since when it waits for a person; null when it does not. */
pausedSince: string | null,
/** How long it worked, without the time that it works since `worksSince`. Waiting for people and pauses are not counted. */
workedMs: number,
/** Since when it works besides; null while it stands still, once contact with it ended and once it is over. */
worksSince: string | null,
/** That it stands still until a person ends a pause. */
paused?: TaskPauseDto,
/** When it was last heard of. */
lastSeenAt: string,
/** When it is looked at next; null when it is not looked at. */
nextLookAt: string | null,
/** When the server may forget it. */
expiresAt: string | null,
/** Every question it ever asked, oldest first. */
requests: Array<RequestDto>,
/** Rows of the inbox with questions that this task may be asking, and that are stored with another one. */
askedElsewhere?: Array<string>,
/** Questions that its server asks beside the open ones of `requests`; they come up as others close. */
moreQuestions?: number,
/** What people want of it. */
intent: IntentDto | null,
/** What it costs its agent's window; null until it is counted, and for tasks without an agent. */
tokens: TokensDto | null,
/** That it said and brought more than it may; null while it did not. */
overLimit: OverLimitDto | null,
/** Its limits of time, if rules set any. */
runLimits?: Array<TaskRunLimitDto>,
/** Why it is overdue, when the phase is `overdue`. */
overdueWhy: "agreed" | "usual" | null,
/** When it should be finished. */
dueAt: string | null,
/** What this tool on this server usually takes. */
usual: UsualDto | null,
/** Time from its start to now or its end, waiting for people not counted. */
elapsedMs: number,
/** What is known about reaching it. */
contact: ContactDto,
/**
 * What keeps it from going on or its result from coming, as a sentence: its polls fail, its server needs input and
 * asks nothing that can be answered here, or it sent no result. Left out while nothing does.
 */
trouble?: string,
/** How a person ended its server, when it is lost for that. */
serverEnded?: ServerEndedDto,
/** The error it ended with. */
error: ErrorDto | null,
/** Its stored result. */
result: ResultDto | null,
/** Who is asked when it asks. */
audience: "people" | "agent" | "agentThenPeople" | "both",
/** With `agentThenPeople`: when people are asked. */
peopleAt: string | null,
/** When its agent was given a handle of it; null when it was not. */
givenAt: string | null,
/** Since when its agent is gone; null while it is there. */
orphanedAt: string | null,
/** Its result waits, or waited, for a person. */
held: HeldDto | null,
/** Whether it lives on a connection that its agent has alone. */
ownConnection: boolean,
/** The task during which it was started; said of a single task, null in lists. */
parent: ParentDto | null,
/** Tasks that were started while it was open, newest first; said of a single task, empty in lists. */
children: Array<KinDto>,
/** Its job, when there was more than one attempt; said of a single task, null in lists. */
job: JobDto | null,
/** Who started or adopted it, when a person did; said of a single task, null in lists. */
startedBy: string | null,
/**
 * In lists: its question, its error or the first line of its result; null when it has none of these, and for a single
 * task.
 */
says?: string | null, };

/** A sign-in that waits for the browser. */
export type SignInBegunDto = {
/** What the browser opens: `https`, or `http` on this machine. */
address: string,
/** Whose page that is: host and port. */
host: string,
/** For which server: host and port of its address. */
serverHost: string,
/** Who gives the token: a URL. */
issuer: string,
/** The permissions that are asked for; empty where the server names none. */
scopes: Array<string>,
/** When the wait began: a sign-in from before has an earlier `at`. */
since: string,
/** Until when the browser is waited for. */
until: string, };

/** The sign-in to a server. */
export type SignInDto = { state: "signedOut" | "needed" | "waiting" | "signedIn",
/** While a browser is waited for: one came with an address that does not belong to this sign-in, which goes on. */
strayed?: boolean,
/** Whom the token is from: a URL. */
issuer: string | null,
/** The permissions that came with the token. */
scopes: Array<string>,
/** Permissions that the server asked for and the token does not have. */
missingScopes: Array<string>,
/** Until when the token is good. */
until: string | null,
/** Whether it is renewed without a person. */
renewed: boolean,
/** Who signed in. */
by: string | null, at: string | null,
/** Why a sign-in is needed. */
needed: SignInFaultDto | null,
/** Why the last try failed, in this run of the core. */
failed: SignInFaultDto | null, };

/** Why there is no sign-in. */
export type SignInFaultDto = { why: string,
/** What a person can do. */
hint: string, };

/** The sign-in to a server at this moment. */
export type SignInShown = {
/** Null where there is none and none was asked for. */
signIn: SignInDto | null, };

/** What a sink sends. */
export type SignalDto = "logs" | "traces";

/** A sign-in that a person ended. */
export type SignedOutDto = {
/** Whether the issuer forgot the token, too. Without that it is good there until it expires, and is kept nowhere here. */
revocation: "nothing" | "done" | "notConfirmed", };

/** A collector, and what it is sent. */
export type SinkDto = { id: number,
/** Its address, in front of the paths of the signals. */
url: string,
/** Names of its headers; their values are kept with the secrets. */
headers: Array<string>,
/** What it is sent; never empty. */
signals: Array<SinkSignalDto>, };

/** All sinks by number. */
export type SinkList = { sinks: Array<SinkDto>, };

/** How far one signal of a sink came. */
export type SinkSignalDto = { signal: SignalDto,
/** The whole address that its requests are posted to. */
url: string,
/** The row that is sent next; of traces, the row from which on tasks that ended are sent. */
next: number,
/** Rows that it did not take yet; of traces, rows in which tasks may have ended. */
waiting: number,
/** When it took anything last; null when it did not yet. */
taken: string | null,
/** Why rows wait, as the second half of a sentence about the collector; null while it takes them. */
trouble: string | null,
/** When the first of these attempts failed, with no success since; null while it takes rows. */
since: string | null,
/** Whether nothing is sent until a person resumes the sink. */
paused: boolean,
/** Rows that retention removed before they were sent. */
skipped: number,
/** Rows, or tasks, that it rejected, although it took the rest: they are not there, and are not sent again. */
rejected: number,
/** When it rejected the first of these; null when it rejected none, or when that is not known. */
rejectedSince: string | null, };

/** How the size of a window is known. */
export type SizeFromDto = "set" | "model" | "client";

/** Everything, as it is. */
export type Snapshot = {
/** Names the feed, for `feed.focus`. */
feed: string,
/** Everything up to here is covered. */
upto: number, core: CoreDto,
/** Whether it records changes. */
recording: RecordingDto,
/** What is halted, with what became of its tasks. */
halt: HaltShown,
/** How the window behaves. */
settings: SettingsDto, servers: Array<ServerDto>, agents: Array<AgentFacts>, rules: Array<RuleDto>,
/** What stands in the windows of agents. */
budgets: BudgetList,
/** How many tasks there are. */
totals: Totals,
/** All that waits for a person. */
inbox: Array<InboxRow>, views: Array<DeskItem>,
/** Counts of the list on screen. */
view: ListView | null,
/** The task on screen. */
task: TaskDto | null, };

/** Which tasks come first. */
export type Sorting = "newest" | "oldest" | "changed" | "phase" | "task" | "server" | "agent";

/** What a token came from; the order of lists and bars. */
export type SourceDto = "tools" | "ownTools" | "arguments" | "results" | "handles" | "prompts";

/** One source of a window. */
export type SourcePart = { source: SourceDto,
/** Tokens in the window. */
tokens: number, exactness: ExactnessDto,
/** Tokens that were passed to the program. */
passed: number, };

/** Calls and polls in a span of time. */
export type SpanTimes = {
/** Where the span begins. */
from: string, calls: RequestTimesDto, polls: RequestTimesDto, };

/** What to halt. Without servers, agents and tools: everything. A list that is there is not empty. */
export type StartHalts = {
/** In the person's words. */
reason: string,
/** What is stopped there; everything of it when left out. */
scope?: Array<HaltEffectDto>, servers?: Array<string>, agents?: Array<string>, tools?: Array<ToolOfServer>, };

/** A call to start. Has no `Debug`: it carries arguments. */
export type StartTask = {
/** The server's name. */
server: string, tool: string,
/** A JSON object, sent as it stands here. */
arguments: object,
/** Time agreed for it: past it, it is overdue. */
limitMs?: number | null, };

/** What became of one wish. */
export type StopDto = { id: string,
/** How far the request got. */
state: string,
/** Why, when it was refused or not asked. */
why: string | null,
/** The task as it is now; null when more than a page of them are stopped. */
task: TaskDto | null, };

/** What became of all of them. */
export type StopList = {
/** In the order asked. */
stops: Array<StopDto>, };

/** That nothing of a task runs any more. */
export type Stopped = { by: "server" | "processes" | "nothingRan", at: string, };

/** What a clean-up removed. */
export type StorageCleaned = {
/** What is gone. */
removed: RemovalDto,
/** What is left. */
storage: StorageDto, };

/** What is stored, how long it is kept, and what clean-up would remove now. */
export type StorageDto = {
/** Bytes of the database file. */
fileBytes: number,
/** Bytes of it that are free. */
freeBytes: number,
/** Whether free bytes go back to the disk by themselves; where not, `storage.clean` with `compact` does it once. */
shrinks: boolean,
/** Bytes of the reserve file that are there. */
reserveBytes: number,
/** Bytes that the reserve file should have. */
reserveWantedBytes: number,
/** When the oldest task was created. */
oldestTask: string | null,
/** What is stored. */
stored: StoredDto,
/** Bytes of the contents of all tasks, which `limits.payloadBytes` limits. */
contentBytes: number,
/** Audit segments that were removed, each with a tombstone. */
removedSegments: number,
/** The limits that hold. */
limits: StorageLimitsDto,
/** The limits that are built in or configured. */
builtIn: StorageLimitsDto,
/** What exceeds the limits. */
due: RemovalDto,
/** Nothing goes by itself because of a lowered limit before this; null when none was lowered lately. */
waitsUntil: string | null, };

/** How long and how much is kept. */
export type StorageLimitsDto = {
/** Payloads of tasks that ended longer ago go. */
payloadAgeMs: number,
/** Bytes of the contents of all tasks (payloads, raw messages, questions, status lines); beyond it the oldest go. */
payloadBytes: number,
/** The same of one agent. */
agentPayloadBytes: number,
/** The same of one server. */
serverPayloadBytes: number,
/** Tasks that ended longer ago go. */
taskAgeMs: number,
/** Stored tasks; beyond it those that ended first go. */
tasks: number,
/** Stored tasks of one agent. */
agentTasks: number,
/** Stored tasks of one server. */
serverTasks: number,
/** Receipts of calls that are older go, and none stays longer than the audit log. */
receiptAgeMs: number,
/** Stored receipts; beyond it the oldest go. */
receipts: number,
/** Audit segments that are older go. */
auditAgeMs: number, };

/** What is stored, by kind. */
export type StoredDto = { tasks: StoredKindDto,
/** Arguments, results, answers and errors. */
payloads: StoredKindDto,
/** Payloads that no limit removes: their task is open, held, unanswered or undelivered. */
keptPayloads: StoredKindDto,
/** Tasks that no limit removes for the same reasons, with the bytes of all their contents. */
keptTasks: StoredKindDto, rawMessages: StoredKindDto,
/** Questions and their forms. */
questions: StoredKindDto, statusLines: StoredKindDto, changes: StoredKindDto,
/** Receipts of calls. */
receipts: StoredKindDto,
/** Audit rows that are still there. */
audit: StoredKindDto, };

/** How much is stored of one kind. */
export type StoredKindDto = { rows: number,
/** Bytes; null where they are not summed up. */
bytes: number | null, };

/** What a window watches. */
export type SubscribeInput = {
/** The list on screen, for its counts. */
query: ListQuery | null,
/** The rows on screen. */
ids: Array<string>,
/** The task on screen, or the one whose question is. */
task: string | null,
/** Whether the window is shown and has the focus. */
visible: boolean, };

/** A step that somebody took. */
export type TakenStep = {
/** From 1 to 5. */
number: number, step: "cancel" | "holdResult" | "revoke" | "revokeAgent" | "shutDown", at: string,
/** Who took it: a person, or `control:ctl_…` for a supervisor program. */
by: string,
/** The name of that program's control token; left out for everybody else. */
byName?: string,
/** In the person's words. */
reason: string | null,
/** What was observed of it, in a sentence. */
evidence: string,
/** Whether it is recorded and still being carried out. */
pending: boolean,
/** Other tasks that ended or were asked to cancel with it. */
otherTasks: number,
/** What was seen of the processes, of the last step. */
processes: ProcessEnd | null, };

/** How many tasks lists have. */
export type TaskCounts = {
/** One number for each query, in their order. */
counts: Array<number>, };

export type TaskDto = {
/** Our handle of it, `hdl_…`. */
id: string,
/** The name of its server. */
server: string,
/** The name of the agent whose call it is; null when a person's, or unknown. */
agent: string | null,
/** Our id of that agent. */
agentId: string | null,
/** The tool, where known. */
tool: string | null,
/** How it came to be. */
origin: "started" | "agent" | "discovered" | "adopted",
/** The one word for it. */
phase: Phase,
/** Who has to act. */
group: PhaseGroup,
/** Whether it is over. */
over: boolean,
/** What the server's view of it is. */
view: string,
/** The server's own word; null when there is no task on the server. */
status: string | null,
/** The server's own sentence. */
statusMessage: string | null,
/** How far it is, where the dialect says. */
progress: ProgressDto | null,
/** When it was admitted here. */
createdAt: string,
/** When anything but contact last changed. */
changedAt: string,
/** When nothing more was expected of it; null while something is. */
endedAt: string | null,
/** Time it waited for people so far, without a wait that goes on. */
pausedMs: number,
/** Since when it waits for a person; null when it does not. */
pausedSince: string | null,
/** How long it worked, without the time that it works since `worksSince`. Waiting for people and pauses are not counted. */
workedMs: number,
/** Since when it works besides; null while it stands still, once contact with it ended and once it is over. */
worksSince: string | null,
/** That it stands still until a person ends a pause. */
paused?: TaskPauseDto,
/** When it was last heard of. */
lastSeenAt: string,
/** When it is looked at next; null when it is not looked at. */
nextLookAt: string | null,
/** When the server may forget it. */
expiresAt: string | null,
/** Every question it ever asked, oldest first. */
requests: Array<RequestDto>,
/** Rows of the inbox with questions that this task may be asking, and that are stored with another one. */
askedElsewhere?: Array<string>,
/** Questions that its server asks beside the open ones of `requests`; they come up as others close. */
moreQuestions?: number,
/** What people want of it. */
intent: IntentDto | null,
/** What it costs its agent's window; null until it is counted, and for tasks without an agent. */
tokens: TokensDto | null,
/** That it said and brought more than it may; null while it did not. */
overLimit: OverLimitDto | null,
/** Its limits of time, if rules set any. */
runLimits?: Array<TaskRunLimitDto>,
/** Why it is overdue, when the phase is `overdue`. */
overdueWhy: "agreed" | "usual" | null,
/** When it should be finished. */
dueAt: string | null,
/** What this tool on this server usually takes. */
usual: UsualDto | null,
/** Time from its start to now or its end, waiting for people not counted. */
elapsedMs: number,
/** What is known about reaching it. */
contact: ContactDto,
/**
 * What keeps it from going on or its result from coming, as a sentence: its polls fail, its server needs input and
 * asks nothing that can be answered here, or it sent no result. Left out while nothing does.
 */
trouble?: string,
/** How a person ended its server, when it is lost for that. */
serverEnded?: ServerEndedDto,
/** The error it ended with. */
error: ErrorDto | null,
/** Its stored result. */
result: ResultDto | null,
/** Who is asked when it asks. */
audience: "people" | "agent" | "agentThenPeople" | "both",
/** With `agentThenPeople`: when people are asked. */
peopleAt: string | null,
/** When its agent was given a handle of it; null when it was not. */
givenAt: string | null,
/** Since when its agent is gone; null while it is there. */
orphanedAt: string | null,
/** Its result waits, or waited, for a person. */
held: HeldDto | null,
/** Whether it lives on a connection that its agent has alone. */
ownConnection: boolean,
/** The task during which it was started; said of a single task, null in lists. */
parent: ParentDto | null,
/** Tasks that were started while it was open, newest first; said of a single task, empty in lists. */
children: Array<KinDto>,
/** Its job, when there was more than one attempt; said of a single task, null in lists. */
job: JobDto | null,
/** Who started or adopted it, when a person did; said of a single task, null in lists. */
startedBy: string | null,
/**
 * In lists: its question, its error or the first line of its result; null when it has none of these, and for a single
 * task.
 */
says?: string | null, };

/** A step that was taken. */
export type TaskEscalated = {
/** The number of the step. */
step: number, task: TaskDto, escalation: Escalation, };

/** Numbers of tasks; a task may be counted in several. */
export type TaskFigures = {
/** Every task that is kept and not hidden. */
all: number, open: number,
/** A person has to act on it: asked, in trouble, past a limit that asks, or its result is held. */
needsYou: number,
/** The server works on it, and nobody asked it to end. */
working: number,
/** The server was asked to end it. */
cancelling: number,
/** Nothing is heard of it, and nobody can do anything. */
noNews: number,
/** Later than agreed or usual. */
late: number,
/** Its agent is gone, and it is not over. */
gone: number,
/** Its result is there and waits for a person. */
held: number,
/** Over, and nobody has to act on it. */
finished: number,
/** Ended with an error. */
failed: number,
/** Hidden by a person: counted in no other figure. */
hidden: number, };

/** A page of tasks, newest first. */
export type TaskListDto = { tasks: Array<TaskDto>,
/** Hand this back as `before` for the next page; null at the end. */
next: string | null, };

/** A stretch of a list with the counts of the whole of it. */
export type TaskPageDto = { rows: Array<TaskRow>,
/** How the list is divided. */
view: ListView, };

/** That a task stands still until a person ends a pause. */
export type TaskPauseDto = { kind: "agentPaused" | "serverFrozen" | "alarm" | "frozen", since: string, };

/** The terminal payload of a task. Has no `Debug`: it carries a result. */
export type TaskResult = { id: string, phase: Phase,
/** Whether it is a result or a JSON-RPC error. */
kind: "result" | "error",
/** Whether the tool reported an error. */
isError: boolean,
/** Of a JSON-RPC error, what people read of it; it also names a capability that the server misses. */
message?: string,
/** The result, or the JSON-RPC error object, exactly as received. */
payload: unknown, };

/** A task, briefly. */
export type TaskRow = {
/** Our handle of it. */
id: string,
/** The name of its server. */
server: string,
/** The name of the agent whose call it is. */
agent: string | null,
/** Our id of that agent. */
agentId: string | null,
/** Since when its agent is gone; null while it is there. */
orphanedAt: string | null,
/** Its result waits, or waited, for a person. */
held: HeldDto | null,
/** The task during which it was started. */
parentId: string | null,
/** Which attempt of its job it is, from 1. */
attempt: number,
/** The tool, where known. */
tool: string | null,
/** The one word for it. */
phase: Phase,
/** Who has to act. */
group: PhaseGroup,
/** Whether it is over. */
over: boolean,
/** The server's own word. */
status: string | null,
/** The server's own sentence, its beginning. */
statusMessage: string | null,
/** How far it is. */
progress: ProgressDto | null,
/** When it was admitted here. */
createdAt: string,
/** When anything but contact last changed. */
changedAt: string,
/** When nothing more was expected of it. */
endedAt: string | null,
/** Time it waited for people so far, without a wait that goes on. */
pausedMs: number,
/** Since when it waits for a person. */
pausedSince: string | null,
/** How long it worked, without the time that it works since `worksSince`. Waiting for people and pauses are not counted. */
workedMs: number,
/** Since when it works besides; null while it stands still, once contact with it ended and once it is over. */
worksSince: string | null,
/** That it stands still until a person ends a pause. */
paused?: TaskPauseDto,
/** When it was last heard of. */
lastSeenAt: string,
/** When it is looked at next. */
nextLookAt: string | null,
/** When the server may forget it. */
expiresAt: string | null,
/** When it should be finished. */
dueAt: string | null,
/** Why it is overdue, when the phase is `overdue`. */
overdueWhy: "agreed" | "usual" | null,
/** What this tool on this server usually takes. */
usual: UsualDto | null,
/** Questions that wait for a person. */
openRequests: number,
/** How far a request to cancel it got. */
stopState: "asked" | "acknowledged" | "stopped" | "endedHere" | "finishedAnyway" | "refused" | null,
/** Size of its stored result. */
resultBytes: number | null,
/** Whether its tool reported an error. */
isError: boolean,
/** What it costs its agent's window; null until it is counted. */
tokens: TokensDto | null,
/** What keeps it from going on or its result from coming, in our words; left out while nothing does. */
trouble?: string,
/** Its question, its error or the first line of its result, in the server's words. */
says?: string | null, };

/** A limit of time of a task. */
export type TaskRunLimitDto = {
/** What it counts. */
kind: "time" | "progress",
/** So long in all, with what people allowed besides. */
allowedMs: number,
/** What it counted until now. */
spentMs: number, at: "warn" | "ask" | "cancel",
/** When it is reached; null while the task waits for a person, and once it was reached, removed or has no use. */
dueAt: string | null,
/** When it was reached; null while it was not. */
reachedAt: string | null,
/** A person is asked whether the task may continue. */
asks: boolean,
/** Who removed it from this task. */
removedBy: string | null,
/** How wide the rule applies that set it. */
ruleLevel: "agent" | "server" | "tool", ruleVersion: number, };

/** How far the search in messages, arguments and results reaches; it is done in memory (ruling 49). */
export type TextReach = {
/** What older tasks say is not searched; null when all is. */
backTo: string | null,
/** Whether more is being read. */
reading: boolean,
/** More tasks say it than are shown. */
more: boolean, };

export type Theme = "system" | "light" | "dark";

/** What all agents took in today. */
export type TodayDto = {
/** The beginning of the first hour that is counted. */
since: string,
/** Tokens that came into windows. */
tokens: number, exactness: ExactnessDto,
/** What tasks kept out of them. */
keptOut: number, keptOutExactness: ExactnessDto,
/** Both together: what would have come in without tasks. */
withoutTasks: number, withoutTasksExactness: ExactnessDto,
/** The part of that which was kept out, in percent; null where nothing came or was kept out. */
keptOutPercent: number | null,
/** Costs by currency: amounts of two currencies are never added. */
costs: Array<CostDto>,
/** Agents that took something in and whose tokens are in no cost, by name, the first few. */
leftOut: Array<string>,
/** How many there are in all. */
leftOutCount: number,
/** The agents that were asked for and took something in. */
agents: Array<AgentToday>, };

/** What a task costs its agent's window, and keeps out of it (ruling 20). */
export type TokensDto = {
/** Its handle and all looks at it. */
handle: number,
/** What is not in the window so far: output on the way, and the unread part of the result, which may still come in. */
keptOut: number,
/** Its result, as it is passed when it is read whole; null while there is none. */
result: number | null,
/** What of that result would stand in the window, by the profile of the agent's program; null while there is none. */
inWindow: number | null, inWindowExactness: ExactnessDto,
/** What of the result was passed to the program. */
delivered: number,
/** The call's name and arguments. */
arguments: number,
/** The family's word. */
family: string,
/** The least exact of the figures. */
exactness: ExactnessDto, };

/** How the tools differ from what a person last saw. */
export type ToolChangesDto = {
/** Names what is listed now; handed back with `servers.toolsSeen`. */
digest: string,
/** When a person last looked, or when the tools were first listed. */
seenAt: string,
/** Who looked; null when nobody has. */
seenBy: string | null,
/** The tools that differ, by name. */
tools: Array<ChangedTool>,
/** Listed tools beyond the limit, which are not compared. */
leftOut: number, };

/** A tool and what its definition costs each window. */
export type ToolCost = {
/** As the agent knows it. */
tool: string,
/** Tokens in the window. */
tokens: number, exactness: ExactnessDto,
/** Tokens that were passed to the program. */
passed: number, };

/** A changed tool, line by line. */
export type ToolDiff = { name: string,
/** How it differs; null when it does not. */
change: "added" | "removed" | "changed" | null, lines: Array<DiffLine>,
/** How many lines were added and removed. */
added: number, removed: number,
/** A definition is too long to be kept, so that there are no lines. */
isTooLong: boolean, };

/** A tool. All text is the server's. */
export type ToolDto = { name: string,
/** Title for people. */
title: string | null, description: string | null,
/** Whether calls of it may or must be tasks. */
taskSupport: string,
/** The server says that it destroys something. */
destructive: boolean | null,
/** The server says that it only reads. */
readOnly: boolean | null,
/** The schema of its arguments. */
inputSchema: unknown,
/** Why agents are not offered it; left out where they are. */
notOffered?: NotOfferedDto,
/** How large its results usually are; left out while too few were counted in this run. */
usualResult?: UsualResult,
/** Calls in the last day of this run of the core: its part of the server's calls of the day. */
callsDay: number,
/** How long its calls usually take; left out while too few were finished. */
usualTime?: UsualTime, };

/** A server's tools. */
export type ToolList = {
/** The tools in the server's order. */
tools: Array<ToolDto>,
/** From when on their calls are counted: a day ago, or the start of the core. */
callsSince: string,
/** What changed since a person last looked; left out where that is not known. */
changes?: ToolChangesDto, };

/** A tool of a server. */
export type ToolOfServer = { server: string, tool: string, };

/** How many tasks there are, and how much lies in the inbox. */
export type Totals = {
/** Numbers of tasks. */
figures: TaskFigures,
/** What lies in the inbox. */
inbox: InboxFigures,
/** By phase; phases without tasks are left out. */
byPhase: Partial<Record<Phase, number>>,
/** By who has to act: the sections of the task list. */
byGroup: Record<PhaseGroup, number>, };

/** How checkpoints compare with the rows. */
export type TreeVerifiedDto = {
/** Checkpoints that were compared now. */
compared: number,
/** The row up to which the newest checkpoint covers the log; 0 without any. */
newest: number,
/** The epoch of the log: 1, and one more each time it went on from an older copy of the registry. */
epoch: number,
/** Rows after it. */
unsigned: number,
/** When the first of these was written, where that is longer ago than it should be. */
lateSince: string | null,
/** The first checkpoint that does not hold, by the row up to which it covers the log. */
broken: BrokenRowDto | null,
/** Where the comparison goes on; null at the end. */
next: string | null, };

/** A door that was tried. */
export type TriedDoorDto = {
/** Time until it answered, or until it was given up. */
tookMs: number,
/** Why it did not answer as it should, as a sentence; null when it did. */
why: string | null, };

/** A step that a task does not have. */
export type UnavailableStep = { number: number, step: "cancel" | "holdResult" | "revoke" | "revokeAgent" | "shutDown",
/** As a sentence for people. */
why: string, };

/** An answer to take back while it is held back. */
export type UndoAnswer = { id: string, key: string, };

/** The program whose routes are taken back. */
export type UndoClient = {
/** The program's word, such as `claude-code`. */
client: string,
/** Fingerprints of the edits that the person was shown and agreed to; others are shown and not made. */
agreed?: Array<string>, };

/** Answers to take back while they are held back. */
export type UndoMany = { questions: Array<OneQuestion>, };

/**
 * Which pause ends, and which of the waiting calls are sent. Neither `all` nor `tasks`: all of them, while the pause is
 * young.
 */
export type UnpauseInput = { agent?: string | null, server?: string | null,
/** All waiting calls are sent. */
all?: boolean,
/** These are sent, each by its handle or a unique beginning of it; the others are cancelled. An empty list sends none. */
tasks?: Array<string> | null, };

/** Why tokens have no cost. */
export type UnpricedDto = "noModel" | "noPrice";

/** A call of an agent that is in flight and has no row, because it could not be recorded. */
export type UnrecordedCallDto = {
/** The handle it will have; `tasks.cancel` takes it. */
id: string, server: string, agent: string, tool: string,
/** When it left. */
since: string, };

/** A task to look away from. */
export type Unwatch = { id: string,
/** In the person's words. */
note?: string | null, };

/** What a tool usually takes. */
export type UsualDto = {
/** Half of the calls took at most this. */
medianMs: number,
/** Nine of ten took at most this. */
p90Ms: number,
/** 95 of 100 took at most this: past it a task is overdue. */
p95Ms: number,
/** Finished calls behind the figures. */
samples: number, };

/** How large the results of a tool usually are, in tokens of an agent's window. */
export type UsualResult = {
/** The last results, from which it is taken. */
samples: number,
/** Half of them are at most this large. */
median: number, largest: number, };

/** How long calls of a tool usually take. */
export type UsualTime = {
/** Finished calls, from which it is taken. */
samples: number,
/** Half of them took at most this. */
medianMs: number, };

/** What was decided about a held result. */
export type VerdictDto = {
/** Whether the agent gets it. */
delivered: boolean,
/** In which form; null when it does not. */
form: FormDto | null,
/** To how many tokens it is cut, with `trimmed`. */
trimTokens: number | null, by: string,
/** Whether the limit decided so by itself: a person can still decide otherwise. */
byLimit: boolean, at: string,
/** Why not, in the person's words. */
reason: string | null, };

/** A check of the audit log. */
export type VerifyAudit = {
/** From the first row; otherwise from where it was verified before. */
whole: boolean, };

/** A check of receipts. */
export type VerifyReceipts = {
/** Go on after a call that stopped: its `next` value. */
after: number, };

/** A comparison of checkpoints with the rows. */
export type VerifyTree = {
/** All checkpoints; otherwise the newest ones. */
whole: boolean,
/** Go on after a call that stopped: its `next` value. */
after: string | null, };

/** A call that waits until a person ends a pause. It was not sent. */
export type WaitingCallDto = {
/** The handle of its task. */
id: string,
/** The server's name. */
server: string, tool: string | null,
/** The agent's name; null for a person's call. */
agent: string | null,
/** Since when it waits. */
since: string, };

/** What a server cost that brought nothing. */
export type WasteDto = {
/** The server's id, `srv_…`: one that was removed and added again is two, of one name. */
serverId: string,
/** The server's name. */
server: string,
/** Looks of agents at its tasks. */
looks: number,
/** Those that brought nothing new. */
empty: number,
/** Those that came sooner than the interval. */
hasty: number,
/** Questions that waited too long. */
stalled: number,
/** Tasks that it lost before their time. */
lost: number,
/** Results that nobody read. */
unread: number,
/** Tasks and calls that it is known to have finished after it was asked to cancel them. */
disobeyed: number,
/** Tokens of all that. */
tokens: number, exactness: ExactnessDto,
/** What to do about the worst of it, in a sentence; null when there is nothing to do. */
advice: string | null, };

/** Waste by server. */
export type WasteList = {
/** The worst first; servers without any are left out. */
servers: Array<WasteDto>, };

/** Who is asked when a task asks. */
export type WhoIsAsked = "people" | "agent" | "agentThenPeople" | "both";

export type WindowDto = { id: string,
/** Since when it fills. */
beganAt: string,
/** When something last came in. */
lastAt: string,
/** When it was emptied; null while it fills. */
endedAt: string | null,
/**
 * What stands in it, if nothing was taken out since it began. More than its size means that it was full, see
 * `fullTimes`.
 */
tokens: number, exactness: ExactnessDto,
/** What was passed to the program since it began. */
passed: number, passedExactness: ExactnessDto,
/**
 * How often it was full since it began, at least: a window cannot hold more than its size, so its program compacted
 * it, or it is another conversation. 0 while it never was, or where its size is not known.
 */
fullTimes: number,
/** By source, all of them, in order. */
sources: Array<SourcePart>,
/** What tasks kept out of it. */
keptOut: number, keptOutExactness: ExactnessDto, };

/** Every call: its input and its output. */
export interface Calls {
  "servers.add": [AddServer, ServerAdded];
  "servers.locate": [LocateProgram, ProgramLocated];
  "servers.list": [Nothing, ServerList];
  "servers.show": [OneServer, ServerDto];
  "servers.tools": [OneServer, ToolList];
  "servers.toolDiff": [OneChangedTool, ToolDiff];
  "servers.toolsSeen": [SeeTools, Done];
  "servers.remove": [RemoveServer, ServerRemoved];
  "servers.agree": [OneServer, ServerDto];
  "servers.change": [ChangeServer, ServerDto];
  "servers.log": [ReadServerLog, ServerLogDto];
  "servers.times": [OneServer, ServerTimesDto];
  "servers.running": [OneServer, ServerRunning];
  "servers.restart": [ActOnServer, ServerActed];
  "servers.end": [ActOnServer, ServerActed];
  "signIns.begin": [BeginSignIn, SignInBegunDto];
  "signIns.finish": [FinishSignIn, SignInShown];
  "signIns.wait": [AwaitSignIn, SignInShown];
  "signIns.giveUp": [OneServer, SignInShown];
  "signIns.signOut": [OneServer, SignedOutDto];
  "demo.address": [Nothing, AddressDto];
  "tasks.start": [StartTask, TaskDto];
  "tasks.list": [ListTasks, TaskListDto];
  "tasks.page": [PageTasks, TaskPageDto];
  "tasks.counts": [CountTasks, TaskCounts];
  "tasks.show": [OneTask, ShownTask];
  "tasks.history": [OneTask, HistoryDto];
  "tasks.result": [OneTask, TaskResult];
  "tasks.answers": [OneTask, AnswerContents];
  "tasks.content": [ShowContent, ContentDto];
  "tasks.piece": [ReadPiece, PieceDto];
  "tasks.raw": [OneTask, RawListDto];
  "tasks.recentArguments": [OneTool, RecentArgumentsList];
  "tasks.adopt": [AdoptTask, TaskDto];
  "tasks.answer": [AnswerRequest, AnswerGiven];
  "tasks.undoAnswer": [UndoAnswer, TaskDto];
  "tasks.cancel": [CancelTasks, StopList];
  "tasks.revoke": [RevokeTask, StopList];
  "tasks.escalate": [EscalateTask, TaskEscalated];
  "tasks.unwatch": [Unwatch, TaskDto];
  "tasks.hide": [HideTasks, HiddenList];
  "tasks.unhide": [HideTasks, HiddenList];
  "tasks.lookNow": [OneTask, TaskDto];
  "tasks.hold": [OneTask, TaskDto];
  "tasks.release": [ReleaseTask, TaskDto];
  "tasks.goOn": [OneTask, TaskDto];
  "tasks.allowTime": [AllowTime, TaskDto];
  "plans.make": [MakePlan, PlanMade];
  "plans.run": [RunPlanInput, OperationBegun];
  "plans.show": [ShowPlan, PlanShown];
  "halts.show": [Nothing, HaltShown];
  "halts.start": [StartHalts, HaltShown];
  "halts.retry": [Nothing, HaltRetried];
  "halts.resume": [ResumeHalt, HaltShown];
  "pauses.list": [Nothing, PauseList];
  "pauses.start": [PauseInput, PauseDto];
  "pauses.end": [UnpauseInput, PauseEndedDto];
  "agents.add": [AddAgent, AgentAdded];
  "agents.list": [Nothing, AgentList];
  "agents.newToken": [OneAgent, NewAgentToken];
  "agents.check": [OneAgent, ConnectionCheck];
  "agents.revoke": [RevokeAgent, AgentRevoked];
  "controlTokens.add": [AddControlToken, ControlTokenAdded];
  "controlTokens.list": [Nothing, ControlTokenList];
  "controlTokens.revoke": [OneControlToken, ControlTokenFacts];
  "clients.list": [ReadClients, ClientList];
  "clients.import": [ImportServers, ImportList];
  "clients.route": [RouteClient, ClientRouted];
  "clients.undo": [UndoClient, ClientUndone];
  "alarms.list": [Nothing, AlarmList];
  "alarms.dismiss": [DismissAlarms, AlarmList];
  "alarms.decide": [DecideAlarms, AlarmList];
  "rules.list": [Nothing, RuleList];
  "rules.put": [RuleDto, RuleList];
  "budgets.list": [Nothing, BudgetList];
  "budgets.show": [OneAgent, BudgetShown];
  "budgets.set": [SetBudget, BudgetDto];
  "budgets.empty": [OneAgent, BudgetDto];
  "budgets.series": [ShowSeries, SeriesDto];
  "budgets.waste": [ShowWaste, WasteList];
  "budgets.chart": [ShowChart, ChartDto];
  "budgets.today": [ShowToday, TodayDto];
  "budgets.prices": [Nothing, PriceList];
  "budgets.setPrice": [SetPrice, PriceList];
  "budgets.removePrice": [RemovePrice, PriceList];
  "budgets.choices": [Nothing, BudgetChoices];
  "sessions.list": [Nothing, SessionList];
  "sessions.revoke": [RevokeSessions, SessionList];
  "inbox": [ReadInbox, InboxDto];
  "inbox.answer": [AnswerMany, ManyAnswered];
  "inbox.undoAnswer": [UndoMany, ManyAnswered];
  "inbox.lost": [OneTask, Array<InboxRow>];
  "inbox.resolve": [ResolveLost, LostResolved];
  "inbox.answered": [ListAnswered, AnsweredList];
  "answers.rules": [Nothing, AnswerRuleList];
  "answers.remember": [RememberRequest, AnswerRuleList];
  "answers.end": [OneAnswerRule, AnswerRuleList];
  "desk.list": [ListDesk, DeskList];
  "desk.put": [PutAtDesk, Done];
  "settings.change": [ChangeSettings, SettingsDto];
  "recording": [Nothing, RecordingDto];
  "storage.show": [Nothing, StorageDto];
  "storage.set": [SetStorage, StorageDto];
  "storage.clean": [CleanStorage, StorageCleaned];
  "audit.list": [ListAudit, AuditListDto];
  "audit.show": [OneAuditRow, AuditShownDto];
  "audit.report": [ReportAudit, AuditReportDto];
  "audit.verify": [VerifyAudit, AuditVerifiedDto];
  "audit.calls": [ListReceipts, ReceiptListDto];
  "audit.verifyReceipts": [VerifyReceipts, ReceiptsVerifiedDto];
  "audit.verifyTree": [VerifyTree, TreeVerifiedDto];
  "audit.checkpoint": [MakeCheckpoint, CheckpointDto];
  "audit.anchors": [Nothing, AnchorList];
  "audit.addAnchor": [AddAnchor, AnchorDto];
  "audit.addCollectorAnchor": [AddCollectorAnchor, AnchorDto];
  "audit.removeAnchor": [OneAnchor, AnchorList];
  "audit.sinks": [Nothing, SinkList];
  "audit.addSink": [AddSink, SinkDto];
  "audit.removeSink": [OneSink, SinkList];
  "audit.resumeSink": [ResumeSink, SinkDto];
  "audit.compareNotes": [CompareNotes, NotesCompared];
  "audit.export": [ExportAudit, ExportBegun];
  "audit.exportRows": [ReadExport, ExportPart];
  "feed.focus": [FocusInput, Done];
  "core.ping": [Nothing, Done];
  "doctor": [Nothing, CoreFacts];
  "doctor.run": [Nothing, DoctorReport];
  "limits.show": [Nothing, LimitList];
}
