/* The status line: the server's status, when it was last heard, the next poll, and what happens if nobody acts.
   Always the same four places; silence changes the ink, never the place. Pure. */
import type { TaskDto } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { ago, hourMinute, until } from "$lib/format/time";
import { lastContact, missingStatus, statusWord } from "$lib/task/server-status";
import { TASK } from "$lib/text/task";
import { isOnlyPossiblyAsking } from "./shared-questions";

export interface StatusLine {
  /** The server's own word with its progress; null when it never said one. */
  readonly says: string | null;
  /** What stands in its place then. */
  readonly unsaid: string | null;
  readonly heard: string;
  readonly next: string;
  readonly then: string;
  readonly isStale: boolean;
}

export function statusLine(task: TaskDto, now: number, pushes: boolean, me: string | null = null): StatusLine {
  const isStale = task.contact.kind !== "fresh";
  const heard = ago(task.lastSeenAt, now);
  return {
    says:
      task.status === null
        ? null
        : [statusWord(task.status), task.over ? "" : percent(task)].filter((part) => part !== "").join(", "),
    unsaid: task.status === null ? missingStatus(task) : null,
    heard: isStale && !task.over ? TASK.statusLine.notHeard(heard) : lastContact(task, now),
    next: nextLook(task, now, pushes),
    then: next(task, now, me),
    isStale,
  };
}

export function percent({ progress }: Pick<TaskDto, "progress">): string {
  if (progress === null || progress.done === null || progress.total === null || !(progress.total > 0)) return "";
  return `${Math.floor(Math.min(100, Math.max(0, (100 * progress.done) / progress.total)))} %`;
}

function nextLook(task: TaskDto, now: number, pushes: boolean): string {
  if (task.over) return TASK.statusLine.noLook;
  if (task.paused) return TASK.statusLine.noLookNow;
  if (task.nextLookAt === null) return pushes ? TASK.statusLine.pushes : TASK.statusLine.noLook;
  const when = until(task.nextLookAt, now);
  return when === "now" ? TASK.statusLine.lookDue : TASK.statusLine.next(when);
}

/** Who ended the server of a task that is lost for that, or that it stays until somebody looks at it. */
function lost({ serverEnded: ended }: TaskDto, me: string | null): string {
  if (ended === undefined) return TASK.then.stays;
  return TASK.serverEnded[ended.how](ended.by === me ? TASK.you : singleLine(ended.by, 80), hourMinute(ended.at));
}

/** What happens if nobody acts. */
function next(task: TaskDto, now: number, me: string | null): string {
  const words = TASK.then;
  const expiry = task.expiresAt !== null && Date.parse(task.expiresAt) > now ? until(task.expiresAt, now) : null;
  if (task.paused && !task.over) return words.paused;
  if (task.trouble && task.phase !== "waiting") return singleLine(task.trouble);
  switch (task.phase) {
    case "waiting":
      if (isOnlyPossiblyAsking(task)) return words.waitingPerhaps;
      return expiry === null ? words.waitingOpen : words.waiting(expiry);
    case "running":
      return task.dueAt !== null && Date.parse(task.dueAt) > now ? words.late(until(task.dueAt, now)) : words.runs;
    case "overdue":
      return words.overdue;
    case "answering":
      return words.answering;
    case "cancelling":
    case "revoked":
      return words.cancelling;
    case "silent":
      return words.silent;
    case "blocked":
      return words.blocked;
    case "lost":
      return lost(task, me);
    case "unconfirmed":
      return words.stays;
    case "unwatched":
      return words.unwatched;
    case "expired":
      return words.none;
    case "done":
    case "doneWithError":
    case "failed":
    case "cancelled":
      if (task.result?.state === "stored") return words.stored;
      return expiry === null ? words.none : words.kept(expiry);
  }
}
