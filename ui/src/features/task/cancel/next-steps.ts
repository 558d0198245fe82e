/* When a cancel counts as not obeyed, and what can be done then: only what fits the task now. Pure. */
import type { TaskDto } from "$lib/bindings";
import { ms } from "$lib/format/time";
import { cancelOutcome } from "./cancel-steps";

export type NextStep = "hold" | "revoke";

/** A server that obeys mostly does so within this (judgement: two of our own polls, ruling 46). */
const OBEYS_WITHIN_MS = 10_000;

/** Asked long enough ago, or refused, and still at work. */
export function isNotObeyed(task: TaskDto, now: number): boolean {
  if (task.over || task.intent === null) return false;
  const kind = cancelOutcome(task);
  if (kind === "refused") return true;
  return kind === "cancelling" && now - ms(task.intent.sentAt ?? task.intent.at) >= OBEYS_WITHIN_MS;
}

/** In the order of how much they affect. A task that nobody's agent has offers neither. */
export function nextSteps(task: TaskDto, now: number): readonly NextStep[] {
  if (!isNotObeyed(task, now) || task.agent === null || task.intent?.kind === "revoked") return [];
  return task.held === null ? ["hold", "revoke"] : ["revoke"];
}
