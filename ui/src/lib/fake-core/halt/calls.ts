/* What a made-up core answers about a halt. */
import type { HaltedTaskDto, HaltShown, RecoveryStageDto, TaskRow } from "$lib/bindings";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";
import { haltedTasks, haltOf } from "./orders";

const STAGES: readonly RecoveryStageDto[] = ["acknowledged", "requests", "readOnly", "calls"];
type HaltCalls = Pick<Answers, "halts.show" | "halts.start" | "halts.retry" | "halts.resume">;

export function haltCalls(state: CoreState): HaltCalls {
  const put = (halt: HaltShown) => {
    state.halt = halt;
    state.send({ halt });
    return halt;
  };
  return {
    "halts.show": () => state.halt,
    "halts.start": ({ reason, scope = [], servers = [], agents = [], tools = [] }) => {
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
    "halts.retry": () => {
      const { halt } = state.halt;
      if (halt === null) return { asked: 0 };
      const isOpen = (task: HaltedTaskDto) => task.state === "notConfirmed";
      const asked = halt.counts.notConfirmed;
      const tasks = halt.tasks.map((task) => (isOpen(task) ? { ...task, state: "requested" as const } : task));
      const counts = { ...halt.counts, notConfirmed: 0, requested: halt.counts.requested + asked };
      put({ halt: { ...halt, tasks, counts }, unreadable: null });
      return { asked };
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
