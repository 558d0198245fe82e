/* One task under a person's eyes: the feed's telling when it has one, the first read before that, and its history,
   which is read again when the task changed. */
import type { ApiError, Calls, TaskDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import type { Feed } from "$lib/feed/feed.svelte";

export type History = Calls["tasks.history"][1];

/** The history follows changes at most this often. */
const HISTORY_REST_MS = 1_000;

export class Detail {
  readonly id: string;
  history = $state.raw<History | null>(null);
  error = $state.raw<ApiError | null>(null);
  #read = $state.raw<TaskDto | null>(null);
  readonly task = $derived.by(() => {
    const told = this.#feed.task?.id === this.id ? this.#feed.task : null;
    if (told === null || this.#read === null) return told ?? this.#read;
    return told.changedAt >= this.#read.changedAt ? told : this.#read;
  });

  readonly #backend: Backend;
  readonly #feed: Feed;
  #timer = 0;
  #readAt = 0;
  #isOver = false;

  constructor(backend: Backend, feed: Feed, id: string) {
    this.#backend = backend;
    this.#feed = feed;
    this.id = id;
  }

  start(): () => void {
    void this.again();
    return () => {
      this.#isOver = true;
      clearTimeout(this.#timer);
    };
  }

  async again(): Promise<void> {
    try {
      const [task] = await Promise.all([this.#backend.call("tasks.show", { id: this.id }), this.#readHistory()]);
      this.take(task);
      this.error = null;
    } catch (thrown) {
      if (!this.#isOver) this.error = apiError(thrown);
    }
  }

  /** What a call gave back is newer than what was known. */
  take(task: TaskDto): void {
    if (!this.#isOver && (this.#read === null || task.changedAt >= this.#read.changedAt)) this.#read = task;
  }

  /** The task changed: its history is read again, at once or after a rest. */
  changed(): void {
    if (this.#readAt === 0) return;
    clearTimeout(this.#timer);
    const rest = Math.max(0, this.#readAt + HISTORY_REST_MS - Date.now());
    this.#timer = window.setTimeout(() => void this.#readHistory().catch(() => undefined), rest);
  }

  async #readHistory(): Promise<void> {
    this.#readAt = Date.now();
    const history = await this.#backend.call("tasks.history", { id: this.id });
    if (!this.#isOver) this.history = history;
  }
}
