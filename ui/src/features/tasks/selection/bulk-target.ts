/* What a selection stands for: some tasks by name, or all that match a query; and reading them from the core. */
import type { BulkAct, ListQuery, Phase, TaskDto, TaskRow } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";
import { OPEN_PHASES } from "$lib/task-filter";
import { HIDEABLE_PHASES as HIDEABLE } from "$lib/task/hide";

export type BulkTarget =
  { readonly kind: "some"; readonly ids: readonly string[] } | { readonly kind: "all"; readonly query: ListQuery };

export interface SelectionCounts {
  readonly cancellable: number;
  /** Open, and not taken from its agent yet; one that was asked to cancel among them. */
  readonly revocable: number;
  readonly resolvable: number;
  /** Ended, and nobody has to act on it; of hidden tasks, all. */
  readonly hideable: number;
}

/** Phases in which a person may say that nothing more is to come (`tasks.unwatch`). */
const RESOLVABLE: readonly Phase[] = ["lost", "unconfirmed"];
/** Rows read at a time; as many as one call gives. */
const PAGE = 1_000;
/** Rows read at most: as many as one plan has. */
export const ROWS_MAX = 20_000;

export const isResolvable = (row: Pick<TaskRow, "phase">): boolean => RESOLVABLE.includes(row.phase);

export const isHideable = (row: Pick<TaskRow, "phase" | "group">): boolean =>
  HIDEABLE.includes(row.phase) && row.group !== "needsYou";

/** Phases in which a task was asked to end before, by act: a plan leaves them out. */
const ASKED: Readonly<Record<BulkAct, readonly Phase[]>> = { cancel: ["cancelling", "revoked"], revoke: ["revoked"] };

/** Whether a plan would have it. */
export function isEndable(row: Pick<TaskRow, "over" | "phase" | "stopState">, act: BulkAct): boolean {
  if (row.over || row.phase === "revoked") return false;
  return act === "revoke" || row.stopState === null || row.stopState === "refused";
}

/** The query of what a plan would have among what matches; null when no phase of it is open. */
export function endableQuery(query: ListQuery, act: BulkAct): ListQuery | null {
  const open = OPEN_PHASES.filter((phase) => !ASKED[act].includes(phase));
  const phases = query.phases.length === 0 ? open : query.phases.filter((phase) => open.includes(phase));
  return phases.length === 0 ? null : { ...query, phases, groupBy: "none" };
}

/** A whole task as a row, for what the list has let go. */
export function rowOf(task: TaskDto): TaskRow {
  const open = task.requests.filter((request) => request.state === "open").length;
  return {
    ...task,
    parentId: task.parent?.id ?? null,
    attempt: task.job?.attempt ?? 1,
    openRequests: open,
    stopState: task.intent?.state ?? null,
    resultBytes: task.result?.bytes ?? null,
    isError: task.result?.isError ?? false,
  };
}

/** The query of what can be marked resolved among what matches; null when no phase of it can. */
export function resolvableQuery(query: ListQuery): ListQuery | null {
  const phases = query.phases.length === 0 ? [...RESOLVABLE] : query.phases.filter((one) => RESOLVABLE.includes(one));
  return phases.length === 0 ? null : { ...query, phases, groupBy: "none" };
}

/** The query of what may be hidden, by phase: what of it needs somebody is left out by the core. */
export function hideableQuery(query: ListQuery): ListQuery | null {
  const phases = query.phases.length === 0 ? [...HIDEABLE] : query.phases.filter((one) => HIDEABLE.includes(one));
  return phases.length === 0 ? null : { ...query, phases, groupBy: "none" };
}

export async function countSelection(
  backend: Backend,
  target: BulkTarget,
  known: (id: string) => TaskRow | undefined,
): Promise<SelectionCounts> {
  if (target.kind === "some") {
    const rows = target.ids.flatMap((id) => known(id) ?? []);
    return {
      cancellable: rows.filter((row) => isEndable(row, "cancel")).length,
      revocable: rows.filter((row) => isEndable(row, "revoke")).length,
      resolvable: rows.filter(isResolvable).length,
      hideable: rows.filter(isHideable).length,
    };
  }
  const over = hideableQuery(target.query);
  const inNeed: ListQuery | null = over === null ? null : { ...over, flags: [...over.flags, "needsYou"] };
  const queries = [
    endableQuery(target.query, "cancel"),
    endableQuery(target.query, "revoke"),
    resolvableQuery(target.query),
    over,
    inNeed,
  ];
  const asked = queries.filter((query) => query !== null);
  const counts = asked.length === 0 ? [] : (await backend.call("tasks.counts", { queries: asked })).counts;
  const [cancellable = 0, revocable = 0, resolvable = 0, ended = 0, needed = 0] = queries.map((query) =>
    query === null ? 0 : (counts[asked.indexOf(query)] ?? 0),
  );
  return { cancellable, revocable, resolvable, hideable: ended - needed };
}

/** The rows of a selection; what is gone by now is left out. */
export async function rowsOf(
  backend: Backend,
  target: BulkTarget,
  known: (id: string) => TaskRow | undefined,
): Promise<TaskRow[]> {
  const rows: TaskRow[] = [];
  if (target.kind === "some") {
    for (const id of target.ids) {
      const row = known(id) ?? (await backend.call("tasks.show", { id }).then(rowOf, () => undefined));
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }
  const query = { ...target.query, groupBy: "none" as const };
  const seen = new Set<string>();
  for (let offset = 0; offset < ROWS_MAX; offset += PAGE) {
    const page = await backend.call("tasks.page", { query, group: null, offset, limit: PAGE });
    // What came in meanwhile moved rows to the next page: each is taken once.
    for (const row of page.rows) if (!seen.has(row.id)) rows.push(row);
    for (const row of page.rows) seen.add(row.id);
    if (page.rows.length < PAGE) break;
  }
  return rows;
}
