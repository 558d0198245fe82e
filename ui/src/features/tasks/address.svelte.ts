/* The filter in the address bar, and changing it; and the plan whose results lie over the list. The address is the only
   state. */
import { formatFilter, parseFilter, readSearch, writeSearch, type FilterAddress } from "$lib/task-filter";
import { route } from "$lib/route.svelte";

export function filterAddress(): FilterAddress {
  return readSearch(route.place === "tasks" ? route.search : "");
}

/** Another filter, from the same view unless one is named. The open task stays open. */
export function setFilter(query: string, view: string | null = filterAddress().view): void {
  const search = writeSearch({ query, view });
  if (route.search === search) return;
  // More letters of the same words are the same step: *back* leads out of the search, not through its letters.
  if (isTyping(filterAddress().query, query)) route.replace("tasks", route.id, search);
  else route.go("tasks", route.id, search);
}

function isTyping(before: string, after: string): boolean {
  const [was, is] = [parseFilter(before).filter, parseFilter(after).filter];
  return was.text !== "" && formatFilter({ ...was, text: "" }) === formatFilter({ ...is, text: "" });
}

export function hrefOf(query: string, view: string | null): string {
  return route.href("tasks", null, writeSearch({ query, view }));
}

/** The plan whose results lie over the list; null for none. */
export function planAddress(): string | null {
  return route.place === "tasks" ? new URLSearchParams(route.search).get("plan") : null;
}

/** The same list with the results of this plan over it, or without. It is a step: *back* shows them again. */
export function showPlan(plan: string | null): void {
  route.go("tasks", route.id, searchOf(plan));
}

/** From the results of a plan to one of its tasks. */
export function openTask(id: string): void {
  route.go("tasks", id, searchOf(null));
}

function searchOf(plan: string | null): string {
  const parts = new URLSearchParams(route.search);
  if (plan === null) parts.delete("plan");
  else parts.set("plan", plan);
  return parts.toString();
}
