/* What became of the tasks of a plan, as text: each task, the counts, one sentence for all. Pure. */
import type { BulkAct, BulkCounts, BulkResult, BulkTask } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import { TASKS } from "$lib/text/tasks";

/** In the order of the tally: what is certain, what is on its way, what went otherwise. */
export const RESULTS: readonly BulkResult[] = [
  "stopped",
  "finishedAnyway",
  "endedMeanwhile",
  "acknowledged",
  "asked",
  "notAsked",
  "notConfirmed",
];

/** How many came out how; none are left out. */
export const tally = (counts: BulkCounts): { result: BulkResult; count: number }[] =>
  RESULTS.map((result) => ({ result, count: counts[result] })).filter(({ count }) => count > 0);

/** What may still run comes first; what was confirmed last. */
const TROUBLE: readonly BulkResult[] = ["notConfirmed", "notAsked", "asked", "acknowledged", ...RESULTS.slice(0, 3)];

export function troubleFirst(tasks: readonly BulkTask[]): BulkTask[] {
  return [...tasks].sort((one, other) => TROUBLE.indexOf(one.result) - TROUBLE.indexOf(other.result));
}

/** What became of one task; what its server said about a refusal is quoted. */
export function resultText(task: BulkTask): string {
  const server = singleLine(task.server ?? TASKS.bulk.theServer, 80);
  // Of a task that ended before it was asked, the word says it all; of one that was asked, the server said why not.
  if (task.result === "notConfirmed" && task.why !== null) return TASKS.bulk.refused(singleLine(task.why, 200));
  return TASKS.bulk.one[task.result](server);
}

/** What a person has to know when all have their final result. */
export function verdict(kind: BulkAct, counts: BulkCounts): string {
  const over = counts.stopped + counts.finishedAnyway + counts.endedMeanwhile;
  const mayRun = counts.notConfirmed + counts.notAsked + counts.asked + counts.acknowledged;
  const ended = mayRun === 0 ? TASKS.bulk.allOver(over) : TASKS.bulk.someOver(over, mayRun);
  return kind === "revoke" ? `${TASKS.bulk.taken} ${ended}` : ended;
}
