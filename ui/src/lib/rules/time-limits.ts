/* The limits of time in a rule's form: what was typed, what may happen at each, what is wrong with it. Pure. */
import type { RuleDto, RunLimitDto } from "$lib/bindings";
import { duration } from "$lib/format/time";

export type TimeLimited = "time" | "progress";
export const TIME_LIMITED: readonly TimeLimited[] = ["time", "progress"];

export interface TimeLimitDraft {
  /** As typed; empty for no limit. */
  readonly typed: string;
  readonly at: RunLimitDto["at"];
}
export type TimeLimitDrafts = Readonly<Record<TimeLimited, TimeLimitDraft>>;

/** What may happen at a limit of time; the first is what a new limit does. */
export const AT_TIME: readonly RunLimitDto["at"][] = ["ask", "warn", "cancel"];

const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** As the core has them: `policy.run_limit_min` and `policy.run_limit_max`. */
const LEAST_MS = 1_000;
const MOST_MS = 30 * 86_400_000;

/** Milliseconds of "30 min", "1 h 30 min" or "45" (minutes); null when it is no time that may be a limit. */
export function readTime(typed: string): number | null {
  const text = typed.trim().toLowerCase();
  if (!/^\d+(\s*(s|min|m|h|d)(\s*\d+\s*(s|min|m|h|d))*)?$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+)\s*(min|[smhd])?/g)];
  const length = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS[unit ?? "min"] ?? 0), 0);
  return length >= LEAST_MS && length <= MOST_MS ? length : null;
}

export function timesOf(rule: RuleDto | null): TimeLimitDrafts {
  return { time: draft(rule?.timeLimit), progress: draft(rule?.progressLimit) };
}

function draft(limit: RunLimitDto | null | undefined): TimeLimitDraft {
  return limit == null ? { typed: "", at: AT_TIME[0] ?? "warn" } : { typed: asTyped(limit.allowedMs), at: limit.at };
}

/** A length of whole seconds that `readTime` reads back exactly. */
function asTyped(length: number): string {
  return readTime(duration(length)) === length ? duration(length) : `${Math.round(length / 1_000)} s`;
}

export const isBadTime = (one: TimeLimitDraft): boolean => one.typed.trim() !== "" && readTime(one.typed) === null;

/** Null for no limit; call it only where nothing is wrong. What was not typed anew stays to the millisecond. */
export function timeLimitOf(one: TimeLimitDraft, before: RunLimitDto | null | undefined): RunLimitDto | null {
  if (before != null && draft(before).typed === one.typed) return { allowedMs: before.allowedMs, at: one.at };
  const allowedMs = readTime(one.typed);
  return allowedMs === null ? null : { allowedMs, at: one.at };
}
