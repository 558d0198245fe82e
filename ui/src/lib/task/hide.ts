/* Hiding finished tasks from lists, with the way back. What may be hidden is decided by the core. */
import { apiError, type Backend } from "$lib/backend/backend";
import type { Toasts } from "$lib/actions";
import type { ListQuery, Phase, TaskDto } from "$lib/bindings";
import { TASKS } from "$lib/text/tasks";

/** Some tasks by name, or all that match. */
export type HideTarget =
  { readonly kind: "some"; readonly ids: readonly string[] } | { readonly kind: "all"; readonly query: ListQuery };

/** Phases in which a task is over; those of them that need somebody stay in the list. */
export const HIDEABLE_PHASES: readonly Phase[] = [
  "done",
  "doneWithError",
  "failed",
  "cancelled",
  "expired",
  "unwatched",
  "lost",
];

/** Whether a task is offered to be hidden: it is over, and neither its result nor its loss waits for somebody. */
export const mayBeHidden = (task: TaskDto): boolean =>
  HIDEABLE_PHASES.includes(task.phase) &&
  (task.phase !== "lost" || task.serverEnded !== undefined) &&
  (task.held === null || task.held.verdict !== null);

const inputOf = (target: HideTarget) =>
  target.kind === "some" ? { ids: [...target.ids] } : { ids: [], query: { ...target.query, groupBy: "none" as const } };

export async function hide(backend: Backend, toasts: Toasts, target: HideTarget): Promise<void> {
  try {
    const { ids, kept } = await backend.call("tasks.hide", inputOf(target));
    if (ids.length === 0) toasts.show(TASKS.hidden.none);
    else
      toasts.show(TASKS.hidden.done(ids.length, kept), {
        undo: () => unhide(backend, toasts, { kind: "some", ids }, false),
      });
  } catch (thrown) {
    toasts.fail(apiError(thrown));
  }
}

/** `canUndo`: whether what was shown again can be hidden again; not where this is an undo itself. */
export async function unhide(backend: Backend, toasts: Toasts, target: HideTarget, canUndo = true): Promise<void> {
  try {
    const { ids } = await backend.call("tasks.unhide", inputOf(target));
    const undo = () => hide(backend, toasts, { kind: "some", ids });
    toasts.show(TASKS.hidden.undone(ids.length), canUndo && ids.length > 0 ? { undo } : {});
  } catch (thrown) {
    toasts.fail(apiError(thrown));
  }
}
