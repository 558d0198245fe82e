/* What a made-up core answers about the token budgets of agents. */
import type { BudgetDto } from "$lib/bindings";
import { CHOICES, makeSeries, makeShown, makeWaste, windowAfter } from "./budgets";
import { missing, type Answers } from "./calls";
import type { CoreState } from "./core-state";

type BudgetCall = Extract<keyof Answers, `budgets.${string}`>;

export function budgetCalls(state: CoreState): Pick<Answers, BudgetCall> {
  const budget = (agent: string): BudgetDto => {
    const found = state.budgets.find((one) => one.agentId === agent || one.agent === agent);
    if (!found) throw missing(`agent \`${agent}\``);
    return found;
  };

  return {
    "budgets.list": () => state.budgetList(),
    "budgets.show": ({ agent }) => makeShown(budget(agent), state.now()),
    "budgets.set": ({ agent, model, family, windowTokens }) => {
      const held = budget(agent);
      const set = CHOICES.models.find((one) => one.name === model);
      const known = CHOICES.families.find((one) => one.id === (family ?? set?.family)) ?? held.family;
      state.budget(held.agentId, (one) => ({
        ...one,
        model: model ?? null,
        family: known,
        windowTokens: windowTokens ?? set?.windowTokens ?? null,
        windowFrom: windowTokens != null ? "set" : set ? "model" : null,
      }));
      return budget(agent);
    },
    "budgets.empty": ({ agent }) => {
      const { agentId } = budget(agent);
      state.budget(agentId, (one) => ({
        ...one,
        now: one.now === null ? null : windowAfter(one.now, state.now()),
        burnPerMinute: 0,
        fullInMs: null,
      }));
      return budget(agent);
    },
    "budgets.series": ({ agent, spanMs, stepMs }) => {
      // What an agent spent stays when it has no budget any more.
      const isGone = agent != null && state.agents.has(agent) && !state.budgets.some((one) => one.agentId === agent);
      const whose = agent == null ? state.budgets : isGone ? [] : [budget(agent)];
      return makeSeries(
        spanMs,
        stepMs,
        state.now(),
        Math.max(1, whose.length),
        isGone ? ["o200k"] : [...new Set(whose.map((one) => one.family.id))],
      );
    },
    "budgets.waste": () => ({ servers: makeWaste() }),
    "budgets.choices": () => CHOICES,
  };
}
