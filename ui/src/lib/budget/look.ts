/* How a window stands, as bars and gauges show it: shares of its size, what is about to come in, what is free. Pure; one
   place, so that the screen of budgets, the inbox, the agents and the rail never differ. */
import type { BudgetDto, BudgetList, ExactnessDto, WindowDto } from "$lib/bindings";
import { least, shownParts, type ShownSource } from "$lib/model/tokens";

export interface StackPart {
  readonly source: ShownSource;
  /** Of the bar, in percent. */
  readonly width: number;
}

export interface StackLook {
  readonly parts: readonly StackPart[];
  /** What is about to come in, of the bar; 0 for nothing. */
  readonly soon: number;
  /** It does not fit. */
  readonly isOver: boolean;
}

export function stackOf(now: WindowDto | null, size: number, coming: number): StackLook {
  const inside = now?.tokens ?? 0;
  // Overfull bars keep their proportions and end at the edge.
  const whole = Math.max(size, inside, 1);
  const parts = (now === null ? [] : shownParts(now.sources)).filter((part) => part.tokens > 0).map((part) => ({ source: part.source, width: percentOf(part.tokens, whole) }));
  const left = Math.max(0, 100 - percentOf(inside, whole));
  return { parts, soon: coming > 0 ? Math.min(left, Math.max(SEEN_PERCENT, percentOf(coming, whole))) : 0, isOver: coming > 0 && inside + coming > size };
}
/** The least that the eye finds. */
const SEEN_PERCENT = 1;

const percentOf = (part: number, whole: number) => Math.round((10_000 * part) / whole) / 100;

/** How full it is, in whole percent rounded down; null where its size is not known or nothing was seen. */
export function usedPercent(budget: BudgetDto): number | null {
  if (budget.windowTokens === null || budget.windowTokens <= 0 || budget.now === null) return null;
  return Math.floor((100 * budget.now.tokens) / budget.windowTokens);
}

/** `warn`: the share at which the core tells people, in percent. */
export function isNearlyFull(budget: BudgetDto, warn: number): boolean {
  return (usedPercent(budget) ?? -1) >= warn;
}

/** Tokens that are known to be about to come in. */
export function comingTokens(budget: BudgetDto): number {
  return budget.coming.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
}

/** What is free at most; the rest of the conversation is not seen here. Null where the size is not known. */
export function freeTokens(budget: BudgetDto): number | null {
  return budget.windowTokens === null ? null : Math.max(0, budget.windowTokens - (budget.now?.tokens ?? 0));
}

/** The mark of what is free: below an upper bound there is at least so much, and above nothing is said. */
export function figuresOf(budget: BudgetDto): ExactnessDto {
  return budget.now?.exactness ?? budget.family.exactness;
}

/** All that flows into windows, a minute. */
export function burnOf(budgets: readonly BudgetDto[]): { readonly tokens: number; readonly exactness: ExactnessDto } {
  const burning = budgets.filter((one) => one.burnPerMinute > 0);
  return { tokens: burning.reduce((sum, one) => sum + one.burnPerMinute, 0), exactness: least(burning.map(figuresOf)) };
}

/** The fullest window among those that are nearly full; null for none. */
export function fullest(list: BudgetList | null): { readonly agent: string; readonly percent: number } | null {
  let best: { agent: string; percent: number } | null = null;
  for (const budget of list?.budgets ?? []) {
    const percent = usedPercent(budget);
    if (percent !== null && list !== null && percent >= list.warnPercent && percent > (best?.percent ?? -1)) best = { agent: budget.agent, percent };
  }
  return best;
}

/** The budget of an agent by its name; null where none is shown. */
export function budgetOf(budgets: readonly BudgetDto[] | undefined, agent: string | null): BudgetDto | null {
  return agent === null ? null : (budgets?.find((one) => one.agent === agent) ?? null);
}
