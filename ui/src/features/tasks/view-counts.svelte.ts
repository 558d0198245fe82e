/* How many tasks the views have that no figure counts: those of a time, and a person's own. The core counts all of them
   in one call, again after something changed. Views that are a figure are counted by the feed and never asked about. */
import type { Backend } from "$lib/backend/backend";
import { parseFilter, toListQuery, type View } from "$lib/task-filter";

/** Asked at most this often (judgement: a column that people glance at). */
const REST_MS = 1_000;
/** As many as one call takes (`asking.counted_lists_max`). */
const MOST = 100;

export class ViewCounts {
  counted = $state.raw<ReadonlyMap<string, number>>(new Map());
  readonly #backend: Backend;
  #asked = "";
  #readAt = 0;
  #timer = 0;
  #isReading = false;
  #wanted: { readonly queries: readonly string[]; readonly now: number } = { queries: [], now: 0 };

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Called whenever views, tasks or the minute may be others; `state` says which they are. */
  follow(views: readonly View[], state: string, now: number): void {
    const queries = views
      .filter((view) => view.figure === null)
      .map((view) => view.query)
      .slice(0, MOST);
    const asked = `${state} ${queries.join("\n")}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#wanted = { queries, now };
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#parseFilter(), Math.max(0, this.#readAt + REST_MS - Date.now()));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  async #parseFilter(): Promise<void> {
    const { queries, now } = this.#wanted;
    if (queries.length === 0) return;
    if (this.#isReading) {
      this.#timer = window.setTimeout(() => void this.#parseFilter(), REST_MS);
      return;
    }
    this.#isReading = true;
    this.#readAt = Date.now();
    try {
      const { counts } = await this.#backend.call("tasks.counts", {
        queries: queries.map((query) => toListQuery(parseFilter(query).filter, now)),
      });
      this.counted = new Map(
        queries.flatMap((query, at) => {
          const count = counts[at];
          return count === undefined ? [] : [[query, count] as const];
        }),
      );
    } catch {
      // The last numbers stay, as those of the feed do: the banner tells from when they are.
      this.#asked = "";
    } finally {
      this.#isReading = false;
    }
  }
}
