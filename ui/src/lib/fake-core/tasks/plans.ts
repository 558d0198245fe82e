/* Made-up plans: which tasks a plan has, and what became of each, read from the rows whenever it is asked. */
import type { ApiError, BulkAct, BulkCounts, BulkResult, BulkTask, PlanShown, TaskRow } from "$lib/bindings";
import { missing, type Answers } from "../calls";
import type { CoreState } from "../core-state";
import { page } from "../query";
import { iso } from "../random";

interface Plan {
  readonly id: string;
  readonly kind: BulkAct;
  readonly tasks: readonly string[];
  readonly createdAt: string;
  operation: { id: string; reason: string | null; at: string; leftOut: ReadonlySet<string> } | null;
}
/** As `control.plan_valid` of the core. */
const VALID_MS = 15 * 60_000;
/** As `control.ids_shown` of the core. */
const IDS_SHOWN = 100;
/** As `page_rows_max` of the core. */
const PAGE = 1_000;

const isAsked = (row: TaskRow, kind: BulkAct): boolean =>
  row.phase === "revoked" || (kind === "cancel" && row.stopState !== null && row.stopState !== "refused");

const refused = (message: string, hint: string): ApiError => ({ code: "refused", message, hint });

type PlanCall = Extract<keyof Answers, `plans.${string}`>;

export function planCalls(
  state: CoreState,
  { "tasks.cancel": cancel, "tasks.revoke": revoke }: Pick<Answers, "tasks.cancel" | "tasks.revoke">,
): Pick<Answers, PlanCall> {
  const plans = new Map<string, Plan>();
  const find = (id: string): Plan => {
    const found = [...plans.values()].find((plan) => plan.id === id || plan.operation?.id === id);
    if (!found) throw missing(`plan \`${id}\``);
    return found;
  };

  function resultOf(plan: Plan, id: string): BulkResult {
    const row = state.rows.get(id);
    if (plan.operation === null) return "notAsked";
    if (plan.operation.leftOut.has(id)) return "endedMeanwhile";
    if (row === undefined || row.stopState === "refused") return "notConfirmed";
    if (row.phase === "cancelled" || row.stopState === "stopped") return "stopped";
    if (row.over) return "finishedAnyway";
    return row.stopState === "acknowledged" ? "acknowledged" : "asked";
  }

  function lineOf(plan: Plan, id: string): BulkTask {
    const row = state.rows.get(id);
    const result = resultOf(plan, id);
    const why = row?.stopState === "refused" && result === "notConfirmed" ? "this tool cannot be cancelled" : null;
    return { id, result, server: row?.server ?? null, agent: row?.agent ?? null, tool: row?.tool ?? null, why };
  }

  function shown(plan: Plan, offset: number): PlanShown {
    const counts: BulkCounts = {
      notAsked: 0,
      asked: 0,
      acknowledged: 0,
      stopped: 0,
      finishedAnyway: 0,
      notConfirmed: 0,
      endedMeanwhile: 0,
    };
    for (const id of plan.tasks) counts[resultOf(plan, id)] += 1;
    const { operation } = plan;
    return {
      planId: plan.id,
      kind: plan.kind,
      by: state.core.person,
      filter: "by handle",
      count: plan.tasks.length,
      createdAt: plan.createdAt,
      expiresAt: iso(Date.parse(plan.createdAt) + VALID_MS),
      operation: operation && {
        id: operation.id,
        by: state.core.person,
        reason: operation.reason,
        begunAt: operation.at,
        endedAt: operation.at,
        cutShort: null,
        settled: counts.asked + counts.acknowledged + counts.notAsked === 0,
        counts,
      },
      tasks: plan.tasks.slice(offset, offset + PAGE).map((id) => lineOf(plan, id)),
      next: offset + PAGE < plan.tasks.length ? offset + PAGE : null,
    };
  }

  return {
    "plans.make": ({ kind, ids, query, filter }) => {
      const ofAgent = [...state.rows.values()].filter((row) => row.agent === filter?.agent);
      const named = filter ? ofAgent : (ids ?? []).flatMap((id) => state.rows.get(id) ?? []);
      const found = query ? page(state.rows.values(), query, null, state.now(), state.hidden) : named;
      const open = found.filter((row) => !row.over);
      const tasks = open.filter((row) => !isAsked(row, kind)).map((row) => row.id);
      const excluded = [
        { why: "alreadyOver" as const, count: found.length - open.length },
        { why: "alreadyAsked" as const, count: open.length - tasks.length },
      ].filter(({ count }) => count > 0);
      if (tasks.length === 0) throw refused("no open task matches", "Nothing was asked.");
      const id = `pln_${plans.size + 1}`;
      const createdAt = iso(state.now());
      plans.set(id, { id, kind, tasks, createdAt, operation: null });
      const expiresAt = iso(state.now() + VALID_MS);
      return { planId: id, kind, count: tasks.length, handles: tasks.slice(0, IDS_SHOWN), excluded, expiresAt };
    },
    "plans.run": async ({ planId, reason }) => {
      const plan = find(planId);
      if (plan.operation !== null)
        throw refused(`the plan was run before, as ${plan.operation.id}`, "A plan is run once.");
      const over = plan.tasks.filter((id) => state.rows.get(id)?.over ?? true);
      const left = plan.tasks.filter((id) => !over.includes(id));
      if (left.length === 0) throw refused("every task of the plan has ended meanwhile", "Nothing was asked.");
      const id = `opn_${planId.slice("pln_".length)}`;
      plan.operation = { id, reason: reason ?? null, at: iso(state.now()), leftOut: new Set(over) };
      await cancel({ ids: left, reason: reason ?? null, wait: false });
      if (plan.kind === "revoke") for (const task of left) await revoke({ id: task, reason: reason ?? null });
      return {
        operation: id,
        asked: left.length,
        left: 0,
        refused: over.map((task) => ({ id: task, why: "it ended meanwhile" })),
        cutShort: null,
      };
    },
    "plans.show": ({ id, offset }) => shown(find(id), offset ?? 0),
  };
}
