/* The calls of which one asks a question, as they stand now: what each is called, how it is, and whether it can be
   cancelled. Pure, but for the focus; the list is drawn by SharedCalls.svelte. */
import type { TaskDto, TaskRow } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { phaseAndFlag, type PhaseAndFlag } from "$lib/task/phase-flag";
import { inboxText } from "$lib/text/inbox";

export interface SharedCall {
  readonly id: string;
  readonly tool: string;
  readonly agent: string | null;
  readonly createdAt: string;
  readonly phase: PhaseAndFlag;
  /** It waits for a person, as far as is known: each of them does while the question is open. */
  readonly isWaiting: boolean;
  readonly cancel: TaskRow["stopState"];
  readonly mayCancel: boolean;
}

type Known = Pick<
  TaskRow,
  "id" | "tool" | "agent" | "createdAt" | "phase" | "over" | "overdueWhy" | "held" | "orphanedAt"
>;

/** The newer of what was read once and what the feed tells; null while neither is there. */
export function sharedCall(read: TaskDto | null, told: TaskRow | null): SharedCall | null {
  const isTold = told !== null && (read === null || told.changedAt >= read.changedAt);
  const known: Known | null = isTold ? told : read;
  if (known === null) return null;
  const cancel = isTold ? told.stopState : read?.intent?.kind === "cancel" ? read.intent.state : null;
  const isEnding = known.over || known.phase === "cancelling" || known.phase === "revoked";
  return {
    id: known.id,
    tool: singleLine(known.tool ?? inboxText.titleOf.aTask, 80),
    agent: known.agent === null ? null : singleLine(known.agent, 60),
    createdAt: known.createdAt,
    phase: phaseAndFlag(known.phase, { ...known, stopState: null }),
    isWaiting: known.phase === "waiting",
    cancel,
    mayCancel: !isEnding && (cancel === null || cancel === "refused"),
  };
}

/** Where the list is in the page. */
export const SHARED_CALLS = "inbox-shared-calls";

/** To the first call that can be cancelled: nothing is sent until the person presses its button. */
export function focusCalls(): void {
  const list = document.getElementById(SHARED_CALLS);
  (list?.querySelector<HTMLElement>("button") ?? list?.querySelector<HTMLElement>("a"))?.focus();
}
