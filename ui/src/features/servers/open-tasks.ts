/* The open tasks of one server, for the question before it is removed. */
import type { TaskRow } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";
import { GROUPS } from "$lib/task/phase";

/** Named in the dialog; the rest is a count (peers 4.3: the first twenty). */
export const TASKS_NAMED = 20;

export async function openTasksOf(backend: Backend, server: string): Promise<readonly TaskRow[]> {
  const query = {
    phases: [],
    servers: [server],
    agents: [],
    tools: [],
    flags: [],
    text: null,
    changedWithinMs: null,
    olderThanMs: null,
    groupBy: "need",
    sort: "newest",
  } as const;
  const rows: TaskRow[] = [];
  for (const group of GROUPS) {
    if (group === "finished" || rows.length >= TASKS_NAMED) continue;
    const page = await backend.call("tasks.page", {
      query: { ...query, phases: [], servers: [server], agents: [], tools: [], flags: [] },
      group,
      offset: 0,
      limit: TASKS_NAMED,
    });
    rows.push(...page.rows.filter((row) => !row.over));
  }
  return rows;
}
