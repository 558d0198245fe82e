/* Hiding finished tasks from lists, with the way back. What may be hidden is decided by the core. */
import { apiError, type Backend } from "$lib/backend/backend";
import type { Toasts } from "$lib/actions";
import { TASKS } from "$lib/text/tasks";
import type { BulkTarget } from "./bulk-target";

const inputOf = (target: BulkTarget) =>
  target.kind === "some" ? { ids: [...target.ids] } : { ids: [], query: { ...target.query, groupBy: "none" as const } };

export async function hide(backend: Backend, toasts: Toasts, target: BulkTarget): Promise<void> {
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
export async function unhide(backend: Backend, toasts: Toasts, target: BulkTarget, canUndo = true): Promise<void> {
  try {
    const { ids } = await backend.call("tasks.unhide", inputOf(target));
    const undo = () => hide(backend, toasts, { kind: "some", ids });
    toasts.show(TASKS.hidden.undone(ids.length), canUndo && ids.length > 0 ? { undo } : {});
  } catch (thrown) {
    toasts.fail(apiError(thrown));
  }
}
