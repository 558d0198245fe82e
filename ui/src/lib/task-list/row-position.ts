/* Places in a list whose sections may be folded: from a running number over all open rows to section and row, and back. */
import type { DisplayedSection } from "./displayed-list";

export interface RowPosition {
  readonly section: number;
  readonly index: number;
}

const open = (section: DisplayedSection, folded: ReadonlySet<string>) =>
  folded.has(section.group) ? 0 : section.count;

export function positionAt(
  sections: readonly DisplayedSection[],
  folded: ReadonlySet<string>,
  at: number,
): RowPosition | null {
  let before = 0;
  for (const [section, one] of sections.entries()) {
    const count = open(one, folded);
    if (at >= before && at < before + count) return { section, index: at - before };
    before += count;
  }
  return null;
}

/** -1 when the section is folded or gone. */
export function rowNumberOf(
  sections: readonly DisplayedSection[],
  folded: ReadonlySet<string>,
  group: string,
  index: number,
): number {
  let before = 0;
  for (const one of sections) {
    const count = open(one, folded);
    if (one.group === group) return index >= 0 && index < count ? before + index : -1;
    before += count;
  }
  return -1;
}

export function rowCount(sections: readonly DisplayedSection[], folded: ReadonlySet<string>): number {
  return sections.reduce((sum, section) => sum + open(section, folded), 0);
}
