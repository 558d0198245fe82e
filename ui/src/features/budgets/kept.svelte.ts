/* A reading that is made again when something changed, at most so often; the last one stays until the next is there, and
   when it fails. It knows nothing of what it reads. */
import type { ApiError } from "$lib/bindings";
import { apiError } from "$lib/backend/backend";

/** A read is repeated after this rest at the earliest. */
export const REST_MS = 5_000;

export class Kept<T> {
  value = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  readonly #read: () => Promise<T>;
  #timer = 0;
  #readAt = 0;
  #turn = 0;
  #isOver = false;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  start(): () => void {
    void this.now();
    return () => {
      this.#isOver = true;
      clearTimeout(this.#timer);
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
      this.error = null;
    } catch (thrown) {
      if (!this.#isOver && turn === this.#turn) this.error = apiError(thrown);
    }
  }

  /** Something changed: at once, or after the rest. */
  again(): void {
    if (this.#readAt === 0 || this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.now(), Math.max(0, this.#readAt + REST_MS - Date.now()));
  }
}
