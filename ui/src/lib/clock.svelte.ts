/* One ticker for "4 min ago". Stories and tests hold it still with `freeze`. */
const TICK_MS = 1_000;

class Clock {
  now = $state(Date.now());
  #frozen = false;

  /** Ticks until the returned function is called. */
  start(): () => void {
    const timer = setInterval(() => {
      if (!this.#frozen) this.now = Date.now();
    }, TICK_MS);
    return () => clearInterval(timer);
  }

  freeze(at: number): void {
    this.#frozen = true;
    this.now = at;
  }
}

/** The page has one clock, as the world has. */
export const clock = new Clock();
