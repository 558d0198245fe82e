/* Text of limits of time: the item of a task that reached one, its banner, and the fields of a rule. */
import type { RunLimitDto, TaskRunLimitDto } from "$lib/bindings";

/** What one press allows: long enough to look at the task again, short enough to be asked. */
export const ALLOWED_MORE_MS = 30 * 60_000;

export const timeLimitText = {
  kind: "Past its time limit",
  title: {
    time: (tool: string, limit: string) => `${tool} has run for more than ${limit}`,
    progress: (tool: string, limit: string) => `${tool} has shown no progress for ${limit}`,
  } satisfies Record<TaskRunLimitDto["kind"], (tool: string, limit: string) => string>,
  heading: "Why it is here",
  reached: {
    time: (limit: string, ago: string) =>
      `It may run for ${limit}, and reached that ${ago}. Time spent waiting for a person does not count.`,
    progress: (limit: string, ago: string) =>
      `It may run for ${limit} without progress, and reached that ${ago}. A new status, message or figure counts as progress, and so does a question or its answer.`,
  } satisfies Record<TaskRunLimitDto["kind"], (limit: string, ago: string) => string>,
  rule: {
    agent: "The rule for its agent sets this limit.",
    server: "The rule for its server sets this limit.",
    tool: "The rule for its tool sets this limit.",
  } satisfies Record<TaskRunLimitDto["ruleLevel"], string>,
  goes: "It keeps running until you decide.",
  can: "What you can do",
  stop: "Ask to cancel",
  stopWhat: (server: string, agent: string) => `${server} may refuse; ${agent} is told that a person asked`,
  more: (time: string) => `Allow ${time} more`,
  moreWhat: "counted from now; after that you are asked again",
  remove: "Remove the limit",
  removeWhat: "for this task only; the rule stays, and applies to later tasks",
  allowed: (tool: string, time: string) => `${tool} may run ${time} more.`,
  removed: (tool: string) => `The limit was removed from ${tool}.`,
  waits: (name: string) => `${name} reached its time limit`,

  /** Of a task. */
  task: {
    time: (limit: string) => `Time limit: ${limit}.`,
    progress: (limit: string) => `Limit without progress: ${limit}.`,
    due: (until: string) => `It is reached ${until}.`,
    was: (ago: string) => `Reached ${ago}.`,
    removed: (who: string) => `${who} removed it from this task.`,
    then: {
      warn: "People are then notified.",
      ask: "A person is then asked.",
      cancel: "The task is then cancelled.",
    } satisfies Record<TaskRunLimitDto["at"], string>,
  },

  /** A rule's limit, where rules are listed. */
  sentence: {
    time: (limit: string, then: string) => `A task that has run for ${limit}: ${then}`,
    progress: (limit: string, then: string) => `A task without progress for ${limit}: ${then}`,
    then: {
      warn: "people are notified",
      ask: "a person is asked",
      cancel: "it is cancelled",
    } satisfies Record<RunLimitDto["at"], string>,
  },

  /** Of a rule. */
  field: {
    heading: "Time limits",
    time: "Running time",
    progress: "Time without progress",
    timeHint: "Waiting for a person does not count",
    progressHint: "Since its last status, message, figure or question",
    none: "no limit",
    at: (what: string) => `${what}: action at the limit`,
    then: {
      warn: "notify people",
      ask: "ask a person",
      cancel: "cancel the task",
    } satisfies Record<RunLimitDto["at"], string>,
    bad: "Enter a time from 1 s to 30 d, such as 30 min or 2 h. Leave it empty for no limit.",
  },
} as const;
