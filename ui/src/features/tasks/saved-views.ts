/* Saves and deletes a person's own views, each with an undo. Which views there are comes with the feed. */
import type { Toasts } from "$lib/actions";
import { apiError, type Backend } from "$lib/backend/backend";
import type { View } from "$lib/task-filter";
import { TASKS } from "$lib/text/tasks";

const put = (backend: Backend, name: string, query: string | null) =>
  backend.call("desk.put", { kind: "view", key: name, value: query === null ? null : { query } });

/** True when it was saved. */
export async function saveView(backend: Backend, toasts: Toasts, name: string, query: string): Promise<boolean> {
  try {
    await put(backend, name, query);
  } catch (thrown) {
    toasts.fail(apiError(thrown));
    return false;
  }
  toasts.show(TASKS.saved(name), { undo: () => void put(backend, name, null) });
  return true;
}

export async function deleteView(backend: Backend, toasts: Toasts, { name, query }: View): Promise<void> {
  try {
    await put(backend, name, null);
    toasts.show(TASKS.deleted(name), { undo: () => void put(backend, name, query) });
  } catch (thrown) {
    toasts.fail(apiError(thrown));
  }
}
