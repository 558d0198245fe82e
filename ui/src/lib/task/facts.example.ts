/* Made-up facts of tasks for stories and tests: limits of time, and what a task costs in tokens. */
import type { TaskDto, TaskRunLimitDto } from "$lib/bindings";
import { iso } from "$lib/fake-core/random";
import { STORY_NOW } from "$lib/fake-core/story";

const MINUTE_MS = 60_000;

/** A task past its time limit, about which a person is asked. */
export const PAST_ITS_TIME: TaskRunLimitDto = {
  kind: "time",
  allowedMs: 60 * MINUTE_MS,
  spentMs: 71 * MINUTE_MS,
  at: "ask",
  dueAt: null,
  reachedAt: iso(STORY_NOW - 11 * MINUTE_MS),
  asks: true,
  removedBy: null,
  ruleLevel: "tool",
  ruleVersion: 3,
};
export const STALLED: TaskRunLimitDto = {
  ...PAST_ITS_TIME,
  kind: "progress",
  allowedMs: 10 * MINUTE_MS,
  spentMs: 21 * MINUTE_MS,
  ruleLevel: "agent",
};
/** One to come, and one that a person removed. */
export const TWO_LIMITS: TaskRunLimitDto[] = [
  {
    ...PAST_ITS_TIME,
    allowedMs: 84 * MINUTE_MS,
    spentMs: 72 * MINUTE_MS,
    asks: false,
    reachedAt: null,
    dueAt: iso(STORY_NOW + 12 * MINUTE_MS),
    at: "cancel",
  },
  { ...STALLED, asks: false, removedBy: "Mara Lindqvist" },
];

export const COST: NonNullable<TaskDto["tokens"]> = {
  handle: 312,
  keptOut: 53_402,
  result: 61_402,
  inWindow: 61_402,
  inWindowExactness: "exact" as const,
  delivered: 8_000,
  arguments: 204,
  family: "o200k",
  exactness: "exact",
};
