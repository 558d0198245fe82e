/* The filter as one line of text and back:
   `phase:working,moving server:ci agent:"my agent" tool:deploy is:agent-gone older:10m changed<24h changed:today group:server sort:-task words`.
   What is written is canonical: two filters are the same when their texts are. It never throws; what cannot be read is told. */
import type { Flag, Phase, PhaseGroup } from "$lib/bindings";
import { ALL_PHASES, GROUPS } from "$lib/task/phase";
import { TASKS } from "$lib/text/tasks";
import { NO_FILTER, type Filter } from "./filter";
import { GROUP_PHASES, OPEN_PHASES } from "./phases";
import { readSpan, writeSpan } from "./time-span";
import { FLAGS, flagWord, GROUPINGS, groupWord, phaseWord, readFlag, readGroup, readPhase, SORTS } from "./words";

const { problem } = TASKS.filter;

export interface ParsedFilter {
  readonly filter: Filter;
  /** What could not be read, one sentence each; the rest counts nevertheless. */
  readonly problems: readonly string[];
}

/** Longer lines are cut (judgement: a filter of 2,000 characters is a paste). */
const LONGEST = 2_000;
/** Values of one kind at most. */
const MOST = 50;
const LISTS = { server: "servers", agent: "agents", tool: "tools" } as const;

export function parseFilter(text: string): ParsedFilter {
  const problems: string[] = [];
  const words: string[] = [];
  let filter = NO_FILTER;
  for (const token of tokens(text.slice(0, LONGEST))) {
    const next = term(filter, token, problems);
    if (next === null) words.push(unquoted(token));
    else filter = next;
  }
  return { filter: { ...filter, phases: orderedPhases(filter.phases), text: words.join(" ").trim() }, problems };
}

export function formatFilter(filter: Filter): string {
  const parts: string[] = [];
  if (filter.phases.length > 0) parts.push(`phase:${phaseWords(filter.phases).join(",")}`);
  if (filter.servers.length > 0) parts.push(`server:${[...filter.servers].sort().map(quoted).join(",")}`);
  if (filter.agents.length > 0) parts.push(`agent:${[...filter.agents].sort().map(quoted).join(",")}`);
  if (filter.tools.length > 0) parts.push(`tool:${[...filter.tools].sort().map(quoted).join(",")}`);
  if (filter.flags.length > 0)
    parts.push(
      `is:${FLAGS.filter((flag) => filter.flags.includes(flag))
        .map(flagWord)
        .join(",")}`,
    );
  if (filter.olderThanMs !== null) parts.push(`older:${writeSpan(filter.olderThanMs)}`);
  if (filter.changed !== null)
    parts.push(filter.changed.kind === "today" ? "changed:today" : `changed<${writeSpan(filter.changed.ms)}`);
  if (filter.groupBy !== NO_FILTER.groupBy) parts.push(`group:${filter.groupBy}`);
  if (filter.sort !== NO_FILTER.sort) parts.push(`sort:${filter.reversed ? "-" : ""}${filter.sort}`);
  if (filter.text !== "") parts.push(isPlain(filter.text) ? filter.text : `"${filter.text.replace(/"/g, "")}"`);
  return parts.join(" ");
}

/** Null when the token is a word to look for. */
function term(filter: Filter, token: string, problems: string[]): Filter | null {
  const span = /^(age|changed)([<>])(.+)$/i.exec(token);
  if (span)
    return spanTerm(
      filter,
      { key: (span[1] ?? "").toLowerCase(), sign: span[2] ?? "", value: span[3] ?? "" },
      problems,
    );
  const pair = /^([a-z]+):(.*)$/is.exec(token);
  if (!pair) return null;
  const key = (pair[1] ?? "").toLowerCase();
  const values = listed(pair[2] ?? "");
  if (key === "server" || key === "agent" || key === "tool") {
    const list = LISTS[key];
    if (values.length === 0) problems.push(problem.noName(key));
    return { ...filter, [list]: unique([...filter[list], ...values]).slice(0, MOST) };
  }
  if (key === "older") return spanTerm(filter, { key: "age", sign: ">", value: pair[2] ?? "" }, problems);
  if (key === "is") return flagTerm(filter, values, problems);
  if (key === "phase") return phaseTerm(filter, values, problems);
  if (key === "changed") {
    if (values[0]?.toLowerCase() === "today") return { ...filter, changed: { kind: "today" } };
    problems.push(problem.changed);
    return filter;
  }
  if (key === "group" || key === "sort") return orderTerm(filter, key, values[0]?.toLowerCase() ?? "", problems);
  // `http://…` and the like are words.
  return null;
}

function spanTerm(filter: Filter, found: { key: string; sign: string; value: string }, problems: string[]): Filter {
  const { key, sign, value } = found;
  const ms = readSpan(unquoted(value));
  if (ms === null) problems.push(problem.span(value));
  else if (key === "age" && sign === ">") return { ...filter, olderThanMs: ms };
  else if (key === "changed" && sign === "<") return { ...filter, changed: { kind: "within", ms } };
  else problems.push(key === "age" ? problem.ageSign : problem.changedSign);
  return filter;
}

function phaseTerm(filter: Filter, values: readonly string[], problems: string[]): Filter {
  const phases: Phase[] = [...filter.phases];
  for (const value of values) {
    const named = value.toLowerCase();
    const [group, phase] = [readGroup(value), readPhase(value)];
    if (group) phases.push(...GROUP_PHASES[group]);
    else if (named === "open") phases.push(...OPEN_PHASES);
    else if (phase) phases.push(phase);
    else problems.push(problem.phase(value, ALL_PHASES.map(phaseWord)));
  }
  if (values.length === 0) problems.push(problem.noPhase);
  return { ...filter, phases };
}

function flagTerm(filter: Filter, values: readonly string[], problems: string[]): Filter {
  const flags: Flag[] = [...filter.flags];
  for (const value of values) {
    const flag = readFlag(value);
    if (flag) flags.push(flag);
    else problems.push(problem.flag(value, FLAGS.map(flagWord)));
  }
  if (values.length === 0) problems.push(problem.noFlag);
  return { ...filter, flags: FLAGS.filter((flag) => flags.includes(flag)) };
}

function orderTerm(filter: Filter, key: "group" | "sort", value: string, problems: string[]): Filter {
  if (key === "group") {
    const by = GROUPINGS.find((one) => one === value);
    if (by) return { ...filter, groupBy: by };
    problems.push(problem.group);
  } else {
    const by = SORTS.find((one) => one === value.replace(/^-/, ""));
    const isByColumn = by !== undefined && !["newest", "oldest", "changed"].includes(by);
    if (by && (isByColumn || !value.startsWith("-"))) return { ...filter, sort: by, reversed: value.startsWith("-") };
    problems.push(problem.sort);
  }
  return filter;
}

/** Whole groups by their word, the rest one by one. */
function phaseWords(phases: readonly Phase[]): string[] {
  const left = new Set(phases);
  const words: string[] = [];
  for (const group of GROUPS) {
    if (!isWhole(group, left)) continue;
    words.push(groupWord(group));
    for (const phase of GROUP_PHASES[group]) left.delete(phase);
  }
  return [...words, ...orderedPhases([...left]).map(phaseWord)];
}

function isWhole(group: PhaseGroup, phases: ReadonlySet<Phase>): boolean {
  return GROUP_PHASES[group].every((phase) => phases.has(phase));
}

export function orderedPhases(phases: readonly Phase[]): Phase[] {
  return ALL_PHASES.filter((phase) => phases.includes(phase));
}

/** Splits at spaces outside of quotes. */
export function tokens(text: string): string[] {
  return text.match(/(?:"[^"]*"?|[^\s"])+/g) ?? [];
}

/** Splits at commas outside of quotes. */
function listed(value: string): string[] {
  const parts = value.match(/(?:"[^"]*"?|[^,"])+/g) ?? [];
  return parts.map(unquoted).filter((part) => part !== "");
}

export const unquoted = (text: string) => text.replace(/"/g, "").trim();
export const quoted = (text: string) => (/[\s,]/.test(text) ? `"${text.replace(/"/g, "")}"` : text.replace(/"/g, ""));
const unique = <T>(list: readonly T[]) => [...new Set(list)];

/** Whether the words come back as words. */
function isPlain(text: string): boolean {
  return !/["]|\s{2}/.test(text) && tokens(text).every((token) => term(NO_FILTER, token, []) === null);
}
