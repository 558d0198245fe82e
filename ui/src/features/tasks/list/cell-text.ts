/* Text of the row's cells. Each fits its column; the title attribute has the rest. */
import { sentence } from "$lib/actions";
import type { HeldDto, ProgressDto, TaskRow, TokensDto } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { bytes } from "$lib/format/bytes";
import { ago, coarse, date, hourMinute, ms } from "$lib/format/time";
import { shortTokens, tokens as written } from "$lib/format/tokens";
import { firstSentence } from "$lib/task/first-sentence";
import { statusWord, whyPaused } from "$lib/task/server-status";
import { budgetsText, exactnessWords, familyLabel } from "$lib/text/budgets";
import { SERVER_STATUS, TASK } from "$lib/text/task";
import { TASKS } from "$lib/text/tasks";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** "60 %", or "212 done" where the whole is not known, so that it is not read as a percentage. Empty when nothing is. */
export function doneText(progress: ProgressDto | null): string {
  if (progress === null || progress.done === null || !Number.isFinite(progress.done)) return "";
  if (progress.total === null || !(progress.total > 0)) {
    const done = compact(progress.done);
    return done === "" ? "" : TASK.progress.done(done);
  }
  return `${Math.floor(Math.min(100, Math.max(0, (100 * progress.done) / progress.total)))} %`;
}

/** 1,204 as "1.2k": a count that fits a column of 40. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return String(Math.floor(value));
  const steps = [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const;
  const [unit, letter] = steps.find(([limit]) => size >= limit) ?? [1, ""];
  const short = value / unit;
  return Math.abs(short) >= 1e4
    ? ""
    : `${Math.abs(short) < 10 ? Math.floor(short * 10) / 10 : Math.floor(short)}${letter}`;
}

/** "40 s", "25 min", "1 h 12", "3 d". */
export function elapsedText(length: number): string {
  if (length < HOUR || length >= 24 * HOUR) return coarse(length);
  const minutes = Math.floor((length % HOUR) / MINUTE);
  return `${Math.floor(length / HOUR)} h ${String(minutes).padStart(2, "0")}`;
}

/** Later than agreed or usual as the core sees it; one that is over, longer than nearly all runs of its tool. */
export function isLateNow(
  row: Pick<TaskRow, "over" | "usual" | "dueAt" | "pausedSince">,
  run: number,
  now: number,
): boolean {
  if (row.over) return row.usual !== null && run > row.usual.p95Ms;
  return row.pausedSince === null && row.dueAt !== null && ms(row.dueAt) <= now;
}

/** What the bar and its words need of a length: seconds at first, then steps that the eye cannot tell apart. */
export function settled(length: number): number {
  const step = length < 2 * MINUTE ? 1_000 : length < HOUR ? 15_000 : MINUTE;
  return Math.floor(length / step) * step;
}

/** What it costs its agent's window: what was said so far, and as much of its result as came in or may still come. */
const costOf = (cost: TokensDto, held: HeldDto | null): number => cost.arguments + cost.handle + comingOf(cost, held);

function comingOf({ result, delivered }: TokensDto, held: HeldDto | null): number {
  const verdict = held?.verdict ?? null;
  const whole = Math.max(result ?? 0, delivered);
  if (verdict === null) return whole;
  // What it read before somebody withheld it stays in.
  if (!verdict.delivered) return delivered;
  if (verdict.form !== "trimmed" || verdict.trimTokens === null) return whole;
  return delivered > 0 ? delivered : Math.min(whole, verdict.trimTokens);
}

export const tokensText = (cost: TokensDto, held: HeldDto | null): string =>
  shortTokens(costOf(cost, held), cost.exactness);

export function tokensTitle(cost: TokensDto, held: HeldDto | null): string {
  return budgetsText.task.cell(
    written(costOf(cost, held), cost.exactness),
    familyLabel(cost.family),
    exactnessWords[cost.exactness],
  );
}

/** The time of day it was started; the day before today, and the month in another year. */
export function startedText(createdAt: string, now: number): string {
  const at = new Date(ms(createdAt));
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return hourMinute(createdAt);
  const day = date(createdAt, now);
  return at.getFullYear() === today.getFullYear() ? day : day.slice(day.indexOf(" ") + 1);
}

/** "waits 12 min" while a person is asked, else how long it runs or ran. */
export function tookText(row: Pick<TaskRow, "phase" | "pausedSince">, run: number, now: () => number): string {
  if (row.phase !== "waiting" || row.pausedSince === null) return elapsedText(run);
  return TASKS.waits(elapsedText(settled(Math.max(0, now() - ms(row.pausedSince)))));
}

/** How much of it is done, of 100; null where that is not known, and when nothing goes on any more. */
export function doneShare({ progress, over }: Pick<TaskRow, "progress" | "over">): number | null {
  if (over || progress === null || progress.done === null || progress.total === null) return null;
  if (!Number.isFinite(progress.done) || !(progress.total > 0)) return null;
  return Math.min(100, Math.max(0, (100 * progress.done) / progress.total));
}

/** The server's last words, or ours where news is what is missing. */
export function messageText(row: TaskRow, now: () => number): { text: string; isServers: boolean } {
  // The clock is read only where it matters: thousands of cells would otherwise be thought about every second.
  if (row.phase === "lost" || row.phase === "silent")
    return {
      text: TASKS.lastSeen(row.status === null ? null : statusWord(row.status), ago(row.lastSeenAt, now())),
      isServers: false,
    };
  if (row.phase === "unwatched") return { text: TASKS.lookedAway, isServers: false };
  if (row.paused && row.phase === "waiting") return { text: whyPaused(row.paused, row), isServers: false };
  if (row.says)
    return { text: row.phase === "waiting" ? firstSentence(row.says) : singleLine(row.says), isServers: true };
  if (row.trouble) return { text: sentence(singleLine(row.trouble)), isServers: false };
  if (row.over && row.resultBytes !== null) return { text: TASKS.resultOf(bytes(row.resultBytes)), isServers: false };
  if (row.statusMessage !== null && row.statusMessage !== "")
    return { text: singleLine(row.statusMessage), isServers: true };
  if (row.progress?.message) return { text: singleLine(row.progress.message), isServers: true };
  return {
    text: row.phase === "unconfirmed" ? SERVER_STATUS.unsaid.unanswered(singleLine(row.server, 80)) : "",
    isServers: false,
  };
}
