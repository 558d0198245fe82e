/* Questions of which it is not known whether this task asks them: its server asks during one of several calls and does
   not say which. Stored with this task or with another one. Pure. */
import type { InboxRow, TaskDto } from "$lib/bindings";

export interface SharedQuestion {
  /** Its row in the inbox. */
  readonly row: string;
  /** How many calls may be asking; null while the inbox is not heard. */
  readonly calls: number | null;
  /** The beginning of what is asked, where the inbox has it. */
  readonly message: string | null;
  /** Stored with this task. */
  readonly isHere: boolean;
}

export function sharedQuestions(
  task: Pick<TaskDto, "id" | "requests" | "askedElsewhere">,
  inbox: ReadonlyMap<string, InboxRow> | null,
): readonly SharedQuestion[] {
  const here = task.requests
    .filter((request) => request.state === "open" && request.oneOf !== undefined && request.oneOf.length > 0)
    .map((request) => ({
      row: `${task.id}/${request.key}`,
      calls: request.oneOf?.length ?? null,
      message: request.message,
      isHere: true,
    }));
  const elsewhere = (task.askedElsewhere ?? []).map((row) => {
    const known = inbox?.get(row);
    return { row, calls: known?.oneOf?.length ?? null, message: known?.message ?? null, isHere: false };
  });
  return [...here, ...elsewhere];
}

/** Whether the task waits only because it may be the one that asks. */
export function isOnlyPossiblyAsking(task: Pick<TaskDto, "phase" | "requests" | "askedElsewhere">): boolean {
  if (task.phase !== "waiting") return false;
  const open = task.requests.filter((request) => request.state === "open");
  const shared = open.filter((request) => request.oneOf !== undefined && request.oneOf.length > 0);
  return shared.length === open.length && shared.length + (task.askedElsewhere?.length ?? 0) > 0;
}
