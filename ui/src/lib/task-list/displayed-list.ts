/* The list on the screen while the list underneath changes. Below the row a person looks at, changes show at once; above
   it they are frozen and counted ("12 changes"), so that the row does not move. Cells still update in place. Pure; its
   cost depends on the loaded rows, not on the length of the list. */
import {
  countOf,
  find,
  fromLoadedRows,
  idAt,
  EMPTY_LIST,
  loadedRows,
  type LoadedList,
  type LoadedRow,
} from "./loaded-list";

export interface DisplayedSection {
  readonly group: string;
  readonly count: number;
  /** Rows before this index stand as they were (`frozen`); from it on they are the newest (`live`), moved by `shift`. */
  readonly frozenTo: number;
  readonly shift: number;
}

export interface DisplayedList {
  readonly sections: readonly DisplayedSection[];
  readonly live: LoadedList;
  readonly frozen: LoadedList;
  /** Changes that wait above; 0 when what is shown is what is. */
  readonly pendingChanges: number;
}

/** The row that must not be pushed. */
export interface Anchor {
  readonly group: string;
  readonly index: number;
}

/** Rows after the anchor that may take its part when it left the group (judgement: a screen). */
const NEIGHBOURS = 40;

export const NOTHING_DISPLAYED: DisplayedList = {
  sections: [],
  live: EMPTY_LIST,
  frozen: EMPTY_LIST,
  pendingChanges: 0,
};

/** Everything as it is. */
export function displayLatest(live: LoadedList): DisplayedList {
  return {
    sections: live.groups.map(({ group, count }) => ({ group, count, frozenTo: 0, shift: 0 })),
    live,
    frozen: EMPTY_LIST,
    pendingChanges: 0,
  };
}

export function displayedId(shown: DisplayedList, section: number, index: number): string | undefined {
  const at = shown.sections[section];
  if (at === undefined || index >= at.count) return undefined;
  return index < at.frozenTo ? idAt(shown.frozen, at.group, index) : idAt(shown.live, at.group, index + at.shift);
}

/** Takes a newer list. Without an anchor it is shown as it is. */
export function updateDisplayed(shown: DisplayedList, live: LoadedList, anchor: Anchor | null): DisplayedList {
  const at = anchor === null ? -1 : shown.sections.findIndex((section) => section.group === anchor.group);
  if (anchor === null || at < 0) return displayLatest(live);
  const rows = loaded(shown);
  const bound = boundary(shown, live, at, anchor.index);
  const pendingChanges = changesAbove(
    shown,
    rows,
    live,
    at,
    bound ?? { index: anchor.index + 1, now: anchor.index + 1 },
  );
  if (bound !== null && bound.index === anchor.index && pendingChanges === 0) return displayLatest(live);
  const frozen = fromLoadedRows(shown.sections, shown.live, rows);
  if (bound === null || isTwice(shown, rows, live, at, bound)) {
    return {
      sections: shown.sections.map((section) => ({ ...section, frozenTo: section.count, shift: 0 })),
      live,
      frozen,
      pendingChanges: Math.max(1, pendingChanges),
    };
  }
  return { sections: mixed(shown, live, at, bound), live, frozen, pendingChanges: Math.max(1, pendingChanges) };
}

/** What is loaded of what is shown, as it stands on the screen. */
function loaded(shown: DisplayedList): LoadedRow[] {
  const sections = new Map(shown.sections.map((section) => [section.group, section]));
  const before = loadedRows(shown.frozen).filter(({ group, index }) => index < (sections.get(group)?.frozenTo ?? 0));
  const after = loadedRows(shown.live).flatMap(({ group, index, id }) => {
    const section = sections.get(group);
    const here = index - (section?.shift ?? 0);
    return section && here >= section.frozenTo && here < section.count ? [{ group, index: here, id }] : [];
  });
  return [...before, ...after];
}

/** Where the list below goes on: an index as shown, and the same row's index in the newer list. */
interface Bound {
  readonly index: number;
  readonly now: number;
}

function boundary(shown: DisplayedList, live: LoadedList, at: number, index: number): Bound | null {
  const section = shown.sections[at];
  if (section === undefined) return null;
  for (let step = index; step < Math.min(index + NEIGHBOURS, section.count); step += 1) {
    const id = displayedId(shown, at, step);
    if (id === undefined) return null;
    const now = find(live, section.group, id);
    if (now !== null) return { index: step, now };
  }
  return null;
}

/** Differences above the bound: in counts; where these are equal, among the rows that are loaded in both. */
function changesAbove(
  shown: DisplayedList,
  rows: readonly LoadedRow[],
  live: LoadedList,
  at: number,
  bound: Bound,
): number {
  const above = shown.sections.slice(0, at);
  const here = shown.sections[at]?.group;
  const known = new Set([...above.map((section) => section.group), here]);
  const place = live.groups.findIndex((group) => group.group === here);
  let counted = Math.abs(bound.now - bound.index);
  for (const section of above) counted += Math.abs(section.count - countOf(live, section.group));
  for (const group of live.groups.slice(0, Math.max(0, place))) if (!known.has(group.group)) counted += group.count;
  if (counted > 0) return counted;
  const groups = new Set(above.map((section) => section.group));
  return rows.filter(({ group, index, id }) => {
    const isAbove = groups.has(group) || (group === here && index <= bound.index);
    const now = isAbove ? idAt(live, group, index) : undefined;
    return now !== undefined && now !== id;
  }).length;
}

/** Whether a row would stand both above, as it was, and below, as it is. */
function isTwice(
  shown: DisplayedList,
  rows: readonly LoadedRow[],
  live: LoadedList,
  at: number,
  bound: Bound,
): boolean {
  const groups = new Set(shown.sections.slice(0, at).map((section) => section.group));
  const here = shown.sections[at]?.group;
  const above = new Set(
    rows.filter(({ group, index }) => groups.has(group) || (group === here && index < bound.index)).map(({ id }) => id),
  );
  return loadedRows(live).some(
    ({ group, index, id }) => above.has(id) && !groups.has(group) && (group !== here || index >= bound.now),
  );
}

/** Above as it was, below as it is. */
function mixed(shown: DisplayedList, live: LoadedList, at: number, bound: Bound): DisplayedSection[] {
  const above = shown.sections.slice(0, at).map((section) => ({ ...section, frozenTo: section.count, shift: 0 }));
  const group = shown.sections[at]?.group ?? "";
  const shift = bound.now - bound.index;
  const here = { group, count: Math.max(bound.index, countOf(live, group) - shift), frozenTo: bound.index, shift };
  const known = new Set([...above.map((section) => section.group), group]);
  const place = live.groups.findIndex((one) => one.group === group);
  const below = live.groups
    .slice(place + 1)
    .filter((one) => !known.has(one.group))
    .map((one) => ({ group: one.group, count: one.count, frozenTo: 0, shift: 0 }));
  return [...above, here, ...below];
}
