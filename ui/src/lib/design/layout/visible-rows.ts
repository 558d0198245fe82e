/* Which rows of a long list are in sight: plain arithmetic over sections of equal rows. No DOM here. */
export interface Section {
  readonly key: string;
  /** Rows; 0 when folded. */
  readonly count: number;
}
export interface PlacedSection {
  readonly key: string;
  readonly at: number;
  /** Top of the section, its header included. */
  readonly top: number;
  readonly height: number;
  readonly count: number;
  /** Rows before this section. */
  readonly before: number;
}
export interface VisibleSlice {
  readonly section: PlacedSection;
  readonly from: number;
  /** The index after the last one. */
  readonly to: number;
}

export function placeSections(sections: readonly Section[], rowPx: number, headerPx: number): PlacedSection[] {
  let top = 0;
  let before = 0;
  return sections.map((section, at) => {
    const placed: PlacedSection = {
      key: section.key,
      at,
      top,
      height: headerPx + section.count * rowPx,
      count: section.count,
      before,
    };
    top += placed.height;
    before += section.count;
    return placed;
  });
}

/** Sections and rows that touch the window, with `overscan` rows on both sides. */
export function visibleSlices(
  placed: readonly PlacedSection[],
  rowPx: number,
  headerPx: number,
  scrollTop: number,
  viewPx: number,
  overscan: number,
): VisibleSlice[] {
  const from = scrollTop - overscan * rowPx;
  const to = scrollTop + viewPx + overscan * rowPx;
  const found: VisibleSlice[] = [];
  for (const section of placed) {
    if (section.top + section.height < from || section.top > to) continue;
    const rowsTop = section.top + headerPx;
    const first = clamp(Math.floor((from - rowsTop) / rowPx), section.count);
    const last = clamp(Math.ceil((to - rowsTop) / rowPx), section.count);
    found.push({ section, from: first, to: Math.max(first, last) });
  }
  return found;
}

/** Whether a row among these is not loaded. */
export function hasHole(
  slices: readonly VisibleSlice[],
  isLoaded: (section: number, index: number) => boolean,
): boolean {
  return slices.some(({ section, from, to }) =>
    Array.from({ length: to - from }, (_, step) => isLoaded(section.at, from + step)).includes(false),
  );
}

/** The section and row of a place in the whole list; null when there is none. */
export function locate(
  placed: readonly PlacedSection[],
  index: number,
): { section: PlacedSection; row: number } | null {
  if (index < 0) return null;
  for (const section of placed) {
    if (index < section.before + section.count) return { section, row: index - section.before };
  }
  return null;
}

/** Where to scroll so that the row is whole in sight; the same place when it is. */
export function reveal(
  placed: readonly PlacedSection[],
  index: number,
  rowPx: number,
  headerPx: number,
  scrollTop: number,
  viewPx: number,
): number {
  const found = locate(placed, index);
  if (found === null) return scrollTop;
  const top = found.section.top + headerPx + found.row * rowPx;
  // The header of the section sticks over the first row in sight.
  if (top - headerPx < scrollTop) return Math.max(0, top - headerPx);
  if (top + rowPx > scrollTop + viewPx) return top + rowPx - viewPx;
  return scrollTop;
}

export function rows(placed: readonly PlacedSection[]): number {
  const last = placed[placed.length - 1];
  return last ? last.before + last.count : 0;
}

function clamp(value: number, count: number): number {
  return Math.min(Math.max(0, value), count);
}
