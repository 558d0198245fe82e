/* What a task looks like whose call waits for the end of a pause. For stories. */
import type { TaskDto } from "$lib/bindings";

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
