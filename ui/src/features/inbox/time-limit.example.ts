/* Made-up items of tasks that reached a limit of time. */
import { PAST_ITS_TIME, STALLED } from "$lib/task/facts.example";
import { before, item, type Item } from "./inbox.example";

export const PAST_TIME_LIMIT = item({
  at: 24,
  kind: "timeLimit",
  server: "warehouse",
  tool: "index_folder",
  agent: "research-7",
  row: { openedAt: before(11), runLimit: PAST_ITS_TIME },
  task: {
    phase: "running",
    group: "moving",
    status: "working",
    statusMessage: "Reading 12 of 40 folders",
    createdAt: before(71),
    runLimits: [PAST_ITS_TIME],
  },
});
export const WITHOUT_PROGRESS: Item = {
  ...PAST_TIME_LIMIT,
  row: { ...PAST_TIME_LIMIT.row, runLimit: STALLED },
  task: { ...PAST_TIME_LIMIT.task, changedAt: before(21), runLimits: [STALLED] },
};
