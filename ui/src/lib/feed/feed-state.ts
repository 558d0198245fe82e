/* The state behind the screens, as a pure function of frames. Entities keep their identity while they do
   not change, so that a row is drawn again only when it differs. No runes, no clock, no network here. */
import type {
  AgentFacts,
  BudgetList,
  CoreDto,
  DeskItem,
  Frame,
  HaltShown,
  InboxRow,
  ListView,
  RecordingDto,
  RuleDto,
  ServerDto,
  SettingsDto,
  TaskDto,
  TaskRow,
  Totals,
} from "$lib/bindings";

export interface FeedState {
  /** Name of the running feed, for `feed.focus`. */
  readonly feed: string;
  readonly upto: number;
  readonly core: CoreDto;
  /** Whether changes are recorded; while they are not, agents' calls are refused. */
  readonly recording: RecordingDto;
  /** What is halted, and what became of its tasks. */
  readonly halt: HaltShown;
  readonly settings: SettingsDto;
  /** Keyed by server name. */
  readonly servers: ReadonlyMap<string, ServerDto>;
  /** Keyed by agent id. */
  readonly agents: ReadonlyMap<string, AgentFacts>;
  readonly rules: readonly RuleDto[];
  /** Those nearest to their limit; occupancy, never spend. */
  readonly budgets: BudgetList;
  readonly totals: Totals;
  /** By id. Insertion order means nothing: order with `inboxOrder`. */
  readonly inbox: ReadonlyMap<string, InboxRow>;
  readonly views: readonly DeskItem[];
  /** Counts of the query in focus. */
  readonly view: ListView | null;
  /** The task in focus. */
  readonly task: TaskDto | null;
  /** Rows among the ids in focus that changed since the focus was set, newest state of each. */
  readonly rows: ReadonlyMap<string, TaskRow>;
  /** Tasks that changed since the feed began, on screen or not. */
  readonly changes: number;
}

/** Rows kept from deltas at most; older ones are let go (a list keeps its own pages). */
const ROWS_KEPT = 2_000;

export function reduce(state: FeedState | null, frame: Frame): FeedState | "resubscribe" {
  switch (frame.type) {
    case "snapshot":
      return fromSnapshot(frame);
    case "delta":
      if (state === null || frame.after !== state.upto) return "resubscribe";
      return apply(state, frame);
    case "resync":
      return "resubscribe";
    default:
      frame satisfies never;
      return "resubscribe";
  }
}

function fromSnapshot(frame: Extract<Frame, { type: "snapshot" }>): FeedState {
  return {
    feed: frame.feed,
    upto: frame.upto,
    core: frame.core,
    recording: frame.recording,
    halt: frame.halt,
    settings: frame.settings,
    servers: new Map(frame.servers.map((server) => [server.name, server])),
    agents: new Map(frame.agents.map((agent) => [agent.id, agent])),
    rules: frame.rules,
    budgets: frame.budgets,
    totals: frame.totals,
    inbox: new Map(frame.inbox.map((row) => [row.id, row])),
    views: frame.views,
    view: frame.view,
    task: frame.task,
    rows: new Map(),
    changes: 0,
  };
}

function apply(state: FeedState, delta: Extract<Frame, { type: "delta" }>): FeedState {
  return {
    ...state,
    upto: delta.upto,
    recording: delta.recording ?? state.recording,
    halt: delta.halt ?? state.halt,
    settings: delta.settings ?? state.settings,
    servers: merged(state.servers, delta.servers, (server) => server.name, delta.goneServers),
    agents: merged(state.agents, delta.agents, (agent) => agent.id, []),
    rules: delta.rules ?? state.rules,
    budgets: delta.budgets ?? state.budgets,
    totals: delta.totals ?? state.totals,
    inbox: merged(state.inbox, delta.inbox, (row) => row.id, delta.goneInbox),
    views: delta.views ?? state.views,
    view: delta.view ?? state.view,
    task: delta.task ?? state.task,
    rows: bounded(merged(state.rows, delta.rows, (row) => row.id, [])),
    changes: state.changes + delta.changes,
  };
}

/** The same map when nothing changed, so that what reads it is not run again. */
function merged<T>(
  held: ReadonlyMap<string, T>,
  upserts: readonly T[],
  key: (item: T) => string,
  gone: readonly string[],
): ReadonlyMap<string, T> {
  const really = gone.filter((id) => held.has(id));
  if (upserts.length === 0 && really.length === 0) return held;
  const next = new Map(held);
  for (const id of really) next.delete(id);
  for (const item of upserts) {
    // Set anew at the end, so that `bounded` lets the longest unchanged go first.
    next.delete(key(item));
    next.set(key(item), item);
  }
  return next;
}

function bounded(rows: ReadonlyMap<string, TaskRow>): ReadonlyMap<string, TaskRow> {
  if (rows.size <= ROWS_KEPT) return rows;
  return new Map([...rows].slice(rows.size - ROWS_KEPT));
}

/** Cost of delay: a deadline first, the soonest first; then the oldest first. */
export function inboxOrder(one: InboxRow, other: InboxRow): number {
  if (one.deadline !== other.deadline) {
    if (one.deadline === null) return 1;
    if (other.deadline === null) return -1;
    return one.deadline < other.deadline ? -1 : 1;
  }
  if (one.openedAt !== other.openedAt) return one.openedAt < other.openedAt ? -1 : 1;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** What waits now: not asleep, and not already answered by somebody. */
export function needsAttention(row: InboxRow, now: number): boolean {
  const isAsleep = row.snoozedUntilChange === true || (row.snoozedUntil !== null && Date.parse(row.snoozedUntil) > now);
  return row.answeredBy === null && !isAsleep;
}
