/* The lists of tasks that were shown last, by their query, so that a place that is opened again has its rows at once, also
   while the core does not answer. It lives as long as the page; lists are read and refreshed elsewhere. */
import { getContext, setContext } from "svelte";
import type { TaskRow } from "$lib/bindings";
import type { LoadedList } from "./loaded-list";

export interface CachedList {
  readonly live: LoadedList;
  readonly rows: ReadonlyMap<string, TaskRow>;
  /** When it was read (ms since the epoch). */
  readonly at: number;
}

/** Lists kept at most (judgement: every view of the rail once). */
const LISTS_KEPT = 12;

export class ListCache {
  readonly #lists = new Map<string, CachedList>();

  get(query: string): CachedList | undefined {
    return this.#lists.get(query);
  }

  put(query: string, list: CachedList): void {
    this.#lists.delete(query);
    this.#lists.set(query, list);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > LISTS_KEPT && oldest !== undefined) this.#lists.delete(oldest);
  }
}

const KEPT = Symbol("kept lists");
export const setListCache = (kept: ListCache): ListCache => setContext(KEPT, kept);
export const getListCache = (): ListCache => getContext<ListCache>(KEPT);
