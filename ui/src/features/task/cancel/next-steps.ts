/* When a cancel counts as not obeyed, and what can be done then: only what fits the task now. Pure. */
import type { TaskDto } from "$lib/bindings";
import { ms } from "$lib/format/time";
import { cancelOutcome } from "./cancel-steps";

export type NextStep = "hold" | "revoke" | "end";

/** A server that obeys mostly does so within this (judgement: two of our own polls, ruling 46). */
const OBEYS_WITHIN_MS = 10_000;

/** Asked long enough ago, or refused, and still at work. */
export function isNotObeyed(task: TaskDto, now: number): boolean {
  if (task.over || task.intent === null) return false;
  const kind = cancelOutcome(task);
  if (kind === "refused") return true;
  return kind === "cancelling" && now - ms(task.intent.sentAt ?? task.intent.at) >= OBEYS_WITHIN_MS;
}

/** In the order of how much they affect. Of an agent only its task can be taken; only what runs here can be ended. */
export function nextSteps(task: TaskDto, now: number, isProcess: boolean): readonly NextStep[] {
  if (!isNotObeyed(task, now)) return [];
  const isTaken = task.agent === null || task.intent?.kind === "revoked";
  return [
    ...(isTaken || task.held !== null ? [] : (["hold"] as const)),
    ...(isTaken ? [] : (["revoke"] as const)),
    ...(isProcess ? (["end"] as const) : []),
  ];
}
