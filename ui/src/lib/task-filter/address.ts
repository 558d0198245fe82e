/* The part of the address after `?`: `q` is the filter's text, `v` the view it came from. Pure. */
import { parseFilter, formatFilter } from "./filter-text";

export interface FilterAddress {
  readonly query: string;
  /** Name of the view it came from. */
  readonly view: string | null;
}

export function readSearch(search: string): FilterAddress {
  const parts = new URLSearchParams(search);
  return { query: formatFilter(parseFilter(parts.get("q") ?? "").filter), view: parts.get("v") };
}

/** Empty for everything. */
export function writeSearch({ query, view }: FilterAddress): string {
  const parts = new URLSearchParams();
  if (query !== "") parts.set("q", query);
  if (view !== null && view !== "All") parts.set("v", view);
  return parts.toString();
}
