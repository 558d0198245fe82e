/* Whether the opened task is hidden from lists, hiding it, and showing it again. What may be hidden is the core's. */
import { untrack } from "svelte";
import type { Toasts } from "$lib/actions";
import type { Backend } from "$lib/backend/backend";
import type { ListQuery, TaskDto } from "$lib/bindings";
import type { Feed } from "$lib/feed/feed.svelte";
import { hide, unhide } from "$lib/task/hide";

/** Hidden tasks that only quote the id are in the page, too; more than so many do not. Judgement. */
const ROWS = 50;

const hiddenWithId = (id: string): ListQuery => ({
  phases: [],
  servers: [],
  agents: [],
  tools: [],
  flags: ["hidden"],
  text: id,
  changedWithinMs: null,
  olderThanMs: null,
  groupBy: "none",
  sort: "newest",
});

export class HiddenMark {
  isHidden = $state(false);
  readonly #backend: Backend;
  readonly #toasts: Toasts;
  readonly #id: string;
  #reads = 0;

  constructor(backend: Backend, toasts: Toasts, id: string) {
    this.#backend = backend;
    this.#toasts = toasts;
    this.#id = id;
  }

  /** Another window may hide the task or show it again, and the core shows one that changes: it is asked again then. */
  follow(feed: Feed, task: () => TaskDto | null): void {
    $effect(() => {
      void [task()?.changedAt, feed.totals?.figures.hidden, feed.begun];
      if (task()?.over === true && feed.connection !== "lost") untrack(() => void this.read());
    });
  }

  /** The core's list of hidden tasks is asked; while it cannot be, what was known stays. */
  async read(): Promise<void> {
    const read = (this.#reads += 1);
    try {
      const input = { query: hiddenWithId(this.#id), group: null, offset: 0, limit: ROWS };
      const { rows } = await this.#backend.call("tasks.page", input);
      if (read === this.#reads) this.isHidden = rows.some((row) => row.id === this.#id);
    } catch {
      // A core that does not answer is told by the banner.
    }
  }

  async hide(): Promise<void> {
    await hide(this.#backend, this.#toasts, { kind: "some", ids: [this.#id] });
    await this.read();
  }

  async unhide(): Promise<void> {
    await unhide(this.#backend, this.#toasts, { kind: "some", ids: [this.#id] });
    await this.read();
  }
}
