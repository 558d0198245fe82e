/* What the registry does with a query, over rows in memory. */
import type { InboxFigures, InboxRow, ListQuery, ListView, TaskFigures, TaskRow, Totals } from "$lib/bindings";
import { GROUP_OF, isOver } from "./rows";

export const EVERYTHING: ListQuery = {
  phases: [],
  servers: [],
  agents: [],
  tools: [],
  flags: [],
  text: null,
  changedWithinMs: null,
  olderThanMs: null,
  groupBy: "need",
  sort: "newest",
};

/** Ids of the tasks that a person hid. */
export type Hidden = ReadonlySet<string>;
const NOTHING_HIDDEN: Hidden = new Set();

/** Whether a task matches, hidden or not. */
export function fits(row: TaskRow, query: ListQuery, now: number): boolean {
  const { phases, servers, agents, tools, flags, changedWithinMs, olderThanMs } = query;
  if (phases.length > 0 && !phases.includes(row.phase)) return false;
  if (servers.length > 0 && !servers.includes(row.server)) return false;
  if (agents.length > 0 && !agents.includes(row.agent ?? "") && !agents.includes(row.agentId ?? "")) return false;
  if (tools.length > 0 && !tools.includes(row.tool ?? "")) return false;
  if (flags.includes("orphaned") && row.orphanedAt === null) return false;
  if (flags.includes("held") && !isHeld(row)) return false;
  if (flags.includes("needsYou") && row.group !== "needsYou") return false;
  if (changedWithinMs !== null && now - Date.parse(row.changedAt) > changedWithinMs) return false;
  if (olderThanMs !== null && now - Date.parse(row.createdAt) < olderThanMs) return false;
  if (query.text === null) return true;
  const text = query.text.toLowerCase();
  return [row.id, row.tool, row.server, row.agent, row.says, row.statusMessage].some((name) =>
    name?.toLowerCase().includes(text),
  );
}

export function groupOf(row: TaskRow, by: ListQuery["groupBy"]): string {
  switch (by) {
    case "need":
      return row.group;
    case "server":
      return row.server;
    case "agent":
      return row.agent ?? "";
    case "none":
      return "";
  }
}

const COLUMN_OF: Readonly<Partial<Record<ListQuery["sort"], (row: TaskRow) => string | undefined>>> = {
  phase: (row) => `${NEED_ORDER.indexOf(row.group)} ${row.phase}`,
  task: (row) => row.tool ?? undefined,
  server: (row) => row.server,
  agent: (row) => row.agent ?? undefined,
};
const NEED_ORDER = ["needsYou", "moving", "noNews", "finished"];

export function view(rows: Iterable<TaskRow>, query: ListQuery, now: number, hidden = NOTHING_HIDDEN): ListView {
  const counts = new Map<string, number>();
  let total = 0;
  let all = 0;
  let leftOut = 0;
  const wantsHidden = query.flags.includes("hidden");
  for (const row of rows) {
    if (wantsHidden || !hidden.has(row.id)) all += 1;
    if (!fits(row, query, now)) continue;
    if (hidden.has(row.id) !== wantsHidden) {
      if (!wantsHidden) leftOut += 1;
      continue;
    }
    total += 1;
    const group = groupOf(row, query.groupBy);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const groups = [...counts].map(([group, count]) => ({ group, count }));
  groups.sort((one, other) =>
    query.groupBy === "need"
      ? NEED_ORDER.indexOf(one.group) - NEED_ORDER.indexOf(other.group)
      : one.group.localeCompare(other.group),
  );
  return {
    total,
    all,
    groups,
    ...(leftOut === 0 ? {} : { hidden: leftOut }),
    ...(query.text === null ? {} : { text: { backTo: null, reading: false, more: false } }),
  };
}

export function page(
  rows: Iterable<TaskRow>,
  query: ListQuery,
  group: string | null,
  now: number,
  hidden = NOTHING_HIDDEN,
): TaskRow[] {
  const wantsHidden = query.flags.includes("hidden");
  const found = [...rows].filter(
    (row) =>
      hidden.has(row.id) === wantsHidden &&
      fits(row, query, now) &&
      (group === null || groupOf(row, query.groupBy) === group),
  );
  const column = COLUMN_OF[query.sort];
  if (column !== undefined) {
    const turn = query.reversed ? -1 : 1;
    return found.sort((one, other) => {
      const [mine, theirs] = [column(one)?.toLowerCase(), column(other)?.toLowerCase()];
      if (mine !== theirs) return mine === undefined ? 1 : theirs === undefined ? -1 : mine < theirs ? -turn : turn;
      return one.createdAt < other.createdAt ? 1 : -1;
    });
  }
  const key = (row: TaskRow) => (query.sort === "changed" ? row.changedAt : row.createdAt);
  const way = query.sort === "oldest" ? 1 : -1;
  return found.sort((one, other) =>
    key(one) < key(other) ? -way : key(one) > key(other) ? way : one.id < other.id ? -1 : 1,
  );
}

const isHeld = (row: TaskRow) => row.held !== null && row.held.verdict === null && GROUP_OF[row.phase] === "finished";

export const NO_FIGURES: TaskFigures = {
  all: 0,
  open: 0,
  needsYou: 0,
  working: 0,
  cancelling: 0,
  noNews: 0,
  late: 0,
  gone: 0,
  held: 0,
  finished: 0,
  failed: 0,
  hidden: 0,
};

export function figures(rows: Iterable<TaskRow>, hidden = NOTHING_HIDDEN): TaskFigures {
  const sum = { ...NO_FIGURES };
  for (const row of rows) {
    if (hidden.has(row.id)) {
      sum.hidden += 1;
      continue;
    }
    sum.all += 1;
    if (!isOver(row.phase)) sum.open += 1;
    if (row.group === "needsYou") sum.needsYou += 1;
    if (row.phase === "running" || row.phase === "answering") sum.working += 1;
    if (row.phase === "cancelling") sum.cancelling += 1;
    if (row.group === "noNews") sum.noNews += 1;
    if (row.phase === "overdue") sum.late += 1;
    if (row.orphanedAt !== null) sum.gone += 1;
    if (isHeld(row)) sum.held += 1;
    if (row.group === "finished") sum.finished += 1;
    if (row.phase === "failed" || row.phase === "doneWithError") sum.failed += 1;
  }
  return sum;
}

export function inboxFigures(rows: Iterable<InboxRow>, now: number): InboxFigures {
  const sum = { items: 0, hidden: 0, moreQuestions: 0 };
  for (const row of rows) {
    if (row.answeredBy !== null) continue;
    if (row.snoozedUntil !== null && Date.parse(row.snoozedUntil) > now) sum.hidden += 1;
    else sum.items += 1;
    sum.moreQuestions += row.moreQuestions ?? 0;
  }
  return sum;
}

export function totals(
  rows: Iterable<TaskRow>,
  inbox: Iterable<InboxRow>,
  now: number,
  hidden = NOTHING_HIDDEN,
): Totals {
  const all = [...rows];
  const sum: Totals = {
    figures: figures(all, hidden),
    inbox: inboxFigures(inbox, now),
    byPhase: {},
    byGroup: { needsYou: 0, moving: 0, noNews: 0, finished: 0 },
  };
  for (const row of all) {
    if (hidden.has(row.id)) continue;
    sum.byPhase[row.phase] = (sum.byPhase[row.phase] ?? 0) + 1;
    sum.byGroup[row.group] += 1;
  }
  return sum;
}
