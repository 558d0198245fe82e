/* What the registry does with a query, over rows in memory. */
import type { ListQuery, ListView, TaskRow, Totals } from "$lib/bindings";

export const EVERYTHING: ListQuery = { phases: [], servers: [], agents: [], tools: [], flags: [], text: null, changedWithinMs: null, olderThanMs: null, groupBy: "need", sort: "newest" };

export function fits(row: TaskRow, query: ListQuery, now: number): boolean {
  const { phases, servers, agents, tools, flags, changedWithinMs, olderThanMs } = query;
  if (phases.length > 0 && !phases.includes(row.phase)) return false;
  if (servers.length > 0 && !servers.includes(row.server)) return false;
  if (agents.length > 0 && !agents.includes(row.agent ?? "")) return false;
  if (tools.length > 0 && !tools.includes(row.tool ?? "")) return false;
  if (flags.includes("orphaned") && row.orphanedAt === null) return false;
  if (flags.includes("held") && (row.held === null || row.held.verdict !== null)) return false;
  if (changedWithinMs !== null && now - Date.parse(row.changedAt) > changedWithinMs) return false;
  if (olderThanMs !== null && now - Date.parse(row.createdAt) < olderThanMs) return false;
  if (query.text === null) return true;
  const text = query.text.toLowerCase();
  return [row.id, row.tool, row.server, row.agent].some((name) => name?.toLowerCase().includes(text));
}

export function groupOf(row: TaskRow, by: ListQuery["groupBy"]): string {
  switch (by) {
    case "need": return row.group;
    case "server": return row.server;
    case "agent": return row.agent ?? "";
    case "none": return "";
  }
}

const NEED_ORDER = ["needsYou", "moving", "noNews", "finished"];

export function view(rows: Iterable<TaskRow>, query: ListQuery, now: number): ListView {
  const counts = new Map<string, number>();
  let total = 0;
  for (const row of rows) {
    if (!fits(row, query, now)) continue;
    total += 1;
    const group = groupOf(row, query.groupBy);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const groups = [...counts].map(([group, count]) => ({ group, count }));
  groups.sort((one, other) => (query.groupBy === "need" ? NEED_ORDER.indexOf(one.group) - NEED_ORDER.indexOf(other.group) : one.group.localeCompare(other.group)));
  return { total, groups };
}

export function page(rows: Iterable<TaskRow>, query: ListQuery, group: string | null, now: number): TaskRow[] {
  const found = [...rows].filter((row) => fits(row, query, now) && (group === null || groupOf(row, query.groupBy) === group));
  const key = (row: TaskRow) => (query.sort === "changed" ? row.changedAt : row.createdAt);
  const way = query.sort === "oldest" ? 1 : -1;
  return found.sort((one, other) => (key(one) < key(other) ? -way : key(one) > key(other) ? way : one.id < other.id ? -1 : 1));
}

export function totals(rows: Iterable<TaskRow>): Totals {
  const sum: Totals = { byPhase: {}, byGroup: { needsYou: 0, moving: 0, noNews: 0, finished: 0 }, all: 0, open: 0 };
  for (const row of rows) {
    sum.byPhase[row.phase] = (sum.byPhase[row.phase] ?? 0) + 1;
    sum.byGroup[row.group] += 1;
    sum.all += 1;
    if (row.group !== "finished") sum.open += 1;
  }
  return sum;
}
