/* A made-up halt: what it covers, and what became of its tasks. */
import type { HaltDto, HaltedTaskDto, HaltedTaskStateDto, HaltShown, TaskRow } from "$lib/bindings";
import { iso } from "../random";

/** As `halt.tasks_listed` of the core. */
const LISTED = 200;
const ORDER: readonly HaltedTaskStateDto[] = ["notConfirmed", "open", "acknowledged", "requested", "confirmed"];

/** Tasks as some time after a halt: each in another state, as `states` says in turn. */
export function haltedTasks(
  rows: readonly Pick<TaskRow, "id" | "server" | "agent" | "tool" | "phase">[],
  states: readonly HaltedTaskStateDto[],
  at: number,
): HaltedTaskDto[] {
  const tasks = rows.map((row, index): HaltedTaskDto => {
    const state = states[index % states.length] ?? "requested";
    const isKnown = state === "acknowledged" || state === "confirmed";
    return {
      id: row.id,
      server: row.server,
      agent: row.agent,
      tool: row.tool,
      state,
      evidence: row.phase,
      phase: state === "confirmed" ? "cancelled" : state === "open" ? "running" : "cancelling",
      askedAt: state === "open" ? null : iso(at),
      acknowledgedAt: isKnown ? iso(at + 400) : null,
      refused: state === "notConfirmed" && index % 2 === 0 ? "this tool cannot be cancelled" : null,
      endedAt: state === "confirmed" ? iso(at + 2_000) : null,
      held: state === "confirmed" && index % 5 === 0,
    };
  });
  return tasks.sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
}

export function haltOf(tasks: readonly HaltedTaskDto[], at: number, change: Partial<HaltDto> = {}): HaltShown {
  const counts = { requested: 0, acknowledged: 0, confirmed: 0, notConfirmed: 0, open: 0, beyondReach: 0 };
  for (const task of tasks) counts[task.state] += 1;
  // As the core does: a stage lifts what it lets begin again; the calls are lifted with the whole halt.
  const stages = change.steps?.map(({ stage }) => stage) ?? [];
  const inForce = (["calls", "running", "requests"] as const).filter(
    (effect) =>
      !(effect === "running" && stages.includes("acknowledged")) &&
      !(effect === "requests" && stages.includes("requests")),
  );
  const halt: HaltDto = {
    id: "hlt_1",
    at: iso(at),
    closedAt: iso(at + 4),
    orders: [
      {
        server: null,
        agent: null,
        tool: null,
        scope: ["calls", "running", "requests"],
        inForce,
        at: iso(at),
        by: "ada",
        reason: "order-bot writes the wrong month",
      },
    ],
    steps: [],
    nextStage: "acknowledged",
    confirmedTools: [],
    counts,
    tasks: tasks.slice(0, LISTED),
    ...change,
  };
  return { halt, unreadable: null };
}

/** A halt of the open tasks among these rows, some time later: the rows are as the halt says. */
export function haltedRows(
  rows: readonly TaskRow[],
  states: readonly HaltedTaskStateDto[],
  at: number,
): { rows: TaskRow[]; halt: HaltShown } {
  const tasks = haltedTasks(
    rows.filter((row) => !row.over),
    states,
    at,
  );
  const known = new Map(tasks.map((task) => [task.id, task]));
  const after = rows.map((row): TaskRow => {
    const task = known.get(row.id);
    if (task === undefined || task.state === "open") return row;
    const shared = { ...row, openRequests: 0, pausedSince: null, changedAt: task.askedAt ?? row.changedAt };
    if (task.state === "confirmed")
      return {
        ...shared,
        phase: "cancelled",
        group: "finished",
        over: true,
        status: "cancelled",
        statusMessage: null,
        progress: null,
        endedAt: task.endedAt,
        nextLookAt: null,
        stopState: "stopped",
      };
    return {
      ...shared,
      phase: "cancelling",
      group: "moving",
      stopState: task.refused !== null ? "refused" : task.state === "acknowledged" ? "acknowledged" : "asked",
    };
  });
  return { rows: after, halt: haltOf(tasks, at) };
}
