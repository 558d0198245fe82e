/* For how long an item can be hidden, and until when that is. Times of the day are the person's own. Pure. */
import type { InboxRow } from "$lib/bindings";
import { day, hourMinute } from "$lib/format/time";
import { answeredText } from "$lib/text/inbox/answered";

export type SnoozeKey = "tenMinutes" | "hour" | "evening" | "tomorrow" | "change";

export interface SnoozeChoice {
  readonly key: SnoozeKey;
  readonly label: string;
  /** Until then; null for until it changes. */
  readonly until: number | null;
}

const MINUTE_MS = 60_000;
/** This evening and tomorrow morning begin at these hours (judgement: after work, and at its start). */
const EVENING_HOUR = 18;
const MORNING_HOUR = 9;
/** Later than this, the evening is too near to be a choice. */
const LEAST_TO_EVENING_MS = 60 * MINUTE_MS;
const LEAST_SNOOZE_MS = 30_000;
const BEFORE_DEADLINE_MS = MINUTE_MS;

/** The choices for an item. None goes past a minute before its deadline; what would be the same twice is left out. */
export function snoozeChoices(row: InboxRow, now: number): readonly SnoozeChoice[] {
  const words = answeredText.snooze;
  const evening = atHour(now, 0, EVENING_HOUR);
  const choices: readonly (SnoozeChoice | null)[] = [
    { key: "tenMinutes", label: words.tenMinutes, until: now + 10 * MINUTE_MS },
    { key: "hour", label: words.hour, until: now + 60 * MINUTE_MS },
    evening - now > LEAST_TO_EVENING_MS ? { key: "evening", label: words.evening, until: evening } : null,
    { key: "tomorrow", label: words.tomorrow, until: atHour(now, 1, MORNING_HOUR) },
    { key: "change", label: words.change, until: null },
  ];
  const most = row.deadline === null ? Infinity : Date.parse(row.deadline) - BEFORE_DEADLINE_MS;
  return choices.filter(
    (choice) => choice !== null && (choice.key === "tenMinutes" || choice.until === null || choice.until <= most),
  ) as readonly SnoozeChoice[];
}

/** When a hidden item comes back: after so long, but a minute before its deadline at the latest. */
export function snoozeUntil(row: InboxRow, now: number, until: number): number {
  if (row.deadline === null) return until;
  return Math.min(until, Math.max(now + LEAST_SNOOZE_MS, Date.parse(row.deadline) - BEFORE_DEADLINE_MS));
}

/** What the core keeps: a time, or the state that wakes it. One with a deadline always comes back before it. */
export function snoozeValue(row: InboxRow, now: number, until: number | null): { until?: string; changedAt?: string } {
  const iso = (at: number) => new Date(at).toISOString();
  if (until !== null) return { until: iso(snoozeUntil(row, now, until)) };
  const latest = row.deadline === null ? {} : { until: iso(snoozeUntil(row, now, Infinity)) };
  return { changedAt: row.changedAt, ...latest };
}

/** When it comes back, as a clock says it; with the day when that is another one. */
export function backAt(at: number | string, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? hourMinute(at) : day(at, now);
}

function atHour(now: number, days: number, hour: number): number {
  const day = new Date(now);
  day.setDate(day.getDate() + days);
  day.setHours(hour, 0, 0, 0);
  return day.getTime();
}
