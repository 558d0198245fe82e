/* Where rows stand: stretches of them, the one under the cursor, the group of one, and the pages a new list begins with. Pure. */
import type { ListQuery, TaskRow } from "$lib/bindings";
import { pagesOf, type DisplayedList, type PageName } from "$lib/task-list";

export interface RowRange {
  readonly section: number;
  readonly from: number;
  readonly to: number;
}
export interface Cursor {
  readonly group: string;
  readonly index: number;
  readonly id: string | null;
}

/** The group in which a row stands. */
export function groupOf(row: TaskRow, by: ListQuery["groupBy"]): string {
  switch (by) {
    case "need":
      return row.group;
    case "server":
      return row.server;
    case "agent":
      return row.agent ?? "";
    case "none":
      return "";
  }
}

/** The groups are not known yet: those that come first, or one row for the counts. */
export function firstPages(by: ListQuery["groupBy"]): (PageName | null)[] {
  switch (by) {
    case "none":
      return [{ group: "", page: 0 }];
    case "need":
      return [
        { group: "needsYou", page: 0 },
        { group: "moving", page: 0 },
      ];
    case "server":
    case "agent":
      return [null];
  }
}

/** Pages under the screen, by their place in the newest list; one row for the counts when there is none. */
export function pagesUnder(
  visible: readonly RowRange[],
  shown: DisplayedList,
  folded: ReadonlySet<string>,
): (PageName | null)[] {
  const names = new Map<string, PageName>();
  for (const { section, from, to } of visible) {
    const at = shown.sections[section];
    if (at === undefined || folded.has(at.group)) continue;
    for (const page of pagesOf(at.group, Math.max(0, from + Math.min(0, at.shift)), to + Math.max(0, at.shift)))
      names.set(`${page.page}/${page.group}`, page);
  }
  return names.size > 0 ? [...names.values()] : [null];
}
