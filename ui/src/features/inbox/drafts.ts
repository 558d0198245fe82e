/* Answers half written, kept at the desk of the core: `task/key`, without what looks like a secret, 500 ms after a
   change. It knows no form and no screen; what it hands out is as it was kept. */
import type { Backend } from "$lib/backend/backend";
import { readDraft, type Draft } from "$lib/form";

export interface StoredDraft {
  readonly draft: Draft;
  readonly at: string;
}

/** A pause in typing (the product's promise: a draft survives a restart). */
const SAVE_AFTER_MS = 500;

export class Drafts {
  readonly #backend: Backend;
  readonly #kept = new Map<string, StoredDraft>();
  readonly #waiting = new Map<string, { timer: ReturnType<typeof setTimeout>; draft: Draft | null }>();
  /** Told when something was kept or forgotten. */
  readonly #onkept: (key: string) => void;

  constructor(backend: Backend, onkept: (key: string) => void = () => undefined) {
    this.#backend = backend;
    this.#onkept = onkept;
  }

  /** Reads what is kept. A failure is no reason not to answer: then there are no drafts. */
  async load(): Promise<void> {
    const { items } = await this.#backend.call("desk.list", { kind: "draft" });
    for (const item of items) {
      const draft = readDraft(item.value);
      if (draft !== null && !this.#waiting.has(item.key)) this.#kept.set(item.key, { draft, at: item.changedAt });
    }
  }

  of(key: string): StoredDraft | null {
    return this.#kept.get(key) ?? null;
  }

  has(key: string): boolean {
    return this.#kept.has(key);
  }

  /** Null deletes the draft. */
  keep(key: string, draft: Draft | null): void {
    const held = this.#waiting.get(key);
    if (held) clearTimeout(held.timer);
    if (draft === null && !this.#kept.has(key)) {
      this.#waiting.delete(key);
      return;
    }
    this.#waiting.set(key, { timer: setTimeout(() => void this.#save(key), SAVE_AFTER_MS), draft });
  }

  /** At once, as when it was sent. */
  async forget(key: string): Promise<void> {
    this.keep(key, null);
    await this.#save(key);
  }

  /** Everything that waits is saved now, as when the page goes away. */
  async flush(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((key) => this.#save(key)));
  }

  async #save(key: string): Promise<void> {
    const held = this.#waiting.get(key);
    if (!held) return;
    clearTimeout(held.timer);
    this.#waiting.delete(key);
    try {
      await this.#backend.call("desk.put", { kind: "draft", key, value: held.draft });
    } catch {
      // The words are still on the screen; the next change tries again.
      return;
    }
    if (held.draft === null) this.#kept.delete(key);
    else this.#kept.set(key, { draft: held.draft, at: new Date().toISOString() });
    this.#onkept(key);
  }
}
