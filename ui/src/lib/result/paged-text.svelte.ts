/* A long text that comes in pieces, as many as the person asks for. It keeps what came, says how much there is, and
   never asks twice for the same piece. */
import type { ApiError } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";

export type Of = "result" | "arguments" | "error";

/** Characters asked for at once: several screens, and no stall while they are laid out. */
export const PIECE_CHARS = 200_000;
/** What is read whole at most, for a tree or a sound. More is saved to a file instead. */
export const WHOLE_CAP_BYTES = 8_000_000;
/** What is saved at most in one go. */
export const SAVE_CAP_BYTES = 256_000_000;

export interface Source {
  readonly backend: Backend;
  readonly id: string;
  readonly of: Of;
  /** Null for the whole payload as it came. */
  readonly part: number | null;
}

export class PagedText {
  /** In order; the first one replaces the preview. */
  list = $state.raw<readonly string[]>([]);
  /** Bytes that are here. */
  done = $state(0);
  busy = $state(false);
  error = $state.raw<ApiError | null>(null);
  #next: number | null = 0;
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  get isWhole(): boolean {
    return this.#next === null;
  }

  /** One more piece. Does nothing while one is on its way. */
  async more(): Promise<void> {
    if (this.busy || this.#next === null) return;
    this.busy = true;
    this.error = null;
    try {
      const { text, next } = await read(this.#source, this.#next);
      this.list = [...this.list, text];
      // A core that does not move on would never end.
      this.#next = next !== null && next > this.#next ? next : null;
      this.done = this.#next ?? Number.POSITIVE_INFINITY;
    } catch (thrown) {
      this.error = apiError(thrown);
    } finally {
      this.busy = false;
    }
  }
}

function read(source: Source, offset: number): Promise<{ text: string; next: number | null; bytes: number }> {
  const { backend, id, of, part } = source;
  return backend.call("tasks.piece", { id, of, part, offset, limit: PIECE_CHARS });
}

/** Everything, in order. Stops when it grows over `cap` bytes or `goesOn` says no; then the result is null. */
export async function readWhole(
  source: Source,
  cap: number,
  onprogress: (done: number, all: number) => boolean,
): Promise<string[] | null> {
  const list: string[] = [];
  let at: number | null = 0;
  while (at !== null) {
    const piece: { text: string; next: number | null; bytes: number } = await read(source, at);
    list.push(piece.text);
    const next: number | null = piece.next !== null && piece.next > at ? piece.next : null;
    if (!onprogress(next ?? piece.bytes, piece.bytes) || (next ?? 0) > cap) return null;
    at = next;
  }
  return list;
}
