/* When a task's server was last heard, and the text shown while it has sent no status. Pure. */
import type { TaskDto, TaskPauseDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import { pauseText } from "$lib/text/halt/pause";
import { SERVER_STATUS } from "$lib/text/task";
import { ago } from "$lib/format/time";

/** `input_required` as people read it. The word stays the server's; *Raw* shows it as it came. */
export function statusWord(status: string): string {
  return singleLine(status.replace(/_/g, " "), 40);
}

/** A sentence where the server has no word of its own for the task. */
export function missingStatus(task: Pick<TaskDto, "view" | "server" | "agent" | "paused">): string {
  if (task.paused && task.view === "gated") return whyPaused(task.paused, task);
  const say: ((server: string) => string) | undefined = Object.hasOwn(SERVER_STATUS.unsaid, task.view)
    ? SERVER_STATUS.unsaid[task.view as keyof typeof SERVER_STATUS.unsaid]
    : undefined;
  return (say ?? SERVER_STATUS.unsaid.awaiting)(singleLine(task.server, 80));
}

/** Why a task stands still, and where that is ended. */
export function whyPaused({ kind }: TaskPauseDto, task: Pick<TaskDto, "server" | "agent">): string {
  return pauseText.task[kind](singleLine(kind === "agentPaused" ? (task.agent ?? "") : task.server, 80));
}

/** When it was heard of, or, where nothing was heard yet, when it was called: one never stands for the other. */
export function lastContact(
  task: Pick<TaskDto, "view" | "status" | "progress" | "createdAt" | "lastSeenAt">,
  now: number,
): string {
  if (task.status !== null) return SERVER_STATUS.heard(ago(task.lastSeenAt, now));
  if (task.view === "notSent" || task.view === "gated") return SERVER_STATUS.made(ago(task.createdAt, now));
  const isSilent =
    (task.view === "awaiting" || task.view === "ownCall" || task.view === "unanswered") && task.progress === null;
  return isSilent ? SERVER_STATUS.called(ago(task.createdAt, now)) : SERVER_STATUS.heard(ago(task.lastSeenAt, now));
}
