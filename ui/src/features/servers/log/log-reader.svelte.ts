/* Reads the log of one server while it is looked at: the newest page first, then what came since. */
import type { ApiError, ServerLogLine } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import { NO_LINES, withEarlier, withPage, type LogLines } from "./log-lines";

/** How often new lines are asked for. Judgement: a person reads no faster, and a reply without news is a few bytes. */
export const READ_EVERY_MS = 1_000;

export class LogReader {
  log = $state.raw<LogLines>(NO_LINES);
  keptBytes = $state(0);
  error = $state.raw<ApiError | null>(null);
  loaded = $state(false);
  readonly #backend: Backend;
  readonly #name: string;
  #reading = false;

  constructor(backend: Backend, name: string) {
    this.#backend = backend;
    this.#name = name;
  }

  /** Reads until the returned function is called; not while the page is hidden. */
  start(): () => void {
    void this.read();
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void this.read();
    }, READ_EVERY_MS);
    return () => clearInterval(timer);
  }

  /** All that is kept, so that everything can be found; a page has only a part of it. */
  async #readEarlier(): Promise<void> {
    const newest = this.log;
    let earlier: ServerLogLine[] = [];
    let after = newest.first - 1;
    const until = newest.lines[0]?.number ?? newest.next;
    while (after < until - 1) {
      const page = await this.#backend.call("servers.log", { name: this.#name, after });
      const last = page.lines.at(-1);
      if (last === undefined || last.number <= after) break;
      earlier = [...earlier, ...page.lines];
      after = last.number;
    }
    this.log = withEarlier(newest, earlier);
  }

  async read(): Promise<void> {
    // One at a time: an answer that comes late must not put lines in twice.
    if (this.#reading) return;
    this.#reading = true;
    try {
      const after = this.loaded ? { after: this.log.next - 1 } : {};
      const page = await this.#backend.call("servers.log", { name: this.#name, ...after });
      const restarted = page.next < this.log.next;
      const whole = restarted ? await this.#backend.call("servers.log", { name: this.#name }) : page;
      this.log = withPage(this.log, whole);
      this.keptBytes = whole.keptBytes;
      this.error = null;
      if (!this.loaded || restarted) await this.#readEarlier();
      this.loaded = true;
    } catch (thrown) {
      this.error = apiError(thrown);
    } finally {
      this.#reading = false;
    }
  }
}
