/* The first lines of the screen: which window is fullest, and which result would fill one next. Pure; every figure is the
   core's, and shares are made by the one place that makes them. */
import type { BudgetDto, ComingDto, CostDto, ExactnessDto } from "$lib/bindings";
import { capacityOf, windowFill, type WindowFill } from "$lib/budget/window-fill";
import { least, percent } from "$lib/format/tokens";

export interface Fullest {
  readonly budget: BudgetDto;
  readonly fill: WindowFill;
}

/** The window nearest to what it may hold; null where none is known. */
export function fullestOf(budgets: readonly BudgetDto[]): Fullest | null {
  let best: Fullest | null = null;
  for (const budget of budgets) {
    const fill = windowFill(budget);
    if (fill === null) continue;
    if (best === null || rank(fill) > rank(best.fill)) best = { budget, fill };
  }
  return best;
}
const rank = (fill: WindowFill): number => (fill.wasFull ? 101 : fill.percent);

export interface NextToFill {
  readonly budget: BudgetDto;
  readonly result: ComingDto;
  readonly tokens: number;
  /** "66 %", of what it may hold; null where it does not fit. */
  readonly share: string | null;
}

/** The result that would fill a window most when it comes in. */
export function nextToFill(budgets: readonly BudgetDto[]): NextToFill | null {
  let best: (NextToFill & { part: number }) | null = null;
  for (const budget of budgets) {
    const most = capacityOf(budget);
    if (most === null || budget.now === null || budget.now.fullTimes > 0) continue;
    for (const result of budget.coming) {
      if (result.tokens === null) continue;
      const after = budget.now.tokens + result.tokens;
      const part = after / most.tokens;
      if (best !== null && part <= best.part) continue;
      const how: ExactnessDto = least([budget.now.exactness, result.exactness]);
      best = { budget, result, tokens: result.tokens, part, share: part > 1 ? null : percent(after, most.tokens, how) };
    }
  }
  return best;
}

/** "≈ $0.16": to the cent, and below ten cents to two figures, so that something is never shown as nothing. */
export function money(cost: CostDto): string {
  const value = cost.micros / 1_000_000;
  const mark = cost.micros === 0 ? "" : { exact: "", about: "≈ ", atMost: "≤ " }[cost.exactness];
  const digits = value > 0 && value < 0.095 ? { maximumSignificantDigits: 2 } : {};
  return `${mark}${new Intl.NumberFormat("en-GB", {
    style: "currency",
    currency: cost.currency,
    currencyDisplay: "narrowSymbol",
    ...digits,
  }).format(value)}`;
}
