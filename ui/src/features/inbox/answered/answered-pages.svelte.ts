/* Answered questions by page, as the list shows them: only pages in sight are loaded. It renders nothing. */
import type { AnsweredDto, ApiError } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";

/** Rows of one page; the core gives no more at once. */
export const PAGE = 50;

export class AnsweredPages {
  total = $state<number | null>(null);
  error = $state.raw<ApiError | null>(null);
  #pages = $state.raw<ReadonlyMap<number, readonly AnsweredDto[]>>(new Map());
  readonly #loading = new Set<number>();
  readonly #backend: Backend;
  /** Raised when what is loaded is no longer the newest. */
  #turn = 0;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  get(index: number): AnsweredDto | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Loads what is in sight and not here yet. */
  show(from: number, to: number): void {
    for (let page = Math.floor(from / PAGE); page <= Math.floor(Math.max(from, to - 1) / PAGE); page += 1)
      if (!this.#pages.has(page)) void this.#load(page);
  }

  /** Something was answered: the first page comes first, the others when they are in sight again. */
  async refresh(): Promise<void> {
    this.#turn += 1;
    this.#loading.clear();
    await this.#load(0, true);
  }

  async #load(page: number, isFresh = false): Promise<void> {
    if (this.#loading.has(page)) return;
    this.#loading.add(page);
    const turn = this.#turn;
    try {
      const read = await this.#backend.call("inbox.answered", { offset: page * PAGE, limit: PAGE });
      if (turn !== this.#turn) return;
      this.total = read.total;
      this.error = null;
      this.#pages = isFresh ? new Map([[page, read.items]]) : new Map([...this.#pages, [page, read.items]]);
    } catch (thrown) {
      if (turn === this.#turn) this.error = apiError(thrown);
    } finally {
      this.#loading.delete(page);
    }
  }
}
