/* How far a task is, how fast it goes and when it could be done: only what the figures carry. Pure. */
import type { TaskDto } from "$lib/bindings";

/** Shorter than this a rate says nothing (judgement: a first report often stands for the set-up). */
const RATE_AFTER_MS = 30_000;
/** Below this share the time left would be a guess. */
const LEFT_FROM = 0.05;

export interface ProgressFigures {
  /** 0 to 1; null when the server gives no total. */
  readonly share: number | null;
  readonly done: number | null;
  readonly total: number | null;
  /** In the server's unit, a minute, since the start without the time it waited for people; null without enough data. */
  readonly perMinute: number | null;
  /** At that rate; null without enough data. */
  readonly leftMs: number | null;
}

type Facts = Pick<TaskDto, "progress" | "elapsedMs" | "over" | "paused">;

/** `null` when the task reports no figures. `elapsedMs` is the time it ran until now. */
export function progressFigures({ progress, over, paused }: Facts, elapsedMs: number): ProgressFigures | null {
  if (progress === null || (progress.done === null && progress.total === null)) return null;
  const { done } = progress;
  // A total that cannot be one says nothing.
  const total = progress.total !== null && progress.total > 0 ? progress.total : null;
  const share = done !== null && total !== null ? Math.min(1, Math.max(0, done / total)) : null;
  const isRated = !over && done !== null && done > 0 && elapsedMs >= RATE_AFTER_MS;
  const perMinute = isRated ? done / (elapsedMs / 60_000) : null;
  // What stands still has no end in sight.
  const isForeseen = isRated && !paused && share !== null && share >= LEFT_FROM && share < 1;
  return { share, done, total, perMinute, leftMs: isForeseen ? (elapsedMs * (1 - share)) / share : null };
}

/** A figure of a server as people read it: whole where it is large, two digits where it is small. A trillion and more
    is beyond reading and keeps its power of ten. */
export function figure(value: number): string {
  if (Math.abs(value) >= 1e12) return value.toExponential(1);
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-GB", { maximumFractionDigits: digits });
}
