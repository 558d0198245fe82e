/* The order of the inbox list: groups, snoozed items, new arrivals above the selection, and the next item when one leaves.
   Plain functions over rows; the sort order itself is the feed's (`inboxOrder`). */
import type { InboxRow } from "$lib/bindings";
import { inboxOrder } from "$lib/feed/feed-state";

export interface Group {
  readonly key: string;
  readonly kind: "deadline" | "rest" | "server";
  /** The server of a group of its own. */
  readonly server: string | null;
  readonly rows: readonly InboxRow[];
}

/** A server with more than these gets a group of its own (design, *With 0, 1, 30 and 10,000 rows*). */
export const OWN_GROUP_OVER = 20;

export function inInboxOrder(rows: Iterable<InboxRow>): readonly InboxRow[] {
  return [...rows].sort(inboxOrder);
}

export function isSnoozed(row: InboxRow, now: number): boolean {
  return row.snoozedUntilChange === true || (row.snoozedUntil !== null && Date.parse(row.snoozedUntil) > now);
}

export interface SnoozeSplit {
  readonly awake: readonly InboxRow[];
  readonly asleep: readonly InboxRow[];
}

export function splitSnoozed(rows: readonly InboxRow[], now: number): SnoozeSplit {
  const asleep = rows.filter((row) => isSnoozed(row, now));
  return asleep.length === 0
    ? { awake: rows, asleep: NOBODY }
    : { awake: rows.filter((row) => !isSnoozed(row, now)), asleep };
}

const NOBODY: readonly InboxRow[] = [];

/** The groups in their order; empty ones are left out. Rows are in order already. */
export function groups(rows: readonly InboxRow[]): readonly Group[] {
  const deadline = rows.filter((row) => row.deadline !== null);
  const others = rows.filter((row) => row.deadline === null);
  const byServer = new Map<string, InboxRow[]>();
  for (const row of others) {
    const held = byServer.get(row.server);
    if (held) held.push(row);
    else byServer.set(row.server, [row]);
  }
  const loud = [...byServer].filter(([, held]) => held.length > OWN_GROUP_OVER);
  const isLoud = new Set(loud.map(([server]) => server));
  const all: Group[] = [
    { key: "deadline", kind: "deadline", server: null, rows: deadline },
    { key: "rest", kind: "rest", server: null, rows: others.filter((row) => !isLoud.has(row.server)) },
    ...loud.map(([server, held]): Group => ({ key: `server/${server}`, kind: "server", server, rows: held })),
  ];
  return all.filter((group) => group.rows.length > 0);
}

/** Rows that came in above the one a person looks at: they wait there until the person moves. */
export function arrivedAbove(
  rows: readonly InboxRow[],
  selected: string | null,
  settled: ReadonlySet<string> | null,
): ReadonlySet<string> {
  if (settled === null || selected === null) return NONE;
  const at = rows.findIndex((row) => row.id === selected);
  if (at <= 0) return NONE;
  const above = rows.slice(0, at).filter((row) => !settled.has(row.id));
  return above.length === 0 ? NONE : new Set(above.map((row) => row.id));
}
const NONE: ReadonlySet<string> = new Set();

/** Where to go when a row leaves: the one after it, else the one before it. `ids` is the list it stood in. */
export function neighbour(ids: readonly string[], leaving: string, isThere: (id: string) => boolean): string | null {
  const at = ids.indexOf(leaving);
  const after = ids.slice(at + 1).find(isThere);
  if (after !== undefined) return after;
  return ids.slice(0, Math.max(0, at)).findLast(isThere) ?? null;
}
