/* Pings the core at a steady pace and says when it stops answering and when it answers again. Time is the monotonic
   clock, and a measurement that was held up (a suspended machine, a throttled tab) starts again: neither is a silence of
   the core. It keeps no rows and opens no feed; feed.svelte.ts decides what a silence means. */
import type { ApiError } from "$lib/bindings";
import { apiError } from "$lib/backend/backend";
import { ERRORS } from "$lib/text/app";

/** Between two pings (issue 11, "Watchdog and heartbeat"). */
export const PING_EVERY_MS = 5_000;
/** Time for an answer. With the pause before it this stays under the 10 s within which people must be told (issue 11). */
export const PING_LIMIT_MS = 4_000;
/** A timer that comes this late was held up, so nothing is known about the time in between (judgement). */
export const HELD_UP_MS = 2_000;
/** A ping that cannot be aborted (in the window) is given up after this, and another one is sent (judgement). */
export const PING_FORGOTTEN_MS = 30_000;

export interface HeartbeatEvents {
  /** Resolves or rejects with an `ApiError`; any answer but `noCore` proves that the core is alive. */
  ping(signal: AbortSignal): Promise<unknown>;
  answered(): void;
  /** Called again for every further ping without an answer. */
  silent(why: ApiError): void;
}

interface Ping {
  readonly sentAt: number;
  readonly abort: AbortController;
  isLate: boolean;
}

const noAnswer: ApiError = { code: "noCore", ...ERRORS.silentCore };

export class Heartbeat {
  readonly #on: HeartbeatEvents;
  #ping: Ping | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = 0;
  #heardAt = -1;
  #isRunning = false;

  constructor(on: HeartbeatEvents) {
    this.#on = on;
  }

  start(): () => void {
    this.#isRunning = true;
    this.#send();
    return () => {
      this.#isRunning = false;
      clearTimeout(this.#timer);
      this.#ping?.abort.abort();
      this.#ping = null;
    };
  }

  /** Asks at once: the page is looked at again, or a person wants to know. */
  check(): void {
    if (this.#isRunning) this.#send();
  }

  /** The core was heard in another way, by a frame or a blank line of the feed: as good as an answer. */
  heard(): void {
    if (!this.#isRunning) return;
    this.#heardAt = performance.now();
    this.#on.answered();
  }

  #send(): void {
    this.#ping?.abort.abort();
    const ping: Ping = { sentAt: performance.now(), abort: new AbortController(), isLate: false };
    this.#ping = ping;
    this.#wait(PING_LIMIT_MS);
    this.#on.ping(ping.abort.signal).then(
      () => this.#settle(ping, null),
      (thrown: unknown) => this.#settle(ping, apiError(thrown)),
    );
  }

  #settle(ping: Ping, error: ApiError | null): void {
    if (!this.#isRunning) return;
    const isCurrent = this.#ping === ping;
    if (isCurrent) {
      this.#ping = null;
      this.#wait(this.#untilNext(ping));
    }
    if (error?.code !== "noCore") this.heard();
    else if (isCurrent && this.#heardAt < ping.sentAt) this.#on.silent(error);
  }

  #wait(forMs: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + forMs;
    this.#timer = setTimeout(() => this.#turn(), forMs);
  }

  #turn(): void {
    const now = performance.now();
    const ping = this.#ping;
    if (ping === null || now - this.#dueAt > HELD_UP_MS) return this.#send();
    const age = now - ping.sentAt;
    // Slow calls may take every connection of a browser: a feed that goes on is proof enough.
    const isHeard = this.#heardAt >= ping.sentAt;
    if (age >= PING_EVERY_MS && (isHeard || age >= PING_FORGOTTEN_MS)) return this.#send();
    this.#wait(this.#untilNext(ping));
    if (ping.isLate || isHeard) return;
    ping.isLate = true;
    // In a browser this frees the connection; in the window the ping stays until it is answered.
    ping.abort.abort();
    this.#on.silent(noAnswer);
  }

  #untilNext(ping: Ping): number {
    return Math.max(PING_EVERY_MS - PING_LIMIT_MS, ping.sentAt + PING_EVERY_MS - performance.now());
  }
}
