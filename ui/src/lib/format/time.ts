/* The one formatter of times (style 91): relative up to a day, then the date; durations as 4 min 20 s;
   exact for hover and focus. Now is a value; how a person wants times written is `time-style`. Input is ISO 8601 or
   milliseconds since the epoch. */
import { timeStyle } from "./time-style.svelte";

export type Moment = string | number;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function ms(moment: Moment): number {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/** "now", "8 s ago", "4 min ago", "3 h ago", then "12 Mar, 14:02"; "14:02" where times of day are wanted. */
export function ago(moment: Moment, now: number): string {
  const past = now - ms(moment);
  if (Number.isNaN(past)) return "";
  if (past < SECOND) return "now";
  if (past >= DAY) return day(moment, now);
  return timeStyle.past === "clock" ? onClock(moment, past, now) : `${coarse(past)} ago`;
}

/** "in 22 s", "in 4 min", then the date; "now" when it has come. */
export function until(moment: Moment, now: number): string {
  const left = ms(moment) - now;
  if (Number.isNaN(left)) return "";
  if (left < SECOND) return "now";
  if (left >= DAY) return day(moment, now);
  return timeStyle.past === "clock" ? onClock(moment, left, now) : `in ${coarse(left)}`;
}

/** The time of day, with seconds where they matter and the date where it is another one. */
function onClock(moment: Moment, distance: number, now: number): string {
  if (new Date(ms(moment)).getDate() !== new Date(now).getDate()) return day(moment, now);
  return distance < MINUTE ? hourMinuteSecond(moment) : hourMinute(moment);
}

/** Since when something lasts: "14:02" within a day, then "12 Mar, 14:02". */
export function clockTime(moment: Moment, now: number): string {
  return now - ms(moment) < DAY ? hourMinute(moment) : day(moment, now);
}

/** One unit: "8 s", "4 min", "3 h", "2 d". */
export function coarse(duration: number): string {
  if (duration < MINUTE) return `${Math.max(0, Math.floor(duration / SECOND))} s`;
  if (duration < HOUR) return `${Math.floor(duration / MINUTE)} min`;
  if (duration < DAY) return `${Math.floor(duration / HOUR)} h`;
  return `${Math.floor(duration / DAY)} d`;
}

/** Two units: "20 s", "4 min 20 s", "3 h 5 min", "2 d 4 h". */
export function duration(length: number): string {
  if (!Number.isFinite(length)) return "";
  const whole = Math.max(0, length);
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`;
  if (whole < HOUR) return pair(whole, MINUTE, "min", SECOND, "s");
  if (whole < DAY) return pair(whole, HOUR, "h", MINUTE, "min");
  return pair(whole, DAY, "d", HOUR, "h");
}

/** What is left of a deadline: "4:48 left" within ten minutes, "33 min left" within two hours, "until 16:00" after. */
export function left(deadline: Moment, now: number): string {
  const rest = ms(deadline) - now;
  if (Number.isNaN(rest)) return "";
  if (rest <= 0) return "overdue";
  if (rest < 10 * MINUTE) return `${clockFace(rest)} left`;
  if (rest < 2 * HOUR) return `${coarse(rest)} left`;
  return `until ${rest < DAY ? hourMinute(deadline) : day(deadline, now)}`;
}

/** A countdown: 4:48, 0:07. */
export function clockFace(length: number): string {
  const seconds = Math.max(0, Math.floor(length / SECOND));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Time of day: 14:02, or 2:02 pm. */
export function hourMinute(moment: Moment): string {
  const at = new Date(ms(moment));
  return Number.isNaN(at.getTime()) ? "" : timeOfDay(at, "");
}

/** Time of day with seconds: 14:31:02, or 2:31:02 pm. */
export function hourMinuteSecond(moment: Moment): string {
  const at = new Date(ms(moment));
  return Number.isNaN(at.getTime()) ? "" : timeOfDay(at, `:${two(at.getSeconds())}`);
}

function timeOfDay(at: Date, seconds: string): string {
  const [hours, minutes] = [at.getHours(), two(at.getMinutes())];
  if (timeStyle.hours === "24") return `${two(hours)}:${minutes}${seconds}`;
  // A space that does not break: noon never stands alone at the start of a line.
  return `${hours % 12 === 0 ? 12 : hours % 12}:${minutes}${seconds}\u00a0${hours < 12 ? "am" : "pm"}`;
}

/** For hover, focus and exports: 2026-11-21 14:31:02 (local). */
export function exact(moment: Moment): string {
  const at = new Date(ms(moment));
  if (Number.isNaN(at.getTime())) return "";
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${hourMinuteSecond(moment)}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** "12 Mar, 14:02", with the year when it is another one. */
export function day(moment: Moment, now: number): string {
  const on = date(moment, now);
  return on === "" ? "" : `${on}, ${hourMinute(moment)}`;
}

/** "12 Mar", with the year when it is another one. */
export function date(moment: Moment, now: number): string {
  const at = new Date(ms(moment));
  if (Number.isNaN(at.getTime())) return "";
  const year = at.getFullYear() === new Date(now).getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${MONTHS[at.getMonth()] ?? ""}${year}`;
}

/** "12 Mar, 14:02", and how far from UTC where clocks go back and the same hour comes twice: "25 Oct, 02:00 (UTC+2)". */
export function dayOnce(moment: Moment, now: number): string {
  const at = ms(moment);
  const shown = day(at, now);
  return shown !== "" && [at - HOUR, at + HOUR].some((other) => day(other, now) === shown)
    ? `${shown} (${fromUtc(at)})`
    : shown;
}

/** "UTC", "UTC+5:30", "UTC−3". */
export function fromUtc(moment: Moment): string {
  const minutes = -new Date(ms(moment)).getTimezoneOffset();
  if (minutes === 0 || Number.isNaN(minutes)) return "UTC";
  const [whole, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${whole}${rest === 0 ? "" : `:${two(rest)}`}`;
}

/** How long a task worked. What counts, and that it ends with contact, is the core's; here it only goes on. */
export function elapsed(task: { workedMs: number; worksSince: string | null }, now: number): number {
  return task.workedMs + (task.worksSince === null ? 0 : Math.max(0, now - ms(task.worksSince)));
}

function pair(length: number, big: number, bigName: string, small: number, smallName: string): string {
  const high = Math.floor(length / big);
  const low = Math.floor((length % big) / small);
  return low === 0 ? `${high} ${bigName}` : `${high} ${bigName} ${low} ${smallName}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** How long runs usually take: "9 to 14 min", with the unit once where it is the same. */
export function usualRange(usual: { medianMs: number; p95Ms: number }): string {
  const [from, to] = [coarse(usual.medianMs), coarse(usual.p95Ms)];
  if (from === to) return to;
  const [amount, unit] = from.split(" ");
  return `${to.endsWith(` ${unit ?? ""}`) ? (amount ?? from) : from} to ${to}`;
}
