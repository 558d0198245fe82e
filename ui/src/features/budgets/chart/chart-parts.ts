/* The parts of time of the chart, in the hours and days of the person: where each begins, and how it is called. What is in
   them is the core's. Pure but for the time zone of the machine. */
import { date, dayOnce, hourMinute, ms } from "$lib/format/time";

const HOUR_MS = 3_600_000;
/** Hours of the parts in which a week is shown. Judgement: a night, a morning, an afternoon, an evening. */
const PART_HOURS = 6;
const DAY_PARTS = 24;
const WEEK_DAYS = 7;
const MONTH_DAYS = 30;

/** The last 24 hours by the hour; today and the six days before it by parts of a day; today and the 29 before it by the day. */
export type Span = "day" | "week" | "month";

const midnight = (now: number, daysBack: number, hour = 0): number => {
  const today = new Date(now);
  return new Date(today.getFullYear(), today.getMonth(), today.getDate() - daysBack, hour).getTime();
};

/** When the day of the person began. */
export const todayBegan = (now: number): number => midnight(now, 0);

/** When each part begins, the oldest first, none after now. An hour is one of UTC, as they are stored; a day begins when
    clocks here say so, whether it has 23 hours, 24 or 25. */
export function startsOf(span: Span, now: number): readonly number[] {
  switch (span) {
    case "day": {
      const running = Math.floor(now / HOUR_MS) * HOUR_MS;
      return Array.from({ length: DAY_PARTS }, (_, at) => running - (DAY_PARTS - 1 - at) * HOUR_MS);
    }
    case "week":
      return Array.from({ length: WEEK_DAYS * (DAY_PARTS / PART_HOURS) }, (_, at) => {
        const inDay = at % (DAY_PARTS / PART_HOURS);
        return midnight(now, WEEK_DAYS - 1 - Math.floor(at / (DAY_PARTS / PART_HOURS)), inDay * PART_HOURS);
      }).filter((start) => start <= now);
    case "month":
      return Array.from({ length: MONTH_DAYS }, (_, at) => midnight(now, MONTH_DAYS - 1 - at));
    default:
      return span satisfies never;
  }
}

/** A part in words: "21 Nov, 03:00 to 04:00", "16 Nov, 06:00 to 12:00", "16 Nov". An hour that comes twice says which one it is. */
export function partText(starts: readonly number[], at: number, span: Span, now: number): string {
  const start = starts[at];
  if (start === undefined) return "";
  if (span === "month") return date(start, now);
  const end = starts[at + 1] ?? start + (span === "day" ? HOUR_MS : PART_HOURS * HOUR_MS);
  return `${dayOnce(start, now)} to ${hourMinute(end)}`;
}

/** What stands under the axis at a part; nothing where there is no room for it. */
export function axisText(starts: readonly number[], at: number, span: Span, now: number, today: string): string | null {
  const start = starts[at];
  if (start === undefined) return null;
  const then = new Date(start);
  const isToday = start >= todayBegan(now);
  switch (span) {
    case "day":
      // Where clocks are half an hour off, an hour begins at half past.
      return then.getHours() === 0 ? today : then.getHours() % 3 === 0 ? hourMinute(start) : null;
    case "week":
      return then.getHours() !== 0 ? null : isToday ? today : date(start, now);
    case "month":
      return at === starts.length - 1 ? today : (starts.length - 1 - at) % 5 === 0 ? date(start, now) : null;
    default:
      return span satisfies never;
  }
}

/** How late after a whole hour of clocks here the stored hours begin, in minutes: 30 in India. */
export const minutesOff = (now: number): number => new Date(Math.floor(ms(now) / HOUR_MS) * HOUR_MS).getMinutes();
