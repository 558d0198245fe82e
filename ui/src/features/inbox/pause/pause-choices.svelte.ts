/* Which waiting calls of each pause are to be sent: all, until the person unticks some. The first calls are in the item;
   the whole list is read from the core where there are more. It decides and renders nothing. */
import type { InboxRow, PauseDto, WaitingCallDto } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";

export class PauseChoices {
  /** By item: calls that are not to be sent. */
  #left = $state.raw<ReadonlyMap<string, ReadonlySet<string>>>(new Map());
  /** By item: the whole list, where the item has only its beginning. */
  #read = $state.raw<ReadonlyMap<string, readonly WaitingCallDto[]>>(new Map());
  readonly #backend: Backend;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** The calls that wait, as far as they are known, in their order. */
  calls(row: InboxRow): readonly WaitingCallDto[] {
    const named = row.pause?.calls ?? [];
    return isWhole(row) ? named : (this.#read.get(row.id) ?? named);
  }

  /** Whether every call is known: only then a part of them can be chosen. */
  isKnown(row: InboxRow): boolean {
    return isWhole(row) || this.calls(row).length === row.pause?.waiting;
  }

  /** Calls that still wait and are not to be sent. */
  left(row: InboxRow): ReadonlySet<string> {
    const left = this.#left.get(row.id);
    if (left === undefined || left.size === 0) return NONE;
    return new Set(this.calls(row).flatMap(({ id }) => (left.has(id) ? [id] : [])));
  }

  tick(row: InboxRow, call: string, isSent: boolean): void {
    const next = new Set(this.left(row));
    if (isSent) next.delete(call);
    else next.add(call);
    this.#set(row, next);
  }

  /** Ticks all calls, or none. */
  tickAll(row: InboxRow, isSent: boolean): void {
    this.#set(row, isSent ? NONE : new Set(this.calls(row).map((call) => call.id)));
  }

  /** Reads the whole list where the item has only its beginning. */
  async load(row: InboxRow): Promise<void> {
    if (isWhole(row)) return;
    const { pauses } = await this.#backend.call("pauses.list", {});
    const calls = pauses.find((one) => one.id === row.pause?.id)?.calls;
    if (calls) this.#read = new Map([...this.#read, [row.id, calls]]);
  }

  #set(row: InboxRow, left: ReadonlySet<string>): void {
    this.#left = new Map([...this.#left, [row.id, left]]);
  }
}

const NONE: ReadonlySet<string> = new Set();

function isWhole({ pause }: { pause?: PauseDto }): boolean {
  return (pause?.calls?.length ?? 0) >= (pause?.waiting ?? 0);
}

/** Where the list is in the page. */
export const WAITING_CALLS = "inbox-waiting-calls";

/** To the first call of the list: nothing is sent until the person presses a button. */
export function focusWaitingCalls(): void {
  document.querySelector<HTMLElement>(`#${WAITING_CALLS} input`)?.focus();
}
