/* What a made-up core answers about the token budgets of agents. */
import type {
  AgentToday,
  BudgetDto,
  ChartDto,
  ChartPoint,
  CostDto,
  PriceDto,
  PriceList,
  TodayDto,
} from "$lib/bindings";
import { CHOICES, labelOf, makeShown, makeWaste, windowAfter } from "./budgets";
import { missing, type Answers } from "./calls";
import type { CoreState } from "./core-state";
import { least, spentBetween } from "./tokens/history";

type BudgetCall = Extract<keyof Answers, `budgets.${string}`>;

export function budgetCalls(state: CoreState): Pick<Answers, BudgetCall> {
  const budget = (agent: string): BudgetDto => {
    const found = state.budgets.find((one) => one.agentId === agent || one.agent === agent);
    if (!found) throw missing(`agent \`${agent}\``);
    return found;
  };

  /** As it was before a person emptied its window: what was spent stays spent. */
  const spender = (agent: string): BudgetDto =>
    state.spending.find((one) => one.agentId === agent || one.agent === agent) ?? budget(agent);

  const priceList = (): PriceList => ({
    prices: [...state.prices],
    unpriced: [...new Set(state.budgets.flatMap((one) => one.model ?? []))]
      .filter((model) => !state.prices.some((one) => one.model === model))
      .map((model) => ({ model, label: labelOf(model) })),
  });

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
        modelLabel: model == null ? null : labelOf(model),
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
    "budgets.chart": ({ agent, starts }) => {
      const isGone = agent != null && !state.budgets.some((one) => one.agentId === agent || one.agent === agent);
      return makeChart(starts, state.now(), agent == null ? state.spending : isGone ? [] : [spender(agent)]);
    },
    "budgets.today": ({ since, agents }) => makeToday(state.spending, state.prices, since, agents ?? [], state.now()),
    "budgets.prices": () => priceList(),
    "budgets.setPrice": ({ model, input, output, currency }) => {
      const price = {
        model,
        label: labelOf(model),
        input,
        output,
        currency: currency.toUpperCase(),
        setAt: new Date(state.now()).toISOString(),
        setBy: "ada",
      };
      state.prices = [...state.prices.filter((one) => one.model !== model), price];
      return priceList();
    },
    "budgets.removePrice": ({ model }) => {
      state.prices = state.prices.filter((one) => one.model !== model);
      return priceList();
    },
    "budgets.waste": () => ({ servers: makeWaste() }),
    "budgets.choices": () => CHOICES,
  };
}

/** So many parts are drawn that each can have hours which nobody measured. */
export function makeChart(starts: readonly string[], now: number, budgets: readonly BudgetDto[]): ChartDto {
  const counted = budgets.filter((one) => one.now !== null);
  const exactness = least(counted.map((one) => one.now?.exactness ?? "exact"));
  const points = starts.map((at, index): ChartPoint => {
    const begin = Date.parse(at);
    const next = starts[index + 1];
    const { tokens, keptOut, messages, countedHours, hours } = spentBetween(
      counted,
      begin,
      next === undefined ? now + 1 : Date.parse(next),
      now,
    );
    const how = tokens === 0 ? "exact" : exactness;
    return {
      at,
      tokens,
      exactness: how,
      passed: tokens,
      passedExactness: how,
      keptOut,
      keptOutExactness: how,
      messages,
      countedHours,
      hours: Math.max(1, hours),
    };
  });
  const sum = (of: (point: ChartPoint) => number) => points.reduce((all, point) => all + of(point), 0);
  return {
    points,
    tokens: sum((point) => point.tokens),
    exactness,
    keptOut: sum((point) => point.keptOut),
    keptOutExactness: exactness,
    messages: sum((point) => point.messages),
  };
}

function costOf(budget: BudgetDto, tokens: number, prices: readonly PriceDto[]): CostDto | null {
  const price = prices.find((one) => one.model === budget.model);
  if (price === undefined) return null;
  return {
    currency: price.currency,
    micros: Math.ceil(tokens * 0.9 * Number(price.input) + tokens * 0.1 * Number(price.output)),
    exactness: budget.now?.exactness ?? "exact",
  };
}

export function makeToday(
  budgets: readonly BudgetDto[],
  prices: readonly PriceDto[],
  since: string,
  ids: readonly string[],
  now: number,
): TodayDto {
  const rows = budgets
    .filter((one) => one.now !== null)
    .map((one): AgentToday => {
      const { tokens, keptOut } = spentBetween([one], Date.parse(since), now + 1, now);
      const exactness = one.now?.exactness ?? "exact";
      const cost = costOf(one, tokens, prices);
      return {
        agentId: one.agentId,
        agent: one.agent,
        tokens,
        exactness,
        keptOut,
        keptOutExactness: exactness,
        cost,
        unpriced: cost !== null ? null : one.model === null ? "noModel" : "noPrice",
      };
    });
  const sum = (of: (row: AgentToday) => number) => rows.reduce((all, row) => all + of(row), 0);
  const [tokens, keptOut] = [sum((row) => row.tokens), sum((row) => row.keptOut)];
  const exactness = least(rows.map((row) => row.exactness));
  const currencies = [...new Set(rows.flatMap((row) => row.cost?.currency ?? []))].sort();
  const leftOut = rows.filter((row) => row.cost === null).map((row) => row.agent);
  return {
    since,
    tokens,
    exactness,
    keptOut,
    keptOutExactness: exactness,
    withoutTasks: tokens + keptOut,
    withoutTasksExactness: exactness,
    keptOutPercent: tokens + keptOut === 0 ? null : Math.round((100 * keptOut) / (tokens + keptOut)),
    costs: currencies.map((currency) => ({
      currency,
      micros: rows.reduce((all, row) => all + (row.cost?.currency === currency ? row.cost.micros : 0), 0),
      exactness,
    })),
    leftOut: leftOut.sort().slice(0, 3),
    leftOutCount: leftOut.length,
    agents: rows.filter((row) => ids.includes(row.agentId)),
  };
}
