/* The columns of the task list: which there are, which a person hid, and what a narrow window leaves out. Pure. */
import type { ListQuery } from "$lib/bindings";
import type { Filter } from "$lib/task-filter";

export const COLUMNS = [
  "phase",
  "task",
  "server",
  "agent",
  "progress",
  "started",
  "took",
  "tokens",
  "message",
] as const;
export type Column = (typeof COLUMNS)[number];

/** Without these a row says nothing. */
export const FIXED: readonly Column[] = ["phase", "task"];
const LEAVE_FIRST: readonly Column[] = ["tokens", "started", "server"];
const LEAVE_NEXT: readonly Column[] = ["agent", "message"];

/** What the registry sorts exactly. What it keeps sealed, or what goes on while it is looked at, it cannot. */
const SORTS: Readonly<Partial<Record<Column, ListQuery["sort"]>>> = {
  phase: "phase",
  task: "task",
  server: "server",
  agent: "agent",
  started: "newest",
};

/** Ends of windows at which columns leave, as in the style sheets. */
export type Width = "wide" | "narrow" | "small";

export function shownColumns(hidden: readonly string[], width: Width = "wide"): Column[] {
  const left = width === "wide" ? [] : width === "narrow" ? LEAVE_FIRST : [...LEAVE_FIRST, ...LEAVE_NEXT];
  return COLUMNS.filter((column) => FIXED.includes(column) || !(hidden.includes(column) || left.includes(column)));
}

/** The grid of a row. What is not fixed takes the rest: the last message, or else the task. */
export function gridOf(columns: readonly Column[]): string {
  const hasMessage = columns.includes("message");
  const joined = columns.includes("server") ? "0px" : "var(--s-32)";
  const width = (column: Column): string => {
    if (column === "message") return "minmax(0, 1fr)";
    if (column !== "task") return `var(--l-${column})`;
    const task = `calc(var(--l-task) + ${joined})`;
    return hasMessage ? task : "minmax(0, 1fr)";
  };
  return ["var(--l-select)", ...columns.map(width)].join(" ");
}

export const isSortable = (column: Column): boolean => SORTS[column] !== undefined;

/** How the list is sorted by a column; null when it is not. */
export function sortedBy(column: Column, filter: Pick<Filter, "sort" | "reversed">): "ascending" | "descending" | null {
  if (column === "started" && filter.sort === "oldest") return "ascending";
  if (SORTS[column] === undefined || SORTS[column] !== filter.sort) return null;
  return column === "started" || filter.reversed ? "descending" : "ascending";
}

/** The next order of a column: first its own, then turned round, then newest first again. */
export function nextSort(
  column: Column,
  filter: Pick<Filter, "sort" | "reversed">,
): Pick<Filter, "sort" | "reversed"> | null {
  const sort = SORTS[column];
  if (sort === undefined) return null;
  if (column === "started") return { sort: filter.sort === "newest" ? "oldest" : "newest", reversed: false };
  const now = sortedBy(column, filter);
  if (now === null) return { sort, reversed: false };
  return now === "ascending" ? { sort, reversed: true } : { sort: "newest", reversed: false };
}
