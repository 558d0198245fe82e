/* Places in a list whose sections may be folded: from a running number over all open rows to section and row, and back. */
import type { ShownSection } from "./displayed-list";

export interface Place {
  readonly section: number;
  readonly index: number;
}

const open = (section: ShownSection, folded: ReadonlySet<string>) => (folded.has(section.group) ? 0 : section.count);

export function placeAt(sections: readonly ShownSection[], folded: ReadonlySet<string>, at: number): Place | null {
  let before = 0;
  for (const [section, one] of sections.entries()) {
    const count = open(one, folded);
    if (at >= before && at < before + count) return { section, index: at - before };
    before += count;
  }
  return null;
}

/** -1 when the section is folded or gone. */
export function numberOf(
  sections: readonly ShownSection[],
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

export function rowCount(sections: readonly ShownSection[], folded: ReadonlySet<string>): number {
  return sections.reduce((sum, section) => sum + open(section, folded), 0);
}
