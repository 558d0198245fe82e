/* What a rule's form holds, and the rule it makes. Pure. An empty choice leaves the matter to the wider rule. */
import type { RepeatDto, RuleDto, ScopeDto, WhoIsAsked } from "$lib/bindings";
import { alarmedBy, alarmFields, alarmsOf, isBadAlarm, type AlarmDrafts } from "./alarm-limits";
import { isBadTime, timeLimitOf, timesOf, TIME_LIMITED, type TimeLimitDrafts } from "./time-limits";
import { isBad, limitedBy, limitOf, limitsOf, type LimitDrafts } from "./token-limits";

export interface RuleDraft {
  readonly asked: WhoIsAsked | "";
  /** As typed; `secondsOf` reads it. */
  readonly seconds: string;
  readonly repeat: RepeatDto | "";
  readonly hold: boolean;
  /** Results that the program would cut are held. */
  readonly holdCut: boolean;
  readonly limits: LimitDrafts;
  readonly times: TimeLimitDrafts;
  readonly alarms: AlarmDrafts;
  /** What happens at an alarm. */
  readonly atAlarm: NonNullable<RuleDto["alarmAction"]> | "";
}

/** What was changed in a form; the rest is as it is saved, whoever saves it meanwhile. */
export interface RuleChange extends Partial<Omit<RuleDraft, "limits" | "times" | "alarms">> {
  readonly limits?: Partial<LimitDrafts>;
  readonly times?: Partial<TimeLimitDrafts>;
  readonly alarms?: Partial<AlarmDrafts>;
}

const DEFAULT_SECONDS = "60";
const SECONDS_MAX = 86_400;

export function draftOf(rule: RuleDto | null): RuleDraft {
  return {
    asked: rule?.asked ?? "",
    seconds: rule?.peopleAfterMs == null ? DEFAULT_SECONDS : String(Math.round(rule.peopleAfterMs / 1_000)),
    repeat: rule?.repeat ?? "",
    hold: rule?.holdResults ?? false,
    holdCut: rule?.holdCut ?? true,
    limits: limitsOf(rule),
    times: timesOf(rule),
    alarms: alarmsOf(rule),
    atAlarm: rule?.alarmAction ?? "",
  };
}

export function changedBy(saved: RuleDraft, change: RuleChange | null): RuleDraft {
  if (change === null) return saved;
  return {
    ...saved,
    ...change,
    limits: { ...saved.limits, ...change.limits },
    times: { ...saved.times, ...change.times },
    alarms: { ...saved.alarms, ...change.alarms },
  };
}

/** Something in it is not saved. */
export function isUnsaved(saved: RuleDraft, change: RuleChange | null): boolean {
  return change !== null && JSON.stringify(changedBy(saved, change)) !== JSON.stringify(saved);
}

/** Whole seconds within a day; null for anything else. */
export function secondsOf(typed: string): number | null {
  const seconds = /^\d{1,6}$/.test(typed.trim()) ? Number(typed.trim()) : Number.NaN;
  return seconds >= 1 && seconds <= SECONDS_MAX ? seconds : null;
}

/** Null when a number in it cannot be read. What the form does not show stays as it was. */
export function ruleOf(scope: ScopeDto, draft: RuleDraft, before: RuleDto | null): RuleDto | null {
  const seconds = secondsOf(draft.seconds);
  if (draft.asked === "agentThenPeople" && seconds === null) return null;
  const limited = limitedBy(scope.kind);
  if (limited.some((what) => isBad(draft.limits[what]))) return null;
  if (TIME_LIMITED.some((what) => isBadTime(draft.times[what]))) return null;
  if (alarmedBy(scope.kind).some((what) => isBadAlarm(what, draft.alarms[what]))) return null;
  return {
    scope,
    version: before?.version ?? 0,
    asked: draft.asked === "" ? null : draft.asked,
    peopleAfterMs: draft.asked === "agentThenPeople" && seconds !== null ? seconds * 1_000 : null,
    repeat: draft.repeat === "" ? null : draft.repeat,
    holdResults: draft.hold ? true : null,
    promoteAfterMs: before?.promoteAfterMs ?? null,
    // Yes is what holds without a rule; a rule that says so against a wider one keeps saying it.
    holdCut: draft.holdCut ? (before?.holdCut === true ? true : null) : false,
    resultLimit: limitOf(draft.limits.result),
    taskLimit: limitOf(draft.limits.task),
    windowLimit: limited.includes("window") ? limitOf(draft.limits.window) : (before?.windowLimit ?? null),
    timeLimit: timeLimitOf(draft.times.time, before?.timeLimit),
    progressLimit: timeLimitOf(draft.times.progress, before?.progressLimit),
    ...alarmFields(draft.alarms),
    alarmAction: draft.atAlarm === "" ? null : draft.atAlarm,
  };
}
