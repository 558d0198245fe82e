/* The width of a pane that a person can change: between its bounds, remembered on this machine under its name. */
export interface PaneBounds {
  /** Under which it is remembered. */
  readonly name: string;
  readonly narrowest: number;
  readonly widest: number;
  /** Until somebody changed it, and after a double click. */
  readonly usual: number;
}

/** Bounds in pixels, from the design's frame: a list keeps a sentence on a line, a detail its actions. */
export const PANES = {
  inbox: { name: "inbox", narrowest: 300, widest: 640, usual: 392 },
  drawer: { name: "drawer", narrowest: 420, widest: 720, usual: 420 },
  server: { name: "server", narrowest: 360, widest: 880, usual: 420 },
  audit: { name: "audit", narrowest: 340, widest: 640, usual: 420 },
} as const satisfies Record<string, PaneBounds>;

type Store = Pick<Storage, "getItem" | "setItem">;

export class Pane {
  readonly bounds: PaneBounds;
  readonly #store: Store | undefined;
  #width = $state(0);

  constructor(bounds: PaneBounds, store: Store | undefined = globalThis.localStorage) {
    this.bounds = bounds;
    this.#store = store;
    this.#width = this.#read();
  }

  get width(): number {
    return this.#width;
  }

  /** For `style:`; the page has no other way to a length that a person chose. */
  get length(): string {
    return `${this.#width}px`;
  }

  /** While the edge is dragged. */
  set(width: number): void {
    this.#width = this.#within(width);
  }

  /** Where the edge was let go. A storage that is switched off means the width lasts as long as the page. */
  keep(width: number): void {
    this.set(width);
    try {
      this.#store?.setItem(`taskwarden.${this.bounds.name}`, String(this.#width));
    } catch {
      // The width is a convenience.
    }
  }

  #read(): number {
    try {
      const width = Number(this.#store?.getItem(`taskwarden.${this.bounds.name}`) ?? NaN);
      return Number.isFinite(width) && width > 0 ? this.#within(width) : this.bounds.usual;
    } catch {
      return this.bounds.usual;
    }
  }

  #within(width: number): number {
    return Math.round(Math.min(this.bounds.widest, Math.max(this.bounds.narrowest, width)));
  }
}
