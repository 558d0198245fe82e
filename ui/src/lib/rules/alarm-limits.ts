/* The numbers of calls in a rule's form that raise an alarm: what was typed, and what is wrong with it. Pure. */
import type { RuleDto, SameCallLimitDto, ScopeDto } from "$lib/bindings";
import { duration } from "$lib/format/time";
import { readTime } from "./time-limits";

export type Alarmed = "sameCalls" | "callsPerMinute" | "openCalls";
/** As typed; empty for the default. */
export type AlarmDrafts = Readonly<Record<Alarmed, string>>;

/** As the core has them: `policy.control.alarms`. */
const SAME_MOST = 200;
const CALLS_MOST = 1_000_000;
const DAY_MS = 86_400_000;
const DEFAULT_WINDOW_MS = 600_000;

/** What a rule of this scope can limit: one agent makes calls at once, and every tool can be called again. */
export function alarmedBy(kind: ScopeDto["kind"]): readonly Alarmed[] {
  return kind === "agent" ? ["sameCalls", "callsPerMinute", "openCalls"] : ["sameCalls"];
}

export function alarmsOf(rule: RuleDto | null): AlarmDrafts {
  const number = (calls: number | null | undefined) => (calls == null ? "" : String(calls));
  return {
    sameCalls: rule?.sameCallLimit == null ? "" : asTyped(rule.sameCallLimit),
    callsPerMinute: number(rule?.callsPerMinute),
    openCalls: number(rule?.openCalls),
  };
}

function asTyped({ count, windowMs }: SameCallLimitDto): string {
  return count === 0 ? "0" : `${count} in ${duration(windowMs)}`;
}

/** "20 in 10 min", "20" within the default time, or "0" for no alarm; null for anything else. */
export function readSameCalls(typed: string): SameCallLimitDto | null {
  const [, digits = "", time] = /^(\d{1,3})(?:\s*(?:in|\/)\s*(.+))?$/.exec(typed.trim()) ?? [];
  const count = digits === "" ? 1 : Number(digits);
  const windowMs = time === undefined ? DEFAULT_WINDOW_MS : readTime(time);
  if (count === 1 || count > SAME_MOST || windowMs === null || windowMs > DAY_MS) return null;
  return { count, windowMs };
}

function readCalls(typed: string): number | null {
  const calls = /^\d{1,7}$/.test(typed.trim()) ? Number(typed.trim()) : Number.NaN;
  return calls <= CALLS_MOST ? calls : null;
}

export function isBadAlarm(what: Alarmed, typed: string): boolean {
  if (typed.trim() === "") return false;
  return (what === "sameCalls" ? readSameCalls(typed) : readCalls(typed)) === null;
}

/** The fields of the rule; call it only where nothing is wrong. */
export function alarmFields(drafts: AlarmDrafts): Pick<RuleDto, "sameCallLimit" | "callsPerMinute" | "openCalls"> {
  return {
    sameCallLimit: readSameCalls(drafts.sameCalls),
    callsPerMinute: readCalls(drafts.callsPerMinute),
    openCalls: readCalls(drafts.openCalls),
  };
}
