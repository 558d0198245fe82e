/* When a server was heard about a task, and what stands in the place of its word while it has said none. Pure. */
import type { TaskDto } from "$lib/bindings";
import { line } from "$lib/design/text/plain-text";
import { TRUTH } from "$lib/text/task";
import { ago } from "$lib/format/time";

/** A sentence where the server has no word of its own for the task. */
export function unsaid(task: Pick<TaskDto, "view" | "server">): string {
  const say: ((server: string) => string) | undefined = Object.hasOwn(TRUTH.unsaid, task.view)
    ? TRUTH.unsaid[task.view as keyof typeof TRUTH.unsaid]
    : undefined;
  return (say ?? TRUTH.unsaid.awaiting)(line(task.server, 80));
}

/** When it was heard of, or, where nothing was heard yet, when it was called: one never stands for the other. */
export function heardOrCalled(
  task: Pick<TaskDto, "view" | "status" | "progress" | "createdAt" | "lastSeenAt">,
  now: number,
): string {
  if (task.status !== null) return TRUTH.heard(ago(task.lastSeenAt, now));
  if (task.view === "notSent") return TRUTH.made(ago(task.createdAt, now));
  const isSilent =
    (task.view === "awaiting" || task.view === "ownCall" || task.view === "unanswered") && task.progress === null;
  return isSilent ? TRUTH.called(ago(task.createdAt, now)) : TRUTH.heard(ago(task.lastSeenAt, now));
}
