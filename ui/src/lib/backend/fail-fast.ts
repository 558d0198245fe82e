/* The backend that screens get: while the core is known to be gone, a call fails at once and says so, instead of waiting
   in a connection that nobody reads. What was sent before stays as it is. The feed does not pass through here. */
import type { ApiError, Calls, SubscribeInput } from "$lib/bindings";
import type { Backend, CallName, FeedHandlers } from "./backend";

export class FailFastBackend implements Backend {
  readonly kind: Backend["kind"];
  readonly #inner: Backend;
  readonly #trouble: () => ApiError | null;

  constructor(inner: Backend, trouble: () => ApiError | null) {
    this.kind = inner.kind;
    this.#inner = inner;
    this.#trouble = trouble;
  }

  call<N extends CallName>(name: N, input: Calls[N][0], signal?: AbortSignal): Promise<Calls[N][1]> {
    const trouble = this.#trouble();
    return trouble === null ? this.#inner.call(name, input, signal) : Promise.reject(trouble);
  }

  subscribe(input: SubscribeInput, on: FeedHandlers): () => void {
    return this.#inner.subscribe(input, on);
  }

  openOutside(url: string): Promise<void> {
    return this.#inner.openOutside(url);
  }

  quit(): Promise<void> | null {
    return this.#inner.quit();
  }
}
