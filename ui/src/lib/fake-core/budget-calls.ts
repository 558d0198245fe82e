/* What a made-up core answers about the token budgets of agents. */
import type {
  AgentToday,
  BudgetDto,
  ChartDto,
  ChartPoint,
  CostDto,
  ExactnessDto,
  PriceDto,
  PriceList,
  TodayDto,
} from "$lib/bindings";
import { CHOICES, labelOf, makeSeries, makeShown, makeWaste, windowAfter } from "./budgets";
import { missing, type Answers } from "./calls";
import type { CoreState } from "./core-state";
import { chance, iso } from "./random";

type BudgetCall = Extract<keyof Answers, `budgets.${string}`>;

export function budgetCalls(state: CoreState): Pick<Answers, BudgetCall> {
  const budget = (agent: string): BudgetDto => {
    const found = state.budgets.find((one) => one.agentId === agent || one.agent === agent);
    if (!found) throw missing(`agent \`${agent}\``);
    return found;
  };

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
    "budgets.chart": ({ agent, starts }) => {
      const seed = agent == null ? Math.min(9, state.budgets.length) : agent.length % 5;
      return makeChart(starts, state.now(), seed);
    },
    "budgets.today": ({ since, agents }) => makeToday(state.budgets, state.prices, since, agents ?? []),
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

const HOUR = 3_600_000;
const EXACTNESS: readonly ExactnessDto[] = ["exact", "about", "atMost"];
const least = (parts: readonly ExactnessDto[]): ExactnessDto =>
  EXACTNESS[Math.max(0, ...parts.map((one) => EXACTNESS.indexOf(one)))] ?? "exact";

/** Busy by day and quiet by night; some parts were not measured, one of them in part. */
export function makeChart(starts: readonly string[], now: number, seed: number): ChartDto {
  const roll = chance(seed + 3);
  const exactness: ExactnessDto = seed === 0 ? "exact" : "about";
  const points = starts.map((at, index): ChartPoint => {
    const begin = Date.parse(at);
    const end = Math.min(Date.parse(starts[index + 1] ?? iso(begin + HOUR)), now + HOUR);
    const hours = Math.max(1, Math.round((end - begin) / HOUR));
    const isGap = starts.length > 10 && (index % 13 === 5 || index % 13 === 6);
    const day = new Date(begin).getUTCHours();
    const busy = seed === 0 || isGap ? 0 : roll() * (day > 6 && day < 20 ? 1 : hours > 6 ? 0.9 : 0.12) * hours;
    const tokens = Math.round(9_000 * seed * busy);
    return {
      at,
      tokens,
      exactness: tokens === 0 ? "exact" : exactness,
      passed: Math.round(tokens * 1.3),
      passedExactness: "exact",
      keptOut: Math.round(tokens * 0.45 * roll()),
      keptOutExactness: tokens === 0 ? "exact" : exactness,
      messages: Math.round(30 * busy),
      countedHours: isGap ? 0 : index === 4 && hours > 1 ? hours - 1 : hours,
      hours,
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
): TodayDto {
  const rows = budgets
    .filter((one) => one.now !== null)
    .map((one): AgentToday => {
      const tokens = Math.round((one.now?.tokens ?? 0) * 0.6);
      const exactness = one.now?.exactness ?? "exact";
      const cost = costOf(one, tokens, prices);
      return {
        agentId: one.agentId,
        agent: one.agent,
        tokens,
        exactness,
        keptOut: Math.round(tokens * 0.43),
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
