/* Views: a name for a filter. Those of the system, and a person's own from the desk (kind `view`, value `{query}`).
   A view is its text, so that it can be stored, linked and compared. Pure. */
import type { DeskItem, Phase, Totals } from "$lib/bindings";
import { read, write } from "./text";

export interface View {
  readonly name: string;
  /** Canonical text of its filter. */
  readonly query: string;
  readonly own: boolean;
}

const system = (name: string, query: string): View => ({ name, query: write(read(query).filter), own: false });

export const EVERYTHING = system("All", "");
export const SYSTEM_VIEWS: readonly View[] = [
  EVERYTHING,
  system("Needs you", "phase:needsYou"),
  system("Working", "phase:running,answering"),
  system("Cancelling", "phase:cancelling"),
  system("No news", "phase:silent"),
  system("Later than agreed", "phase:overdue"),
  system("Agent gone", "is:orphaned"),
  system("Result held", "is:held"),
  system("Failed today", "phase:failed,doneWithError changed:today"),
  system("Finished today", "phase:finished changed:today"),
];

export function ownViews(items: readonly DeskItem[]): View[] {
  return items
    .filter((item) => item.kind === "view")
    .map((item) => ({ name: item.key, query: queryOf(item.value), own: true }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}

function queryOf(value: unknown): string {
  const query = typeof value === "object" && value !== null && "query" in value ? value.query : "";
  return write(read(typeof query === "string" ? query : "").filter);
}

/** How many tasks it holds, where the totals know it: a view of phases alone. Null where only a query could tell. */
export function countOf(view: View, totals: Totals | null): number | null {
  if (totals === null) return null;
  if (view.query === "") return totals.all;
  const { filter } = read(view.query);
  const plain = write({ ...filter, phases: [], groupBy: "need", sort: "newest" }) === "";
  return plain ? countPhases(filter.phases, totals) : null;
}

function countPhases(phases: readonly Phase[], totals: Totals): number {
  return phases.reduce((sum, phase) => sum + (totals.byPhase[phase] ?? 0), 0);
}

/** Where the filter came from and whether it was changed since. */
export function standing(views: readonly View[], base: string | null, query: string): { view: View; edited: boolean } {
  const named = views.find((view) => view.name === base);
  const same = named?.query === query ? named : views.find((view) => view.query === query);
  if (same) return { view: same, edited: false };
  return { view: named ?? EVERYTHING, edited: true };
}

/** A name for a new view that none has yet; null when the name cannot be. */
export function nameProblem(name: string, views: readonly View[]): string | null {
  const bare = name.trim();
  if (bare === "") return "Give the view a name.";
  if (bare.length > 60) return "A name has at most 60 characters.";
  if (views.some((view) => !view.own && view.name.toLowerCase() === bare.toLowerCase())) return `\`${bare}\` is a view of Taskwarden. Choose another name.`;
  return null;
}

