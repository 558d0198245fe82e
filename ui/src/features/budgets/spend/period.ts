/* What flowed over time, in the hours and days of the person. The core sums by whole hours of UTC; those are put together
   here into parts of days as clocks show them at this place. An hour that lies in two of them, where clocks are half an hour
   off, counts where it begins. Pure but for the time zone of the machine. */
import type { SeriesDto, SeriesPoint, ShowSeries } from "$lib/bindings";
import { date, day, dayOnce, ms } from "$lib/format/time";
import { tokensOf, sumsOf } from "./spend-sums";

const HOUR_MS = 3_600_000;
/** Hours of the parts in which a week is shown. Judgement: a night, a morning, an afternoon, an evening. */
const PART_HOURS = 6;

/** The last 24 hours by the hour; today and the six days before it by parts of a day; today and the 29 before it by the day. */
export type Span = "day" | "week" | "month";

/** Where what is shown begins. */
export function beginOf(span: Span, now: number): number {
  if (span === "day") return Math.floor((now - 24 * HOUR_MS) / HOUR_MS) * HOUR_MS;
  const today = new Date(now);
  return new Date(today.getFullYear(), today.getMonth(), today.getDate() - (span === "week" ? 6 : 29)).getTime();
}

/** What the core is asked for it: always by its own hours. */
export function askFor(span: Span, now: number): Pick<ShowSeries, "spanMs" | "stepMs"> {
  return { spanMs: now - beginOf(span, now), stepMs: HOUR_MS };
}

/** Where the part of time begins that something lies in. */
function partOf(at: number, span: "week" | "month"): number {
  const then = new Date(at);
  const hours = span === "week" ? Math.floor(then.getHours() / PART_HOURS) * PART_HOURS : 0;
  return new Date(then.getFullYear(), then.getMonth(), then.getDate(), hours).getTime();
}

/** Its points, the oldest first: each with the instant at which its first hour begins, no part of a day from before `begin`. */
export function pointsOf(series: SeriesDto, span: Span, begin: number): readonly SeriesPoint[] {
  if (span === "day") return series.points;
  const parts = new Map<number, SeriesPoint[]>();
  for (const point of series.points) {
    const at = ms(point.at);
    if (at < begin) continue;
    const part = partOf(at, span);
    parts.set(part, [...(parts.get(part) ?? []), point]);
  }
  return [...parts.values()].flatMap((points) => {
    const [first] = points;
    if (first === undefined) return [];
    const { sources, keptOut, messages } = sumsOf(points);
    return [points.length === 1 ? first : { at: first.at, sources: [...sources], keptOut, messages }];
  });
}

export const isEmpty = (points: readonly SeriesPoint[]): boolean =>
  points.every((point) => tokensOf(point.sources) === 0 && point.keptOut === 0);

/** When a point begins, as it is read: an hour that comes twice says which one it is. */
export function pointText(at: string, span: Span, now: number): string {
  switch (span) {
    case "day":
      return dayOnce(at, now);
    case "week":
      return day(at, now);
    case "month":
      return date(at, now);
    default:
      return span satisfies never;
  }
}

/** How late after a whole hour of clocks here the stored hours begin, in minutes: 30 in India. */
export const minutesOff = (points: readonly SeriesPoint[]): number =>
  points[0] === undefined ? 0 : new Date(ms(points[0].at)).getMinutes();
