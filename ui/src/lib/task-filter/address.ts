/* The part of the address after `?`: `q` is the filter's text, `v` the view it came from. Pure. */
import { read, write } from "./filter-text";

export interface Asked {
  readonly query: string;
  /** Name of the view it came from. */
  readonly view: string | null;
}

export function readSearch(search: string): Asked {
  const parts = new URLSearchParams(search);
  return { query: write(read(parts.get("q") ?? "").filter), view: parts.get("v") };
}

/** Empty for everything. */
export function writeSearch({ query, view }: Asked): string {
  const parts = new URLSearchParams();
  if (query !== "") parts.set("q", query);
  if (view !== null && view !== "All") parts.set("v", view);
  return parts.toString();
}
