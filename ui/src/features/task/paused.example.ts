/* Tasks that stand still because of a pause. For stories. */
import type { TaskDto } from "$lib/bindings";

/** Its call waits for the end of a pause. */
export const gated = (kind: NonNullable<TaskDto["paused"]>["kind"], since: string): Partial<TaskDto> => ({
  phase: "waiting",
  group: "moving",
  view: "gated",
  status: null,
  statusMessage: null,
  progress: null,
  requests: [],
  intent: null,
  nextLookAt: null,
  paused: { kind, since },
  pausedSince: since,
});

/** It ran when its server was frozen. */
export const frozen = (since: string): Partial<TaskDto> => ({
  intent: null,
  paused: { kind: "frozen", since },
  pausedSince: since,
  nextLookAt: null,
});
