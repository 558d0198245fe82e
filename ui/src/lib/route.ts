/* Addresses of the app: `#/inbox[/ID]`, `#/tasks[/HANDLE][?FILTER]`, `#/servers[/NAME]`, `#/agents[/ID]`, `#/budgets[/ID]`,
   `#/audit[/ROW][?FILTER]`, `#/settings[/PART]`, `#/help[/PART]`, `#/halt[/new]`, `#/start[/STEP]`. Pure. */
export type Place =
  "inbox" | "tasks" | "servers" | "agents" | "budgets" | "audit" | "settings" | "help" | "halt" | "start";
export interface Route {
  readonly place: Place;
  /** What is open there; null for none. */
  readonly id: string | null;
  /** What follows `?`: how the place is filtered. Its meaning is the place's. */
  readonly search: string;
}

const PLACES: readonly Place[] = [
  "inbox",
  "tasks",
  "servers",
  "agents",
  "budgets",
  "audit",
  "settings",
  "help",
  "halt",
  "start",
];

/** Null when the address means nothing to us. */
export function readHash(hash: string): Route | null {
  const [path = "", ...search] = hash.replace(/^#/, "").split("?");
  const [, place = "", ...rest] = path.split("/");
  const known = PLACES.find((one) => one === place);
  if (known === undefined) return null;
  const id = rest.join("/");
  return { place: known, id: id === "" ? null : decoded(id), search: search.join("?") };
}

export function writeHash(route: Route): string {
  const search = route.search === "" ? "" : `?${route.search}`;
  return route.id === null ? `#/${route.place}${search}` : `#/${route.place}/${encodeURIComponent(route.id)}${search}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
