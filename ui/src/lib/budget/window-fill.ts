/* How full a window is, for bars and gauges: shares of its capacity, pending results, free tokens.
   Pure; one place, so that budgets, inbox, agents and the rail never differ. */
import type { BudgetDto, BudgetList, ExactnessDto, WindowDto } from "$lib/bindings";
import { least, percent as percentShown, roughly, shownParts, type ShownSource } from "$lib/format/tokens";

export interface StackPart {
  readonly source: ShownSource;
  /** Of the bar, in percent. */
  readonly width: number;
}

export interface SourceStackParts {
  readonly parts: readonly StackPart[];
  /** What is about to come in, of the bar; 0 for nothing. */
  readonly soon: number;
  /** It does not fit. */
  readonly isOver: boolean;
  /** Where the limit stands in the bar, in percent of it; null where its end is the limit. */
  readonly limit: number | null;
}

/** `size`: what the bar is drawn over; `limit`: what must not be passed, where that is another number. */
export function sourceStack(
  now: WindowDto | null,
  size: number,
  coming: number,
  limit: number | null = null,
): SourceStackParts {
  const inside = now?.tokens ?? 0;
  // Overfull bars keep their proportions and end at the edge.
  const whole = Math.max(size, inside, 1);
  const parts = (now === null ? [] : shownParts(now.sources))
    .filter((part) => part.tokens > 0)
    .map((part) => ({ source: part.source, width: percentOf(part.tokens, whole) }));
  const left = Math.max(0, 100 - percentOf(inside, whole));
  const most = Math.min(size, limit ?? size);
  return {
    parts,
    soon: coming > 0 ? Math.min(left, Math.max(SEEN_PERCENT, percentOf(coming, whole))) : 0,
    isOver: coming > 0 && inside + coming > most,
    limit: most < whole && limit !== null ? percentOf(most, whole) : null,
  };
}
/** The least that the eye finds. */
const SEEN_PERCENT = 1;

const percentOf = (part: number, whole: number) => Math.round((10_000 * part) / whole) / 100;

export interface Capacity {
  readonly tokens: number;
  /** It is the limit that a rule sets; otherwise the size of the window. */
  readonly isLimit: boolean;
}

/** What must not be passed, as the core sorts by it: the limit of the window, or its size where that is lower or alone. Null
    where neither is known. */
export function capacityOf({ windowTokens, limit }: BudgetDto): Capacity | null {
  if (limit !== null && (windowTokens === null || limit.tokens < windowTokens))
    return { tokens: limit.tokens, isLimit: true };
  return windowTokens === null ? null : { tokens: windowTokens, isLimit: false };
}

/** What the bar of a window is drawn over: its size, else its limit. Null where neither is known. */
export const barTokens = (budget: BudgetDto): number | null => budget.windowTokens ?? budget.limit?.tokens ?? null;

export interface WindowFill {
  /** Of what it may hold, rounded down: 100 from where it is full. */
  readonly percent: number;
  /** With its mark. */
  readonly shown: string;
  /** What it may hold is the limit that a rule sets. */
  readonly isLimit: boolean;
  /** It took in more than it holds: its program compacted it, or it is another conversation. */
  readonly wasFull: boolean;
}

/** What stands in a window: never more than its size. */
export const tokensInWindow = (window: WindowDto, size: number | null): number =>
  Math.min(window.tokens, size ?? Number.POSITIVE_INFINITY);

/** How full it is, of what it may hold; null where that is not known or nothing was seen. */
export function windowFill(budget: BudgetDto): WindowFill | null {
  const most = capacityOf(budget);
  if (most === null || most.tokens <= 0 || budget.now === null) return null;
  const tokens = Math.min(budget.now.tokens, most.tokens);
  const wasFull = budget.now.fullTimes > 0;
  const shown = percentShown(tokens, most.tokens, exactnessOf(budget));
  return {
    percent: Math.floor((100 * tokens) / most.tokens),
    shown: wasFull ? `${shown}\u00A0+` : shown,
    isLimit: most.isLimit,
    wasFull,
  };
}

/** `warn`: the share at which the core tells people, in percent. */
export function isNearlyFull(budget: BudgetDto, warn: number): boolean {
  return (windowFill(budget)?.percent ?? -1) >= warn;
}

/** Nothing more fits. */
export const isFull = (budget: BudgetDto): boolean => isNearlyFull(budget, 100);

/** Tokens that are known to be about to come in. */
export function pendingTokens(budget: BudgetDto): number {
  return budget.coming.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
}

/** What is free at most, below the limit too; the rest of the conversation is not seen here. Null where neither is known. */
export function freeTokens(budget: BudgetDto): number | null {
  const most = capacityOf(budget);
  return most === null ? null : Math.max(0, most.tokens - (budget.now?.tokens ?? 0));
}

/** How exact the figures of a window are. */
export function exactnessOf(budget: BudgetDto): ExactnessDto {
  return budget.now?.exactness ?? budget.family.exactness;
}

/** How exact what is free is. */
export const freeExactness = (budget: BudgetDto): ExactnessDto => roughly(exactnessOf(budget));

export interface BurnRate {
  /** Tokens a minute. */
  readonly tokens: number;
  readonly exactness: ExactnessDto;
  /** The tokenizers that are summed, for people. */
  readonly families: readonly string[];
}

/** All that flows into windows, a minute. */
export function burnRateOf(budgets: readonly BudgetDto[]): BurnRate {
  const burning = budgets.filter((one) => one.burnPerMinute > 0);
  return {
    tokens: burning.reduce((sum, one) => sum + one.burnPerMinute, 0),
    exactness: least(burning.map(exactnessOf)),
    families: [...new Set(burning.map((one) => one.family.label))],
  };
}

export interface AgentGauge extends WindowFill {
  readonly agent: string;
  readonly agentId: string;
  readonly isNear: boolean;
}

/** The windows nearest to their limit, by name, so that two that fill alike do not change places all the time. */
export function gaugesOf(list: BudgetList | null, most = GAUGES_MOST): readonly AgentGauge[] {
  const all = (list?.budgets ?? []).flatMap((budget): AgentGauge[] => {
    const full = windowFill(budget);
    return full === null
      ? []
      : [
          {
            ...full,
            agent: budget.agent,
            agentId: budget.agentId,
            isNear: isNearlyFull(budget, list?.warnPercent ?? 100),
          },
        ];
  });
  const nearest = all.sort((one, other) => other.percent - one.percent).slice(0, most);
  return nearest.sort((one, other) => one.agent.localeCompare(other.agent) || one.agentId.localeCompare(other.agentId));
}

/** As many as find room under their place in the rail. Judgement. */
const GAUGES_MOST = 3;

/** The fullest window among those that are nearly full; null for none. */
export function fullest(list: BudgetList | null): AgentGauge | null {
  const [first] = gaugesOf(list, 1);
  return first?.isNear ? first : null;
}

/** The budget of an agent by its name; null where none is shown. */
export function budgetOf(budgets: readonly BudgetDto[] | undefined, agent: string | null): BudgetDto | null {
  return agent === null ? null : (budgets?.find((one) => one.agent === agent) ?? null);
}
