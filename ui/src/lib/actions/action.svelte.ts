/* One action at a time: busy while it runs, then its error. A second call while busy does nothing. */
import type { ApiError } from "$lib/bindings";
import { apiError } from "$lib/backend/backend";

export class Action {
  busy = $state(false);
  error = $state.raw<ApiError | null>(null);

  /** The result, or undefined when it failed (see `error`) or was running already. */
  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.busy) return undefined;
    this.busy = true;
    this.error = null;
    try {
      return await work();
    } catch (thrown) {
      this.error = apiError(thrown);
      return undefined;
    } finally {
      this.busy = false;
    }
  }
}
