/* The list of tasks as runes: it asks the core for the pages in sight, follows the feed, and keeps cursor, folds and
   selection. What is shown while things change is decided in lib/task-list; what is drawn, by the components. */
import { untrack } from "svelte";
import type { ApiError, ListQuery, ListView, TaskRow, TextReach } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import { clock } from "$lib/clock.svelte";
import type { FeedState } from "$lib/feed/feed-state";
import type { Feed } from "$lib/feed/feed.svelte";
import { parseFilter, toListQuery, type Filter } from "$lib/task-filter";
import type { BulkTarget } from "../selection/bulk-target";
import { firstPages, groupOf, pagesUnder, type Cursor, type RowRange } from "./row-place";
import {
  addToSelection,
  ALL_MATCHING,
  countOf,
  NOTHING_DISPLAYED,
  hasPage,
  displayedId,
  isSelected,
  loadedList,
  newer,
  NOTHING_SELECTED,
  rowNumberOf,
  PAGE,
  pagesOf,
  positionAt,
  displayLatest,
  rowCount,
  selectionSize,
  loadedRows,
  toggleSelected,
  updateDisplayed,
  withPage,
  type Anchor,
  type Selection,
  type ListCache,
  type LoadedPage,
  type PageName,
  type RowPosition,
  type DisplayedList,
} from "$lib/task-list";

/** Counts changed: the pages in sight are read again, at most this often (the core counts five times a second). */
const COUNTS_REST_MS = 250;
/** Something changed somewhere and counts stayed: rows may have changed places. Cells do not wait for this. */
const CHANGES_REST_MS = 2_000;
/** The core answered with an error: it is asked again by itself, at most this often. */
const ERROR_REST_MS = 5_000;

export class TaskList {
  shown = $state.raw<DisplayedList>(NOTHING_DISPLAYED);
  /** Every loaded row by id; the feed's newer telling wins where both know it. */
  rows = $state.raw<ReadonlyMap<string, TaskRow>>(new Map());
  filter = $state.raw<Filter>(parseFilter("").filter);
  error = $state.raw<ApiError | null>(null);
  /** When the rows were last read; 0 before the first time. */
  loadedAt = $state(0);
  folded = $state.raw<ReadonlySet<string>>(new Set());
  cursor = $state.raw<Cursor | null>(null);
  selection = $state.raw<Selection>(NOTHING_SELECTED);
  /** What the feed told of rows. Held here, because every frame changes the feed's state, and rows hardly ever. */
  #updated = $state.raw<ReadonlyMap<string, TaskRow>>(new Map());
  /** How far a text was searched in what tasks say; null where none was. */
  reach = $state.raw<TextReach | null>(null);
  /** The task that is open is not among those that match. */
  isOutside = $state(false);
  readonly total = $derived(this.shown.live.total);
  readonly isHidden = $derived(this.filter.flags.includes("hidden"));
  readonly count = $derived(rowCount(this.shown.sections, this.folded));
  readonly number = $derived(
    this.cursor === null ? -1 : rowNumberOf(this.shown.sections, this.folded, this.cursor.group, this.cursor.index),
  );
  readonly selectedCount = $derived(selectionSize(this.selection, this.total));

  readonly #backend: Backend;
  readonly #feed: Feed;
  readonly #cache: ListCache;
  /** Counts up with every new question, so that late answers to an old one are dropped. */
  #turn = 0;
  #queryText = "";
  #visible: readonly RowRange[] = [];
  #loading = new Set<string>();
  #seen = { view: "", changes: 0, begun: 0 };
  #timer = 0;
  #due = Infinity;
  #readAt = 0;
  #isReading = false;
  #watched = "";
  #showsNext = false;
  /** The row under the pointer, by its number; -1 for none. */
  #pointed = -1;
  #hasFocus = false;

  constructor(backend: Backend, feed: Feed, cache: ListCache) {
    this.#backend = backend;
    this.#feed = feed;
    this.#cache = cache;
  }

  /** Whether a row in sight stands in a section that is no longer its own. */
  #hasLeft(): boolean {
    if (this.filter.groupBy !== "need") return false;
    return this.#visible.some(({ section, from, to }) => {
      const group = this.shown.sections[section]?.group;
      for (let at = from; at < to; at += 1) {
        const row = this.row(section, at);
        if (row !== undefined && row.group !== group) return true;
      }
      return false;
    });
  }

  /** Another question: everything begins anew, and the old rows stay until the answer is here. */
  ask(text: string): void {
    if (text === this.#queryText && this.#turn > 0) return;
    this.#queryText = text;
    this.#turn += 1;
    this.filter = parseFilter(text).filter;
    this.cursor = null;
    this.selection = NOTHING_SELECTED;
    this.#visible = [];
    this.#loading.clear();
    this.#isReading = false;
    this.#showKept(text);
    void this.#parseFilter(true);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#feed.focus({ query: null, ids: [] });
  }

  query(): ListQuery {
    return toListQuery(this.filter, clock.now);
  }

  /** How many tasks a section has by now, whatever of it keeps its place on the screen. */
  countOf(group: string): number {
    return countOf(this.shown.live, group);
  }

  /** Called with every state of the feed. */
  heard(state: FeedState | null): void {
    if (state === null || this.#turn === 0) return;
    if (state.rows !== this.#updated) this.#updated = state.rows;
    const view = state.view === null ? "" : JSON.stringify(state.view);
    const was = this.#seen;
    this.#seen = { view, changes: state.changes, begun: this.#feed.begun };
    // The first snapshot is no news, unless the list could not be read before it.
    if (was.begun === 0 && this.error === null) return;
    if (this.#seen.begun !== was.begun || (view !== "" && view !== was.view)) this.#soon(COUNTS_REST_MS);
    else if (state.changes !== was.changes) this.#soon(this.#hasLeft() ? COUNTS_REST_MS : CHANGES_REST_MS);
  }

  /** What is on the screen, overscan included. */
  show(ranges: readonly RowRange[]): void {
    this.#visible = ranges;
    // Called while the list is drawn: what is read here is no reason to draw it again.
    untrack(() => {
      this.#watch();
      this.#fill();
    });
  }

  row(section: number, index: number): TaskRow | undefined {
    const id = displayedId(this.shown, section, index);
    return id === undefined ? undefined : this.byId(id);
  }

  byId(id: string): TaskRow | undefined {
    return newer(this.rows.get(id), this.#updated.get(id));
  }

  /** The pointer is over a row, or over none any more: then what waited takes its place. */
  pointAt(at: number): void {
    if (at === this.#pointed) return;
    this.#pointed = at;
    if (this.shown.pendingChanges > 0) this.#soon(COUNTS_REST_MS);
  }

  focused(isHere: boolean): void {
    this.#hasFocus = isHere;
    if (!isHere && this.shown.pendingChanges > 0) this.#soon(COUNTS_REST_MS);
  }

  /** The row under the cursor. */
  get under(): TaskRow | undefined {
    return this.cursor?.id ? this.byId(this.cursor.id) : undefined;
  }

  /** The cursor stands on another row: what waited above may show. Returns its number afterwards. */
  moveTo(at: number): number {
    const place = positionAt(this.shown.sections, this.folded, at);
    if (place === null) return -1;
    this.cursor = this.#cursorAt(place);
    this.release();
    return this.number;
  }

  /** Shows what waits. */
  release(): void {
    if (this.shown.pendingChanges === 0) return;
    this.shown = displayLatest(this.shown.live);
    this.#keepCursor();
  }

  /** Finds the row of an opened task, wherever it stands, and puts the cursor on it. Returns its number; -1 when it is
   *  under the cursor already, or not in this list. */
  async reveal(id: string | null): Promise<number> {
    this.isOutside = false;
    if (id === null || this.cursor?.id === id) return -1;
    const query = this.query();
    const turn = this.#turn;
    try {
      // With words to look for, the id cannot be asked for beside them: then only what is newest is looked through.
      const named = query.text === null ? await this.#page({ ...query, text: id }, null) : null;
      if (turn !== this.#turn) return -1;
      const [row] = named?.rows ?? [this.byId(id)];
      this.isOutside = named !== null && row?.id !== id;
      if (row?.id !== id) return -1;
      const group = groupOf(row, query.groupBy);
      const { page, rows, view } = await this.#page(query, { group, page: 0 });
      const index = page?.ids.indexOf(id) ?? -1;
      if (turn !== this.#turn || page === null || index < 0) return -1;
      this.#keep(rows);
      this.shown = displayLatest(loadedList(view, [...this.shown.live.pages.values(), page]));
      if (this.folded.has(group)) this.fold(group);
      this.cursor = { group, index, id };
      return this.number;
    } catch {
      // The list is as it was; whether the task is in it is not known.
      return -1;
    }
  }

  fold(group: string): void {
    const next = new Set(this.folded);
    if (!next.delete(group)) next.add(group);
    this.folded = next;
  }

  isSelected(row: TaskRow): boolean {
    return isSelected(this.selection, row.id);
  }

  toggleSelected(id: string): void {
    this.selection = toggleSelected(this.selection, id, () => this.#loadedOpen());
  }

  /** Everything between two numbers, whatever is loaded of it. */
  extend(from: number, to: number): void {
    const ids: string[] = [];
    for (let at = Math.min(from, to); at <= Math.max(from, to); at += 1) {
      const place = positionAt(this.shown.sections, this.folded, at);
      const id = place === null ? undefined : displayedId(this.shown, place.section, place.index);
      if (id !== undefined) ids.push(id);
    }
    this.selection = addToSelection(this.selection, ids);
  }

  /** Everything that matches, whatever is loaded of it. */
  selectAll(): void {
    this.selection = ALL_MATCHING;
  }

  /** What the selection stands for. */
  target(): BulkTarget {
    const { selection } = this;
    return selection.kind === "all" ? { kind: "all", query: this.query() } : { kind: "some", ids: [...selection.ids] };
  }

  clear(): void {
    this.selection = NOTHING_SELECTED;
  }

  /** Reads again at once, after an error. */
  again(): void {
    void this.#parseFilter(this.shown.sections.length === 0);
  }

  /** Reads the list again and shows it as it is, also where a person points: they moved the rows themselves. */
  showNext(): void {
    this.#showsNext = true;
    void this.#parseFilter(false);
  }

  /** What this question was answered last time stands until the core answers it anew. */
  #showKept(text: string): void {
    const cached = this.#cache.get(text);
    if (cached === undefined) return;
    this.rows = new Map([...this.rows, ...cached.rows]);
    this.shown = displayLatest(cached.live);
    this.loadedAt = cached.at;
  }

  #loadedOpen(): string[] {
    return loadedRows(this.shown.live)
      .filter(({ group }) => !this.folded.has(group))
      .map(({ id }) => id);
  }

  #cursorAt({ section, index }: RowPosition): Cursor | null {
    const group = this.shown.sections[section]?.group;
    return group === undefined ? null : { group, index, id: displayedId(this.shown, section, index) ?? null };
  }

  /** After the list moved: the cursor stays with its row where that stays in its group, else with its place. */
  #keepCursor(): void {
    const { cursor } = this;
    if (cursor === null) return;
    const at = this.shown.sections.findIndex((section) => section.group === cursor.group);
    const section = this.shown.sections[at];
    if (section === undefined) {
      this.cursor = null;
      return;
    }
    const stays = loadedRows(this.shown.live).find((one) => one.group === cursor.group && one.id === cursor.id);
    const index = Math.min(stays?.index ?? cursor.index, section.count - 1);
    this.cursor = { group: cursor.group, index, id: displayedId(this.shown, at, index) ?? null };
  }

  #soon(rest: number): void {
    const due = Math.max(Date.now(), this.#readAt + rest);
    if (due >= this.#due) return;
    this.#due = due;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#parseFilter(false), Math.max(0, due - Date.now()));
  }

  /** Reads counts and the pages in sight as one new list. */
  async #parseFilter(isNew: boolean): Promise<void> {
    clearTimeout(this.#timer);
    this.#due = Infinity;
    if (this.#isReading) {
      this.#soon(COUNTS_REST_MS);
      return;
    }
    this.#isReading = true;
    this.#readAt = Date.now();
    const isOwn = this.#showsNext;
    this.#showsNext = false;
    const turn = this.#turn;
    const query = this.query();
    try {
      const names = isNew ? firstPages(this.filter.groupBy) : pagesUnder(this.#visible, this.shown, this.folded);
      const answers = await Promise.all(names.map((at) => this.#page(query, at)));
      if (turn !== this.#turn) return;
      const view = answers[answers.length - 1]?.view;
      if (view === undefined) return;
      const live = loadedList(
        view,
        answers.flatMap(({ page }) => (page === null ? [] : [page])),
      );
      this.reach = view.text ?? null;
      this.#keep(answers.flatMap(({ rows }) => rows));
      this.shown = isNew || isOwn ? displayLatest(live) : updateDisplayed(this.shown, live, this.#anchor());
      if (this.shown.pendingChanges === 0) this.#keepCursor();
      this.error = null;
      this.loadedAt = Date.now();
      this.#prune();
      this.#cache.put(this.#queryText, { live, rows: this.rows, at: this.loadedAt });
      if (isNew) this.#feed.focus({ query });
    } catch (thrown) {
      if (turn !== this.#turn) return;
      this.#failed(thrown);
      // Rows of another question must not stand under this one.
      if (isNew && this.#cache.get(this.#queryText) === undefined) {
        this.shown = NOTHING_DISPLAYED;
        this.loadedAt = 0;
      }
    } finally {
      if (turn === this.#turn) {
        this.#isReading = false;
        this.#watch();
        this.#fill();
      }
    }
  }

  async #page(
    query: ListQuery,
    at: PageName | null,
  ): Promise<{ view: ListView; rows: TaskRow[]; page: LoadedPage | null }> {
    const group = at === null || query.groupBy === "none" ? null : at.group;
    const { rows, view } = await this.#backend.call("tasks.page", {
      query,
      group,
      offset: (at?.page ?? 0) * PAGE,
      limit: at === null ? 1 : PAGE,
    });
    // An ungrouped list is one group without a name.
    const groups = query.groupBy === "none" ? [{ group: "", count: view.total }] : view.groups;
    return {
      view: { ...view, groups },
      rows,
      page: at === null ? null : { ...at, ids: rows.map((row) => row.id) },
    };
  }

  /** Loads what is in sight and not there yet, a page at a time, the newest sight first. */
  #fill(): void {
    if (this.#loading.size > 0 || this.#isReading) return;
    for (const { section, from, to } of this.#visible) {
      const at = this.shown.sections[section];
      if (at === undefined || this.folded.has(at.group)) continue;
      const held = Math.min(to, at.frozenTo);
      if (
        from < held &&
        Array.from({ length: held - from }, (_, step) => displayedId(this.shown, section, from + step)).includes(
          undefined,
        )
      ) {
        // Rows that were never loaded cannot be shown as they were.
        this.release();
        return this.#fill();
      }
      for (const page of pagesOf(at.group, Math.max(from, at.frozenTo) + at.shift, to + at.shift)) {
        if (!hasPage(this.shown.live, page)) return void this.#load(page);
      }
    }
  }

  async #load(at: PageName): Promise<void> {
    const key = `${at.page}/${at.group}`;
    const turn = this.#turn;
    this.#loading.add(key);
    try {
      const { page, rows } = await this.#page(this.query(), at);
      if (turn !== this.#turn || page === null) return;
      this.#keep(rows);
      this.shown = { ...this.shown, live: withPage(this.shown.live, page) };
      this.error = null;
      this.#prune();
    } catch (thrown) {
      if (turn === this.#turn) this.#failed(thrown);
      return;
    } finally {
      this.#loading.delete(key);
    }
    this.#watch();
    this.#fill();
  }

  /** What a new snapshot does not bring back is asked for again. A wrong question stays wrong. */
  #failed(thrown: unknown): void {
    this.error = apiError(thrown);
    if (this.error.code !== "usage" && this.#feed.connection === "live") this.#soon(ERROR_REST_MS);
  }

  #keep(rows: readonly TaskRow[]): void {
    const next = new Map(this.rows);
    for (const row of rows) next.set(row.id, newer(row, next.get(row.id)) ?? row);
    this.rows = next;
  }

  /** Rows that stand nowhere are let go. */
  #prune(): void {
    const cached = new Set([...loadedRows(this.shown.live), ...loadedRows(this.shown.frozen)].map(({ id }) => id));
    if (this.rows.size <= cached.size + PAGE) return;
    this.rows = new Map([...this.rows].filter(([id]) => cached.has(id)));
  }

  /** The row nothing may push: that under the pointer or with the focus, the lower of both; else the first in sight once
   *  the list is scrolled. What nobody points at takes its place at once. */
  #anchor(): Anchor | null {
    const { cursor } = this;
    const isSeen =
      this.#hasFocus &&
      cursor !== null &&
      this.#visible.some(
        ({ section, from, to }) =>
          this.shown.sections[section]?.group === cursor.group && cursor.index >= from && cursor.index < to,
      );
    const place = positionAt(this.shown.sections, this.folded, Math.max(isSeen ? this.number : -1, this.#pointed));
    const held = place === null ? undefined : this.shown.sections[place.section];
    if (place !== null && held !== undefined) return { group: held.group, index: place.index };
    const first = this.#visible.find(({ from, to }) => to > from);
    const group = first === undefined ? undefined : this.shown.sections[first.section]?.group;
    if (first === undefined || group === undefined || (first.section === 0 && first.from === 0)) return null;
    return { group, index: first.from };
  }

  /** Tells the feed which rows are in sight. */
  #watch(): void {
    const ids = this.#visible.flatMap(({ section, from, to }) =>
      Array.from({ length: Math.max(0, to - from) }, (_, step) => displayedId(this.shown, section, from + step)).filter(
        (id) => id !== undefined,
      ),
    );
    const key = ids.join();
    if (key === this.#watched) return;
    this.#watched = key;
    this.#feed.focus({ query: this.query(), ids });
  }
}
