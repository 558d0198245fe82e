/* The one formatter of times (style 91): relative up to a day, then the date; durations as 4 min 20 s;
   exact for hover and focus. Pure: now is a value. Input is ISO 8601 or milliseconds since the epoch. */
export type Moment = string | number;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function ms(moment: Moment): number {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/** "now", "8 s ago", "4 min ago", "3 h ago", then "12 Mar, 14:02". */
export function ago(moment: Moment, now: number): string {
  const past = now - ms(moment);
  if (Number.isNaN(past)) return "";
  if (past < SECOND) return "now";
  if (past >= DAY) return day(moment, now);
  return `${coarse(past)} ago`;
}

/** "in 22 s", "in 4 min", then the date; "now" when it has come. */
export function until(moment: Moment, now: number): string {
  const left = ms(moment) - now;
  if (Number.isNaN(left)) return "";
  if (left < SECOND) return "now";
  if (left >= DAY) return day(moment, now);
  return `in ${coarse(left)}`;
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

/** Time of day: 14:02. */
export function hourMinute(moment: Moment): string {
  const at = new Date(ms(moment));
  return Number.isNaN(at.getTime()) ? "" : `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Time of day with seconds: 14:31:02. */
export function hourMinuteSecond(moment: Moment): string {
  const at = new Date(ms(moment));
  return Number.isNaN(at.getTime()) ? "" : `${hourMinute(moment)}:${two(at.getSeconds())}`;
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
  const at = new Date(ms(moment));
  if (Number.isNaN(at.getTime())) return "";
  const date = `${at.getDate()} ${MONTHS[at.getMonth()] ?? ""}`;
  const year = at.getFullYear() === new Date(now).getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${date}${year}, ${hourMinute(moment)}`;
}

/** How long a task has run, without the time it waited for a person. */
export function elapsed(task: { createdAt: string; endedAt: string | null; pausedMs: number; pausedSince: string | null }, now: number): number {
  const end = task.endedAt === null ? now : ms(task.endedAt);
  const paused = task.pausedMs + (task.pausedSince === null ? 0 : Math.max(0, end - ms(task.pausedSince)));
  return Math.max(0, end - ms(task.createdAt) - paused);
}

function pair(length: number, big: number, bigName: string, small: number, smallName: string): string {
  const high = Math.floor(length / big);
  const low = Math.floor((length % big) / small);
  return low === 0 ? `${high} ${bigName}` : `${high} ${bigName} ${low} ${smallName}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
