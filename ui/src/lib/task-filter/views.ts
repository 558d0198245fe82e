/* Views: a name for a filter. Those of the system, and a person's own from the desk (kind `view`, value `{query}`).
   A view is its text, so that it can be stored, linked and compared. Pure. */
import type { DeskItem, TaskFigures, Totals } from "$lib/bindings";
import { TASKS } from "$lib/text/tasks";
import { parseFilter, formatFilter } from "./filter-text";

export interface View {
  readonly name: string;
  /** Canonical text of its filter. */
  readonly query: string;
  readonly own: boolean;
  /** The figure that counts exactly its tasks; null where the core counts the query itself. */
  readonly figure: keyof TaskFigures | null;
}

const system = (name: string, query: string, figure: keyof TaskFigures | null): View => ({
  name,
  query: formatFilter(parseFilter(query).filter),
  own: false,
  figure,
});

export const ALL_VIEW = system("All", "", "all");
export const SYSTEM_VIEWS: readonly View[] = [
  ALL_VIEW,
  system("Open", "phase:open", "open"),
  system("Needs you", "is:needsYou", "needsYou"),
  system("Working", "phase:running,answering", "working"),
  system("Cancelling", "phase:cancelling", "cancelling"),
  system("No news", "phase:noNews", "noNews"),
  system("Late", "phase:overdue", "late"),
  system("Agent gone", "is:orphaned", "gone"),
  system("Result held", "is:held", "held"),
  system("Failed today", "phase:failed,doneWithError changed:today", null),
  system("Ended today", "phase:finished changed:today", null),
];

export function ownViews(items: readonly DeskItem[]): View[] {
  return items
    .filter((item) => item.kind === "view")
    .map((item) => ({ name: item.key, query: queryOf(item.value), own: true, figure: null }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}

function queryOf(value: unknown): string {
  const query = typeof value === "object" && value !== null && "query" in value ? value.query : "";
  return formatFilter(parseFilter(typeof query === "string" ? query : "").filter);
}

/** How many tasks it holds: the figure of that name, or what the core counted for its query; null while that is not known. */
export function countOf(view: View, totals: Totals | null, counted: ReadonlyMap<string, number>): number | null {
  if (view.figure !== null) return totals?.figures[view.figure] ?? null;
  return counted.get(view.query) ?? null;
}

/** Where the filter came from and whether it was changed since. */
export function currentView(
  views: readonly View[],
  base: string | null,
  query: string,
): { view: View; edited: boolean } {
  const named = views.find((view) => view.name === base);
  const same = named?.query === query ? named : views.find((view) => view.query === query);
  if (same) return { view: same, edited: false };
  return { view: named ?? ALL_VIEW, edited: true };
}

/** A name for a new view that none has yet; null when the name cannot be. */
export function nameProblem(name: string, views: readonly View[]): string | null {
  const bare = name.trim();
  if (bare === "") return TASKS.viewName.missing;
  if (bare.length > 60) return TASKS.viewName.tooLong;
  if (views.some((view) => !view.own && view.name.toLowerCase() === bare.toLowerCase()))
    return TASKS.viewName.taken(bare);
  return null;
}
