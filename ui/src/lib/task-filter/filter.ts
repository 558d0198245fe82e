/* What a person filters tasks by. It differs from the wire's `ListQuery` in one way: "today" stays "today" until it
   is asked, because a query in milliseconds would move through midnight. Pure; the text form is in filter-text.ts. */
import type { Flag, ListQuery, Phase } from "$lib/bindings";

export type Changed = { readonly kind: "today" } | { readonly kind: "within"; readonly ms: number };

export interface Filter {
  readonly phases: readonly Phase[];
  readonly servers: readonly string[];
  readonly agents: readonly string[];
  readonly tools: readonly string[];
  readonly flags: readonly Flag[];
  readonly text: string;
  readonly changed: Changed | null;
  readonly olderThanMs: number | null;
  readonly groupBy: ListQuery["groupBy"];
  readonly sort: ListQuery["sort"];
  /** By a column, the last value first. */
  readonly reversed: boolean;
}

export const NO_FILTER: Filter = {
  phases: [],
  servers: [],
  agents: [],
  tools: [],
  flags: [],
  text: "",
  changed: null,
  olderThanMs: null,
  groupBy: "need",
  sort: "newest",
  reversed: false,
};

/** A condition of the filter; order and grouping are none. */
export type ConditionKey = "phases" | "servers" | "agents" | "tools" | "flags" | "text" | "changed" | "olderThanMs";
export const CONDITIONS: readonly ConditionKey[] = [
  "phases",
  "servers",
  "agents",
  "tools",
  "flags",
  "text",
  "changed",
  "olderThanMs",
];

export function conditions(filter: Filter): ConditionKey[] {
  return CONDITIONS.filter((key) => isSet(filter, key));
}

function isSet(filter: Filter, key: ConditionKey): boolean {
  const value = filter[key];
  return typeof value === "string" || Array.isArray(value) ? value.length > 0 : value !== null;
}

export function withoutCondition(filter: Filter, key: ConditionKey): Filter {
  return { ...filter, [key]: NO_FILTER[key] };
}

/** Only the conditions taken away; how it is grouped and sorted stays. */
export function withoutConditions(filter: Filter): Filter {
  return { ...NO_FILTER, groupBy: filter.groupBy, sort: filter.sort, reversed: filter.reversed };
}

/** What is asked of the core now. */
export function toListQuery(filter: Filter, now: number): ListQuery {
  return {
    phases: [...filter.phases],
    servers: [...filter.servers],
    agents: [...filter.agents],
    tools: [...filter.tools],
    flags: [...filter.flags],
    text: filter.text === "" ? null : filter.text,
    changedWithinMs:
      filter.changed === null ? null : filter.changed.kind === "within" ? filter.changed.ms : sinceMidnight(now),
    olderThanMs: filter.olderThanMs,
    groupBy: filter.groupBy,
    sort: filter.sort,
    ...(filter.reversed ? { reversed: true } : {}),
  };
}

/** Up to the end of this minute, so that the query stays equal for a minute and never leaves out a task of today. */
function sinceMidnight(now: number): number {
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  const MINUTE = 60_000;
  return Math.max(MINUTE, Math.ceil((now - midnight.getTime()) / MINUTE) * MINUTE);
}

export function toggled<T>(list: readonly T[], item: T): readonly T[] {
  return list.includes(item) ? list.filter((one) => one !== item) : [...list, item];
}
