/* The filter in the address bar, and changing it. The address is the only state. */
import { readSearch, writeSearch, type FilterAddress } from "$lib/task-filter";
import { route } from "$lib/route.svelte";

export function filterAddress(): FilterAddress {
  return readSearch(route.place === "tasks" ? route.search : "");
}

/** Another filter, from the same view unless one is named. The open task stays open. */
export function setFilter(query: string, view: string | null = filterAddress().view): void {
  const search = writeSearch({ query, view });
  if (route.search !== search) route.go("tasks", route.id, search);
}

export function hrefOf(query: string, view: string | null): string {
  return route.href("tasks", null, writeSearch({ query, view }));
}
