/* A believable core in memory, for stories, unit tests and the bench. Never part of the product: nothing that main.ts
   imports may import this (lint and a test of the bundle see to it). */
import type { ApiError, Calls, Frame, SubscribeInput } from "$lib/bindings";
import { answers, type Answers } from "./calls";
import { CoreState, type CoreStateOptions } from "./core-state";
import { apiError, noCore, type Backend, type CallName, type FeedHandlers } from "$lib/backend/backend";

export interface FakeOptions extends CoreStateOptions {
  /** What it claims to be; `fake` when left out. */
  kind?: Backend["kind"];
  /** `stale`: one snapshot, then the core is lost. `frozen`: one snapshot, then silence. `connecting`: nothing ever comes. */
  connection?: "live" | "connecting" | "lost" | "stale" | "frozen";
  /** Calls take this long. */
  latencyMs?: number;
  /** Tasks that move on each second, in frames of 33 ms. */
  changesPerSecond?: number;
  /** Answers that stand in for the made-up ones; a thrown `ApiError` is a failed call. */
  calls?: Partial<Answers>;
}

const FRAME_MS = 33;

export class FakeBackend implements Backend {
  readonly kind: Backend["kind"];
  readonly state: CoreState;
  /** Calls as they came in, for tests. */
  readonly called: { name: CallName; input: unknown }[] = [];
  readonly #options: FakeOptions;
  readonly #answers: Answers;
  #feeds = new Set<FeedHandlers>();
  #sent = 0;
  #timer: ReturnType<typeof setInterval> | null = null;
  #frozen: { readonly thawed: Promise<void>; readonly thaw: () => void } | null = null;

  constructor(options: FakeOptions = {}) {
    this.#options = { ...options };
    this.kind = options.kind ?? "fake";
    this.state = new CoreState(options);
    this.#answers = { ...answers(this.state), ...options.calls };
    this.state.onframe = (frame) => this.#emit(frame);
  }

  async call<N extends CallName>(name: N, input: Calls[N][0]): Promise<Calls[N][1]> {
    if (name === "core.ping") return (await this.#pong()) as Calls[N][1];
    this.called.push({ name, input });
    await this.#frozen?.thawed;
    await new Promise((done) => setTimeout(done, this.#options.latencyMs ?? 0));
    try {
      const answer = Object.hasOwn(this.#answers, name)
        ? (this.#answers as Partial<Record<CallName, (input: unknown) => unknown>>)[name]
        : undefined;
      if (!answer)
        throw {
          code: "notFound",
          message: `nothing answers \`${name}\` here`,
          hint: "Give the story an answer of its own.",
        } satisfies ApiError;
      return (await answer(input)) as Calls[N][1];
    } catch (thrown) {
      throw apiError(thrown);
    }
  }

  subscribe(input: SubscribeInput, on: FeedHandlers): () => void {
    const how = this.#options.connection ?? "live";
    if (how === "connecting") return () => undefined;
    if (how === "lost") {
      queueMicrotask(() => on.end(noCore));
      return () => undefined;
    }
    this.state.focus = input;
    let open = true;
    const begin = async (): Promise<void> => {
      await this.#frozen?.thawed;
      if (!open) return;
      on.frame(this.state.snapshot());
      this.#feeds.add(on);
      if (how === "stale") setTimeout(() => this.lose(), 50);
      if (how === "frozen") setTimeout(() => this.freeze(), 50);
    };
    void begin();
    this.#stir();
    return () => {
      open = false;
      this.#feeds.delete(on);
    };
  }

  openOutside(): Promise<void> {
    return Promise.resolve();
  }

  quit(): Promise<void> | null {
    return this.kind === "window" ? Promise.resolve() : null;
  }

  /** The core goes away under an open page. */
  lose(): void {
    this.#options.connection = "lost";
    const feeds = [...this.#feeds];
    this.#feeds.clear();
    for (const on of feeds) on.end(noCore);
  }

  /** And comes back. */
  find(): void {
    this.#options.connection = "live";
  }

  /** The core stops as with SIGSTOP: connections stay open, and nothing comes through them until `thaw`. */
  freeze(): void {
    let thaw: () => void = () => undefined;
    const thawed = new Promise<void>((done) => (thaw = done));
    this.#frozen = { thawed, thaw };
  }

  thaw(): void {
    this.#frozen?.thaw();
    this.#frozen = null;
  }

  async #pong(): Promise<Record<string, never>> {
    await this.#frozen?.thawed;
    if (this.#options.connection === "connecting") await new Promise(() => undefined);
    if (this.#options.connection === "lost") throw noCore;
    return {};
  }

  /** Changes sent so far, for the bench: none may be lost. */
  get sent(): number {
    return this.#sent;
  }

  /** No more changes come by themselves. */
  rest(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #stir(): void {
    const perSecond = this.#options.changesPerSecond ?? 0;
    if (perSecond === 0 || this.#timer !== null) return;
    let due = 0;
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      due += (perSecond * (now - last)) / 1_000;
      last = now;
      const count = Math.floor(due);
      due -= count;
      if (count > 0) this.state.stir(count);
    }, FRAME_MS);
  }

  #emit(frame: Frame): void {
    if (frame.type === "delta") this.#sent += frame.changes;
    if (this.#frozen !== null) return;
    // A copy: who subscribes anew because of this frame does not get it.
    for (const on of [...this.#feeds]) on.frame(frame);
  }
}

export function fake(options: FakeOptions = {}): FakeBackend {
  return new FakeBackend(options);
}
