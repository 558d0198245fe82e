/* A list that is longer than what is loaded: counts of its groups, and pages of ids where they were asked for.
   Immutable; it loads nothing and knows no rows. What is shown while it changes is in displayed-list.ts. */
import type { ListGroup, ListView } from "$lib/bindings";

/** Rows asked for at a time (judgement: three screens of the compact row). */
export const PAGE = 100;
/** Pages kept at most; those loaded first go first. 60 pages are 6,000 ids. */
const PAGES_KEPT = 60;

export interface PageName {
  readonly group: string;
  readonly page: number;
}
export interface LoadedPage extends PageName {
  /** Holes where nothing is known. */
  readonly ids: readonly (string | undefined)[];
}
export interface LoadedList {
  readonly groups: readonly ListGroup[];
  readonly total: number;
  /** Tasks that there are whatever the question, counted with it. */
  readonly all: number;
  /** Tasks that match and that a person hid. */
  readonly hidden: number;
  readonly pages: ReadonlyMap<string, LoadedPage>;
}
export interface LoadedRow {
  readonly group: string;
  readonly index: number;
  readonly id: string;
}

export const EMPTY_LIST: LoadedList = { groups: [], total: 0, all: 0, hidden: 0, pages: new Map() };

const name = ({ group, page }: PageName) => `${page}/${group}`;

/** A new list from the answers to one round of questions. Groups without rows are left out. */
export function loadedList(view: ListView, pages: readonly LoadedPage[]): LoadedList {
  return {
    groups: view.groups.filter((group) => group.count > 0),
    total: view.total,
    all: view.all,
    hidden: view.hidden ?? 0,
    pages: new Map(pages.map((page) => [name(page), page])),
  };
}

export function withPage(list: LoadedList, page: LoadedPage): LoadedList {
  const pages = new Map(list.pages);
  pages.delete(name(page));
  pages.set(name(page), page);
  const over = pages.size - PAGES_KEPT;
  return { ...list, pages: over > 0 ? new Map([...pages].slice(over)) : pages };
}

export function hasPage(list: LoadedList, at: PageName): boolean {
  return list.pages.has(name(at));
}

export function idAt(list: LoadedList, group: string, index: number): string | undefined {
  return list.pages.get(name({ group, page: Math.floor(index / PAGE) }))?.ids[index % PAGE];
}

export function countOf(list: LoadedList, group: string): number {
  return list.groups.find((one) => one.group === group)?.count ?? 0;
}

/** Pages that hold the rows from `from` to `to` (exclusive). */
export function pagesOf(group: string, from: number, to: number): PageName[] {
  if (to <= from) return [];
  const first = Math.floor(Math.max(0, from) / PAGE);
  const last = Math.floor((to - 1) / PAGE);
  return Array.from({ length: last - first + 1 }, (_, at) => ({ group, page: first + at }));
}

/** Everything that is loaded, page by page. */
export function loadedRows(list: LoadedList): LoadedRow[] {
  return [...list.pages.values()].flatMap(({ group, page, ids }) =>
    ids.flatMap((id, at) => (id === undefined ? [] : [{ group, index: page * PAGE + at, id }])),
  );
}

/** The other way: a list from single places. */
export function fromLoadedRows(
  groups: readonly ListGroup[],
  { total, all, hidden }: Pick<LoadedList, "total" | "all" | "hidden">,
  places: readonly LoadedRow[],
): LoadedList {
  const pages = new Map<string, { group: string; page: number; ids: (string | undefined)[] }>();
  for (const { group, index, id } of places) {
    const at = { group, page: Math.floor(index / PAGE) };
    const page = pages.get(name(at)) ?? { ...at, ids: [] };
    page.ids[index % PAGE] = id;
    pages.set(name(at), page);
  }
  return { groups, total, all, hidden, pages };
}

/** Where an id stands among what is loaded of a group; null when it is not there. */
export function find(list: LoadedList, group: string, id: string): number | null {
  for (const page of list.pages.values()) {
    const at = page.group === group ? page.ids.indexOf(id) : -1;
    if (at >= 0) return page.page * PAGE + at;
  }
  return null;
}
