/* The phases of each group, as lists for filters. The core defines the grouping (`Phase::group`);
   rows carry their group. A test keeps this in step with the table of phases. */
import type { Phase, PhaseGroup } from "$lib/bindings";

export const GROUP_PHASES: Readonly<Record<PhaseGroup, readonly Phase[]>> = {
  needsYou: ["waiting", "overdue", "unconfirmed", "blocked", "lost"],
  moving: ["answering", "cancelling", "running", "revoked"],
  noNews: ["silent", "unwatched", "expired"],
  finished: ["done", "doneWithError", "failed", "cancelled"],
};

/** Phases in which a task may still be stopped. */
export const OPEN_PHASES: readonly Phase[] = [
  "waiting",
  "overdue",
  "unconfirmed",
  "blocked",
  "running",
  "answering",
  "cancelling",
  "revoked",
  "silent",
];
