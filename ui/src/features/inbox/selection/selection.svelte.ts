/* Which items of the inbox are selected. What is no longer in the list is selected no more. It sends nothing. */
import type { InboxRow } from "$lib/bindings";

export class Selection {
  #ids = $state.raw<ReadonlySet<string>>(new Set());
  readonly #rows: () => ReadonlyMap<string, InboxRow> | null;

  constructor(rows: () => ReadonlyMap<string, InboxRow> | null) {
    this.#rows = rows;
  }

  /** Selected items that still wait, in the order in which they were selected. */
  readonly rows: readonly InboxRow[] = $derived.by(() => {
    const rows = this.#rows();
    return [...this.#ids].flatMap((id) => {
      const row = rows?.get(id);
      return row === undefined || row.answeredBy !== null ? [] : [row];
    });
  });

  get size(): number {
    return this.rows.length;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  toggle(id: string): void {
    const next = new Set(this.#ids);
    if (!next.delete(id)) next.add(id);
    this.#ids = next;
  }

  set(ids: Iterable<string>): void {
    this.#ids = new Set(ids);
  }

  clear(): void {
    if (this.#ids.size > 0) this.#ids = new Set();
  }
}

/** Whether one answer may go to all of these: questions of one server, tool and form, none of them destructive. */
export function areEqual(rows: readonly InboxRow[]): boolean {
  const [first] = rows;
  return first !== undefined && rows.every((row) => isEqual(first, row));
}

/** The questions that can take the same answer as this one, itself among them. */
export function equalTo(row: InboxRow, all: Iterable<InboxRow>): readonly InboxRow[] {
  return [...all].filter((other) => other.answeredBy === null && isEqual(row, other));
}

function isEqual(one: InboxRow, other: InboxRow): boolean {
  return one.form !== undefined && one.form === other.form && one.server === other.server && one.tool === other.tool;
}
