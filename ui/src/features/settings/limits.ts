/* Which limits are nearly used up, and the order of the list. Pure. */
import type { LimitRow } from "$lib/bindings";

/** As `doctor` warns. */
const NEARLY = 0.8;

const share = (row: LimitRow): number => (row.most <= 0 ? 1 : row.used / row.most);

export const isNearlyUsed = (row: LimitRow): boolean => share(row) >= NEARLY;

/** The fullest first; by name and scope where that is the same, so that nothing moves without a reason. */
export function byShare(rows: readonly LimitRow[]): LimitRow[] {
  const name = (row: LimitRow) => `${row.name} ${row.scope}`;
  // A tenth is as fine as a bar shows: rows that differ by less stay where they are.
  const rank = (row: LimitRow) => Math.floor(share(row) * 10);
  return [...rows].sort((one, other) => rank(other) - rank(one) || (name(one) < name(other) ? -1 : 1));
}
