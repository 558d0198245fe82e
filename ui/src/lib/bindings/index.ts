/* The contract between api (Rust, exported with ts-rs into ui/src/lib/bindings/) and the window.
   Times are ISO 8601 UTC with ms; durations end in Ms; never elapsed time from the backend.
   Existing Rust DTOs (api/src/dto) keep their JSON; this adds to them. u64 are `number`. */

export type Phase = "waiting"|"overdue"|"unconfirmed"|"blocked"|"running"|"answering"|"cancelling"|"done"
  |"doneWithError"|"failed"|"cancelled"|"revoked"|"unwatched"|"silent"|"lost"|"expired";
export type Code = "failed"|"usage"|"noCore"|"notFound"|"refused"|"needsInput"|"timedOut";
export interface ApiError { code: Code; message: string; hint: string }

/** Group of a phase: needsYou = waiting, overdue, unconfirmed, blocked, lost; moving = answering, cancelling, running, revoked;
    noNews = silent, unwatched, expired; finished = done, doneWithError, failed, cancelled. Order as listed. Computed in Rust (domain Phase::group). */
export type PhaseGroup = "needsYou"|"moving"|"noNews"|"finished";

export interface ProgressDto { done: number|null; total: number|null; message: string|null }
export interface UsualDto { medianMs: number; p90Ms: number; p95Ms: number; samples: number }
export interface IntentDto { kind: "cancel"|"revoked"|"unwatched"; at: string; by: string; reason: string|null;
  state: "asked"|"acknowledged"|"stopped"|"finishedAnyway"|"refused"|null; refusedWhy: string|null;
  /** Times of the steps, where known: when the wish was sent, acknowledged. */
  sentAt: string|null; acknowledgedAt: string|null }
export interface ContactDto { kind: "fresh"|"silent"|"gone"|"blocked"; since: string; failures: number; last: string|null }
export interface AnswerDto { action: "accept"|"decline"|"dismiss"; by: string; at: string;
  delivery: "recorded"|"sent"|"acknowledged"|"refused"; refusedWhy: string|null; notBefore: string|null }
export interface RequestDto { key: string; kind: "form"|"url"|"sampling"|"roots"|"unsupported"; message: string;
  schema?: unknown; url?: string; state: "open"|"answered"|"confirmed"|"withdrawn"; openedAt: string;
  answer: AnswerDto|null; withdrawnWhy: string|null; secretFields: string[];
  /** url only: the host as shown to people, Punycode decoded, and the ASCII form when it differs. */
  host?: string; hostAscii?: string }
export interface ErrorDto { code: number|null; message: string }
export interface ResultDto { bytes: number|null; isError: boolean; state: "stored"|"notFetched"|"unavailable" }

/** One line of the task list: brief, texts capped at 300 characters. */
export interface TaskRow { id: string; server: string; agent: string|null; tool: string|null; phase: Phase; group: PhaseGroup;
  over: boolean; status: string|null; statusMessage: string|null; progress: ProgressDto|null;
  createdAt: string; changedAt: string; endedAt: string|null; pausedMs: number; pausedSince: string|null;
  lastSeenAt: string; nextLookAt: string|null; expiresAt: string|null; dueAt: string|null; overdueWhy: "agreed"|"usual"|null;
  usual: UsualDto|null; openRequests: number; stopState: IntentDto["state"]; resultBytes: number|null; isError: boolean }
/** The whole task (also tasks.show with `log`): everything of the existing TaskDto plus group, endedAt, pausedMs, pausedSince. */
export interface TaskDto { id: string; server: string; agent: string|null; tool: string|null; origin: "started"|"agent"|"discovered"|"adopted";
  phase: Phase; group: PhaseGroup; over: boolean; view: string; status: string|null; statusMessage: string|null; progress: ProgressDto|null;
  createdAt: string; changedAt: string; endedAt: string|null; pausedMs: number; pausedSince: string|null; lastSeenAt: string; nextLookAt: string|null;
  expiresAt: string|null; requests: RequestDto[]; intent: IntentDto|null; tokens: unknown|null; overdueWhy: "agreed"|"usual"|null;
  dueAt: string|null; usual: UsualDto|null; elapsedMs: number; contact: ContactDto; error: ErrorDto|null; result: ResultDto|null;
  /** Who started it, when a person did. */ startedBy: string|null }

export type AddressDto = { kind: "stdio"; command: string; args: string[]; env: Record<string,string>; secretEnv: string[]; cwd: string|null }
  | { kind: "http"; url: string; secretHeaders: string[] };
export interface HealthDto { kind: "unknown"|"connecting"|"up"|"down"|"blocked"; since: string|null; why: string|null; hint: string|null; retryAt: string|null }
export interface ServerDto { name: string; id: string; address: AddressDto; era: "modern"|"legacy"|"legacySse"|null;
  dialect: "2026-07-28"|"2025-11-25"|"none"|null; protocolVersion: string|null; serverName: string|null; serverVersion: string|null;
  canList: boolean|null; canCancel: boolean|null; health: HealthDto; agreed: boolean; agreedBy: string|null; agreedAt: string|null;
  openTasks: number; createdAt: string; stderrTail: string;
  /** Whether it pushes changes now. */ pushes: boolean;
  /** Tools as last listed; null when never listed. */ toolCount: number|null;
  /** How its cancels ended, from the registry: asked = stopped + finishedAnyway + refused + open. */
  cancels: { asked: number; stopped: number; finishedAnyway: number; refused: number; medianMs: number|null } }
export interface ToolDto { name: string; title: string|null; description: string|null; taskSupport: string; destructive: boolean|null; readOnly: boolean|null; inputSchema: unknown }

/** A row of the inbox. `id` is unique: `hdl_…/KEY` for requests, `hdl_…/overdue|lost|unconfirmed`, `NAME/blocked` for a server.
    Order (design/README): with a deadline first, soonest first; then oldest first. */
export interface InboxRow { id: string; kind: "form"|"url"|"unsupported"|"overdue"|"lost"|"unconfirmed"|"blocked";
  task: string|null; key: string|null; server: string; tool: string|null; agent: string|null;
  /** The server's own words, first 300 characters; null when there are none. */ message: string|null;
  /** Host of a link. */ host: string|null;
  openedAt: string; deadline: string|null; snoozedUntil: string|null; changedAt: string;
  /** Set for ~3 s after somebody answered: struck out, then gone. */ answeredBy: string|null;
  destructive: boolean }

export interface Totals { byPhase: Partial<Record<Phase, number>>; byGroup: Record<PhaseGroup, number>; all: number; open: number }
export interface ListQuery { phases: Phase[]; servers: string[]; agents: string[]; tools: string[];
  /** In the id, tool, server or agent name; case-insensitive. */ text: string|null;
  changedWithinMs: number|null; olderThanMs: number|null; groupBy: "need"|"server"|"agent"|"none"; sort: "newest"|"oldest"|"changed" }
export interface ListGroup { group: string; count: number }
export interface ListView { total: number; groups: ListGroup[] }

export interface SettingsDto { theme: "system"|"light"|"dark"; notifyWaiting: boolean; notifyProblem: boolean; notifyFinished: boolean;
  quietFrom: string|null /* "22:00" local */; quietTo: string|null; pausedUntil: string|null; globalShortcut: boolean; autostart: boolean; closeToTray: boolean }
/** What a person keeps at their desk; durable, sealed. kinds: "view" (saved views), "snooze" (key = inbox id, value {until}), "draft" (key = task/key). */
export interface DeskItem { kind: string; key: string; value: unknown; changedAt: string }
export interface CoreDto { version: string; process: number; person: string; startedAt: string; home: string; secrets: string; secretsInFile: boolean;
  notifications: "desktop"|"none"|"off"; registryFindings: string[] }

export type Frame =
  | { type: "snapshot"; feed: string; upto: number; core: CoreDto; settings: SettingsDto; servers: ServerDto[]; totals: Totals; inbox: InboxRow[]; views: DeskItem[]; view: ListView|null; task: TaskDto|null }
  | { type: "delta"; after: number; upto: number; /** tasks changed in this frame, on screen or not */ changes: number;
      servers: ServerDto[]; goneServers: string[]; totals: Totals|null; inbox: InboxRow[]; goneInbox: string[]; rows: TaskRow[];
      view: ListView|null; task: TaskDto|null; settings: SettingsDto|null; views: DeskItem[]|null }
  | { type: "resync"; why: string };
/** A delta applies when its `after` equals what is held; otherwise subscribe anew. Rows, inbox rows, servers are absolute upserts. */
export interface SubscribeInput { query: ListQuery|null; ids: string[]; task: string|null; visible: boolean }
/** call `feed.focus`: changes what a running feed watches. The next frame carries view (and task) anew. `visible`: the window is shown and focused. */
export interface FocusInput extends SubscribeInput { feed: string }

/* Calls: name -> [input, output]. Existing ones unchanged: servers.add/list/show/tools/remove, tasks.start/list/show/result/adopt/answer/cancel/revoke, inbox, doctor */
export interface Calls {
  "servers.add": [{ name: string; address: AddressDto; secrets?: Record<string,string>; agreed: boolean }, { server: ServerDto; tools: ToolDto[]|null }];
  "servers.list": [{}, { servers: ServerDto[] }];
  "servers.show": [{ name: string }, ServerDto];
  "servers.tools": [{ name: string }, { tools: ToolDto[] }];
  "servers.remove": [{ name: string; evenWithOpenTasks?: boolean }, { name: string; lostTasks: number }];
  "servers.agree": [{ name: string }, ServerDto];            // a person agrees to contact it (after its address was shown)
  "demo.address": [{}, AddressDto];                           // how the built-in demo server is started
  "tasks.start": [{ server: string; tool: string; arguments: object; limitMs?: number|null }, TaskDto];
  "tasks.page": [{ query: ListQuery; group: string|null; offset: number; limit: number }, { rows: TaskRow[]; view: ListView }];
  "tasks.show": [{ id: string }, TaskDto & { log: { at: string; status: string; text: string }[] }];
  "tasks.history": [{ id: string }, { events: HistoryEvent[]; log: { at: string; status: string; text: string }[]; looks: string[] /* newest 200 moments it was heard of, where known */ }];
  "tasks.content": [{ id: string; of: "result"|"arguments"|"error" }, { bytes: number; isError: boolean; parts: PartDto[] }];
  "tasks.piece": [{ id: string; of: "result"|"arguments"|"error"|"raw"; part: number|null; offset: number; limit: number }, { text: string; next: number|null; bytes: number }];
  "tasks.raw": [{ id: string }, { messages: { n: number; at: string; direction: "fromServer"|"toServer"; about: string; bytes: number; cut: boolean }[] }];
  "tasks.answer": [{ id: string; key?: string|null; action: "accept"|"decline"|"dismiss"; content?: object|null; hold?: boolean /* 5 s hold-back, returns at once */ }, { id: string; request: RequestDto; stillOpen: number }];
  "tasks.undoAnswer": [{ id: string; key: string }, TaskDto];
  "tasks.cancel": [{ ids: string[]; query?: ListQuery|null /* all open tasks that match, besides ids */; reason?: string|null; wait?: boolean /* default true: until each server said something */ }, { stops: { id: string; state: string; why: string|null; task: TaskDto|null }[] }];
  "tasks.revoke": [{ id: string; reason?: string|null }, unknown];
  "tasks.unwatch": [{ id: string; note?: string|null }, TaskDto]; // stop watching; for lost and unconfirmed: "mark resolved"
  "tasks.lookNow": [{ id: string }, TaskDto];
  "tasks.adopt": [{ server: string; task: string }, TaskDto];
  "desk.list": [{ kind: string }, { items: DeskItem[] }];
  "desk.put": [{ kind: string; key: string; value: unknown|null /* null forgets */ }, {}];
  "settings.change": [Partial<SettingsDto>, SettingsDto];
  "feed.focus": [FocusInput, {}];
  "doctor": [{}, unknown];
}
export interface HistoryEvent { at: string; lane: "agent"|"server"|"person"|"policy"; verb: string /* audit verb word */; who: string; key: string|null; note: string }
export interface PartDto { n: number; kind: "text"|"image"|"audio"|"resource"|"resourceLink"|"structured"|"json"|"unknown"; mime: string|null; bytes: number;
  /** first 4,000 characters of text or pretty JSON; for images the base64 data when at most 2 MB */ preview: string; cut: boolean;
  name: string|null; title: string|null; uri: string|null; description: string|null }
