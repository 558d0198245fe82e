/* Addresses of the app: `#/inbox[/ID]`, `#/tasks[/HANDLE]`, `#/servers[/NAME]`, `#/settings`. Pure. */
export type Place = "inbox" | "tasks" | "servers" | "settings";
export interface Route {
  readonly place: Place;
  /** What is open there; null for none. */
  readonly id: string | null;
}

const PLACES: readonly Place[] = ["inbox", "tasks", "servers", "settings"];

/** Null when the address means nothing to us. */
export function readHash(hash: string): Route | null {
  const [, place = "", ...rest] = hash.replace(/^#/, "").split("/");
  const known = PLACES.find((one) => one === place);
  if (known === undefined) return null;
  const id = rest.join("/");
  return { place: known, id: id === "" ? null : decoded(id) };
}

export function writeHash(route: Route): string {
  return route.id === null ? `#/${route.place}` : `#/${route.place}/${encodeURIComponent(route.id)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
