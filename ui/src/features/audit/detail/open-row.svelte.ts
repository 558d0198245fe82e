/* The open row with its neighbours, read by its number: it need not be among the rows of the list. It renders nothing. */
import type { ApiError, AuditShownDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";

export class OpenRow {
  shown = $state.raw<AuditShownDto | null>(null);
  error = $state.raw<ApiError | null>(null);
  readonly #backend: Backend;
  /** Raised by each read: the answer to an earlier one counts for nothing. */
  #turn = 0;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  async read(number: number): Promise<void> {
    const turn = (this.#turn += 1);
    if (this.shown?.row.number !== number) {
      this.shown = null;
      this.error = null;
    }
    try {
      const shown = await this.#backend.call("audit.show", { number });
      if (turn !== this.#turn) return;
      this.shown = shown;
      this.error = null;
    } catch (thrown) {
      if (turn === this.#turn) this.error = apiError(thrown);
    }
  }
}
