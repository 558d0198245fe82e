/* Cancelling many tasks: which are asked, which are left out, and the outcome. Pure. */
import type { Calls, ListQuery, Phase, TaskDto, TaskRow } from "$lib/bindings";
import { OPEN_PHASES } from "$lib/task-filter";

export type CancelReplies = Calls["tasks.cancel"][1]["stops"];
export type CancelWord = "asked" | "acknowledged" | "stopped" | "finishedAnyway" | "refused" | "notAsked";
const WORDS: readonly CancelWord[] = ["asked", "acknowledged", "stopped", "finishedAnyway", "refused", "notAsked"];

/** Rows shown in the dialog before it asks. */
export const ROWS_SHOWN = 20;

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

/** The query of what can still be stopped among what matches; null when no phase of it can. */
export function cancellableQuery(query: ListQuery): ListQuery | null {
  const phases: Phase[] =
    query.phases.length === 0 ? [...OPEN_PHASES] : query.phases.filter((phase) => OPEN_PHASES.includes(phase));
  return phases.length === 0 ? null : { ...query, phases, groupBy: "none" };
}

export interface BulkCancelPlan {
  /** Asked to stop. */
  readonly rows: readonly TaskRow[];
  readonly over: number;
  readonly asked: number;
}

/** Of selected rows, those that can be asked. */
export function planBulkCancel(rows: readonly TaskRow[]): BulkCancelPlan {
  const open = rows.filter((row) => !row.over);
  const fresh = open.filter((row) => row.stopState === null || row.stopState === "refused");
  return { rows: fresh, over: rows.length - open.length, asked: open.length - fresh.length };
}

/** How many came out how, in the order of the words; none are left out. */
export function tally(stops: CancelReplies): { word: CancelWord; count: number }[] {
  return WORDS.map((word) => ({ word, count: stops.filter((stop) => wordOf(stop.state) === word).length })).filter(
    ({ count }) => count > 0,
  );
}

export function wordOf(state: string): CancelWord {
  return WORDS.find((word) => word === state) ?? "notAsked";
}

/** What went otherwise comes first. */
export function failuresFirst(stops: CancelReplies): CancelReplies {
  const rank = (state: string) =>
    ["refused", "notAsked", "finishedAnyway", "asked", "acknowledged", "stopped"].indexOf(wordOf(state));
  return [...stops].sort((one, other) => rank(one.state) - rank(other.state));
}
