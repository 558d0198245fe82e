/* A made-up halt: what it covers, and what became of its tasks. */
import type { HaltDto, HaltedTaskDto, HaltedTaskStateDto, HaltShown, RecoveryStageDto, TaskRow } from "$lib/bindings";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";

const STAGES: readonly RecoveryStageDto[] = ["acknowledged", "requests", "readOnly", "calls"];
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
  const counts = { requested: 0, acknowledged: 0, confirmed: 0, notConfirmed: 0, open: 0 };
  for (const task of tasks) counts[task.state] += 1;
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
        inForce: ["calls", "running", "requests"],
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

type HaltCalls = Pick<Answers, "halts.show" | "halts.start" | "halts.resume">;

export function haltCalls(state: CoreState): HaltCalls {
  const put = (halt: HaltShown) => {
    state.halt = halt;
    state.send({ halt });
    return halt;
  };
  return {
    "halts.show": () => state.halt,
    "halts.start": ({ reason, scope, servers, agents, tools }) => {
      const at = state.now();
      const isOf = (row: TaskRow) =>
        servers.length + agents.length + tools.length === 0 ||
        servers.includes(row.server) ||
        agents.includes(row.agent ?? "") ||
        tools.some((one) => one.server === row.server && one.tool === row.tool);
      const effects = scope.length === 0 ? (["calls", "running", "requests"] as const) : scope;
      const order = {
        tool: null,
        scope: [...effects],
        inForce: [...effects],
        at: iso(at),
        by: state.core.person,
        reason,
      };
      const orders = [
        ...servers.map((server) => ({ ...order, server, agent: null })),
        ...agents.map((agent) => ({ ...order, server: null, agent })),
        ...tools.map(({ server, tool }) => ({ ...order, server, agent: null, tool })),
      ];
      const held = state.halt.halt?.orders ?? [];
      const open = effects.includes("running") ? [...state.rows.values()].filter((row) => !row.over && isOf(row)) : [];
      const added = orders.length > 0 ? orders : [{ ...order, server: null, agent: null }];
      return put(haltOf(haltedTasks(open, ["requested"], at), at, { orders: [...held, ...added] }));
    },
    "halts.resume": ({ stage }) => {
      const { halt } = state.halt;
      if (halt === null || stage === "calls") return put({ halt: null, unreadable: null });
      const steps = [...halt.steps, { stage, at: iso(state.now()), by: state.core.person }];
      const lifted = stage === "acknowledged" ? "running" : stage === "requests" ? "requests" : null;
      const orders = halt.orders.map((order) => ({ ...order, inForce: order.inForce.filter((one) => one !== lifted) }));
      return put({ halt: { ...halt, steps, orders, nextStage: STAGES[steps.length] ?? null }, unreadable: null });
    },
  };
}
