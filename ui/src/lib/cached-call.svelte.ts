/* A call whose result is kept and refreshed: after changes, at most once per interval, and periodically. The last result
   stays, with its time, until the next one arrives. It knows nothing of what it loads. */
import type { ApiError } from "./bindings";
import { apiError } from "$lib/backend/backend";
import { clock } from "./clock.svelte";

/** A read is repeated after this rest at the earliest. */
export const MIN_INTERVAL_MS = 5_000;
/** What nobody tells of is read again after this. Judgement: sums of hours do not need more. */
export const REFRESH_MS = 60_000;

export class CachedCall<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  /** When `value` was read; 0 before there is one. */
  at = $state.raw(0);
  readonly #read: () => Promise<T>;
  #timer = 0;
  #readAt = 0;
  #turn = 0;
  #isOver = false;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Reads now and, with a round, once in each while `isDue`; until the returned function is called. */
  start(roundMs: number | null = null, isDue: () => boolean = () => true): () => void {
    void this.now();
    const round =
      roundMs === null
        ? 0
        : window.setInterval(() => {
            if (isDue()) this.again();
          }, roundMs);
    return () => {
      this.#isOver = true;
      clearTimeout(this.#timer);
      clearInterval(round);
    };
  }

  /** Reads at once. An older answer that comes later counts for nothing. */
  async now(): Promise<void> {
    this.#readAt = Date.now();
    const turn = (this.#turn += 1);
    try {
      const value = await this.#read();
      if (this.#isOver || turn !== this.#turn) return;
      this.value = value;
      this.at = clock.now;
      this.error = null;
    } catch (thrown) {
      if (!this.#isOver && turn === this.#turn) this.error = apiError(thrown);
    }
  }

  /** Something changed: reads soon, after the rest. What is returned takes it back. */
  again(): () => void {
    if (this.#readAt === 0 || this.#isOver) return () => undefined;
    clearTimeout(this.#timer);
    const timer = (this.#timer = window.setTimeout(
      () => void this.now(),
      Math.max(0, this.#readAt + MIN_INTERVAL_MS - Date.now()),
    ));
    return () => clearTimeout(timer);
  }
}
