/* When a cancel counts as not obeyed, and which of the steps that the core offers are shown then. Pure. */
import type { Escalation, OfferedStep, TakenStep, TaskDto } from "$lib/bindings";
import { ms } from "$lib/format/time";
import { cancelOutcome } from "./cancel-steps";

/** A server that obeys mostly does so within this (judgement: two of our own polls, ruling 46). */
const OBEYS_WITHIN_MS = 10_000;

/** Asked long enough ago, or refused, and still at work. */
export function isNotObeyed(task: TaskDto, now: number): boolean {
  if (task.over || task.intent === null) return false;
  const kind = cancelOutcome(task);
  if (kind === "refused") return true;
  return kind === "cancelling" && now - ms(task.intent.sentAt ?? task.intent.at) >= OBEYS_WITHIN_MS;
}

/** What the core offers beyond asking again, while the cancel is not obeyed. */
export function offeredSteps(task: TaskDto, escalation: Escalation, now: number): readonly OfferedStep[] {
  return isNotObeyed(task, now) ? escalation.offered.filter((step) => step.number > 1) : [];
}

/** Steps that were taken after the cancel, which has its own list. */
export const stepsBeyondCancel = (escalation: Escalation): readonly TakenStep[] =>
  escalation.steps.filter((step) => step.number > 1);
