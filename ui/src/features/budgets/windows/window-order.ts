/* The order of the windows on the screen, and which of them a search finds. Pure. */
import type { BudgetDto } from "$lib/bindings";
import { textMatcher } from "$lib/text-match";

/** The first agents whose name matches. */
export function matchingNames<T extends { readonly name: string }>(
  all: readonly T[],
  typed: string,
  most: number,
): readonly T[] {
  const matches = textMatcher(typed);
  return all.filter((one) => matches(one.name)).slice(0, most);
}

/** Rows where they stood, new ones after them: what is sorted otherwise meanwhile does not move under a pointer. `places`:
    their agents as they stood; none for the order they come in. */
export function inStableOrder(places: readonly string[], budgets: readonly BudgetDto[]): readonly BudgetDto[] {
  const at = new Map(places.map((id, place) => [id, place]));
  const placeOf = (one: BudgetDto) => at.get(one.agentId) ?? places.length;
  return [...budgets].sort((one, other) => placeOf(one) - placeOf(other));
}

/** Those beyond the core's list that were looked up, at the end. */
export function mergeBudgets(
  listed: readonly BudgetDto[],
  looked: ReadonlyMap<string, BudgetDto>,
  ids: readonly string[],
): readonly BudgetDto[] {
  const wanted = new Set(ids);
  const known = listed.filter((one) => wanted.has(one.agentId));
  const have = new Set(known.map((one) => one.agentId));
  return [...known, ...ids.flatMap((id) => (have.has(id) ? [] : (looked.get(id) ?? [])))];
}
