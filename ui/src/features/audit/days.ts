/* The rows of the log by the day on which they were written, for headers that stick. Pure. */
import { ms } from "$lib/format/time";

export interface DayRows {
  /** Its first row: where a clock was set back, a day comes twice. */
  readonly key: string;
  /** A moment of the day. */
  readonly at: string;
  /** The place of its first row in the list. */
  readonly from: number;
  readonly count: number;
}

/** Rows come newest first. Days are those of the person's clock. */
export function daysOf(rows: readonly { readonly number: number; readonly at: string }[]): DayRows[] {
  const days: { key: string; at: string; from: number; count: number }[] = [];
  let day = "";
  rows.forEach((row, from) => {
    const next = new Date(ms(row.at)).toDateString();
    const current = days.at(-1);
    if (current && next === day) current.count += 1;
    else days.push({ key: String(row.number), at: row.at, from, count: 1 });
    day = next;
  });
  return days;
}

export function isSameDay(one: string, now: number): boolean {
  return new Date(ms(one)).toDateString() === new Date(now).toDateString();
}
