/* A part of the page whose code is loaded when it is opened for the first time. Afterwards it is drawn at once. */
import type { Component } from "svelte";

export class LazyPart<P extends Record<string, unknown>> {
  /** Null until the code is there. */
  component = $state.raw<Component<P> | null>(null);
  /** The code could not be loaded: the core is away, or a newer one has other file names. */
  failed = $state(false);
  readonly #load: () => Promise<{ default: Component<P> }>;
  #isLoading = false;

  constructor(load: () => Promise<{ default: Component<P> }>) {
    this.#load = load;
  }

  /** Loads the code unless it is there or on its way. After a failure it tries again. */
  async open(): Promise<void> {
    if (this.component !== null || this.#isLoading) return;
    this.#isLoading = true;
    try {
      this.component = (await this.#load()).default;
      this.failed = false;
    } catch {
      this.failed = true;
    }
    this.#isLoading = false;
  }
}
