/* A filter while it is typed: which words are conditions by now, which is still being typed, and what may follow it.
   Pure; the finished text is read by filter-text.ts. */
import { ALL_PHASES, GROUPS } from "$lib/task/phase";
import { NO_FILTER, type Filter } from "./filter";
import { formatFilter, orderedPhases, parseFilter, quoted, tokens } from "./filter-text";
import { FLAGS, flagWord, GROUPINGS, groupWord, phaseWord, SORTS } from "./words";

export interface Typed {
  /** The filter with what was typed so far. */
  readonly filter: Filter;
  /** What stays in the field: words, and conditions that are not finished or not right. */
  readonly text: string;
  readonly problems: readonly string[];
}

const KEYS = ["phase", "server", "agent", "tool", "is", "older", "changed", "group", "sort"] as const;
const CONDITION = new RegExp(`^(?:(?:${KEYS.join("|")}|age):|(?:age|changed)[<>])`, "i");

/** Takes typed text over a filter. The last word is not a condition before a blank follows it, or the person is done. */
export function takeTyped(filter: Filter, typed: string, isDone: boolean): Typed {
  const parts = tokens(typed);
  const isOpen = !isDone && !/\s$/.test(typed);
  const words: string[] = [];
  const problems: string[] = [];
  let next: Filter = filter;
  for (const [at, part] of parts.entries()) {
    const isPending = isOpen && at === parts.length - 1;
    const read = CONDITION.test(part) && !isPending ? parseFilter(part) : null;
    if (read === null) words.push(part);
    else if (read.problems.length > 0) {
      words.push(part);
      problems.push(...read.problems);
    } else next = merged(next, read.filter);
  }
  // What is not finished is no word to look for either.
  const text = words.filter((word) => !CONDITION.test(word)).join(" ");
  return { filter: { ...next, text: text.replace(/"/g, "") }, text: words.join(" "), problems };
}

/** Both: lists together, of the rest what was typed last. */
function merged(one: Filter, other: Filter): Filter {
  const both = <T>(key: readonly T[], more: readonly T[]) => [...new Set([...key, ...more])];
  return {
    phases: orderedPhases(both(one.phases, other.phases)),
    servers: both(one.servers, other.servers),
    agents: both(one.agents, other.agents),
    tools: both(one.tools, other.tools),
    flags: FLAGS.filter((flag) => one.flags.includes(flag) || other.flags.includes(flag)),
    text: one.text,
    changed: other.changed ?? one.changed,
    olderThanMs: other.olderThanMs ?? one.olderThanMs,
    groupBy: other.groupBy === NO_FILTER.groupBy ? one.groupBy : other.groupBy,
    sort: other.sort === NO_FILTER.sort ? one.sort : other.sort,
    reversed: other.sort === NO_FILTER.sort ? one.reversed : other.reversed,
  };
}

export interface Known {
  readonly servers: readonly string[];
  readonly agents: readonly string[];
  readonly tools: readonly string[];
}

/** Offers at most; more would wrap under the field. */
const OFFERED = 4;

/** What may take the place of the last word, as whole words of the filter's text. Before anything is typed, what people
 *  look for most, without what the filter has already. */
export function offers(typed: string, filter: Filter, known: Known): string[] {
  const last = lastOf(typed);
  const written = formatFilter(filter);
  const fitting = last === "" ? [] : [...valuesOf(last, known), ...keysOf(last)];
  const found = fitting.length > 0 || CONDITION.test(last) ? fitting : usual(known);
  return [...new Set(found)].filter((one) => one !== last && !written.split(" ").includes(one)).slice(0, OFFERED);
}

/** The typed text with an offer in the place of its last word, or behind it where that is a word to look for. */
export function withOffer(typed: string, offer: string): string {
  const last = lastOf(typed);
  const rest = completes(typed, offer) ? typed.slice(0, typed.length - last.length) : typed;
  const blank = rest === "" || /\s$/.test(rest) ? "" : " ";
  return `${rest}${blank}${offer}${offer.endsWith(":") ? "" : " "}`;
}

/** Whether an offer goes on with the last word. */
export function completes(typed: string, offer: string): boolean {
  const last = lastOf(typed);
  return last !== "" && (offer.startsWith(last.toLowerCase()) || CONDITION.test(last));
}

const lastOf = (typed: string) => (/\s$/.test(typed) ? "" : (tokens(typed).at(-1) ?? ""));

function usual(known: Known): string[] {
  const server = known.servers.length > 1 ? ["server:"] : [];
  const agent = known.agents.length > 1 ? ["agent:"] : [];
  return ["is:held", "is:needs-you", ...server, ...agent, "older:1h", "changed:today"];
}

function keysOf(last: string): string[] {
  return KEYS.map((key) => `${key}:`).filter((key) => key.startsWith(last.toLowerCase()));
}

function valuesOf(last: string, { servers, agents, tools }: Known): string[] {
  const pair = /^([a-z]+):(.*)$/is.exec(last);
  const key = (pair?.[1] ?? "").toLowerCase();
  const begun = (pair?.[2] ?? "").replace(/"/g, "").toLowerCase();
  const values: Readonly<Record<string, readonly string[]>> = {
    phase: [...GROUPS.map(groupWord), "open", ...ALL_PHASES.map(phaseWord)],
    server: servers,
    agent: agents,
    tool: tools,
    is: FLAGS.map(flagWord),
    older: ["10m", "1h", "1d", "1w"],
    changed: ["today"],
    group: GROUPINGS,
    sort: SORTS.flatMap((sort) => (["newest", "oldest", "changed"].includes(sort) ? [sort] : [sort, `-${sort}`])),
  };
  const starts = (values[key] ?? []).filter((value) => value.toLowerCase().startsWith(begun));
  const holds = (values[key] ?? []).filter((value) => value.toLowerCase().includes(begun) && !starts.includes(value));
  return [...starts, ...holds].map((value) => `${key}:${quoted(value)}`);
}
