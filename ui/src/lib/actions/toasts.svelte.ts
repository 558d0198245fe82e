/* Short news of one's own actions, with the way back. `u` takes the newest one back. */
import { getContext, setContext } from "svelte";
import type { ApiError } from "$lib/bindings";
import type { Announcer } from "./announcer.svelte";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "plain" | "danger";
  readonly hint: string | null;
  readonly undo: (() => void | Promise<void>) | null;
}

const LAST_MS = 6_000;
/** An undo stays for ten seconds (peers 4.3, tier 0), or as long as the hold-back says. */
const UNDO_MS = 10_000;
const AT_ONCE = 3;

export class Toasts {
  list = $state.raw<readonly Toast[]>([]);
  #next = 1;
  #timers = new Map<number, number>();
  readonly #announcer: Announcer;

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
  }

  /** Returns what closes it. */
  show(
    text: string,
    options: { undo?: () => void | Promise<void>; tone?: Toast["tone"]; hint?: string | null; ms?: number } = {},
  ): () => void {
    const toast: Toast = {
      id: this.#next++,
      text,
      tone: options.tone ?? "plain",
      hint: options.hint ?? null,
      undo: options.undo ?? null,
    };
    this.list = [...this.list, toast].slice(-AT_ONCE);
    this.#announcer.say(toast.hint ? `${text} ${toast.hint}` : text);
    const ms = options.ms ?? (toast.undo ? UNDO_MS : LAST_MS);
    this.#timers.set(
      toast.id,
      window.setTimeout(() => this.close(toast.id), ms),
    );
    return () => this.close(toast.id);
  }

  /** A failed call, with its hint. */
  fail(error: ApiError): void {
    this.show(sentence(error.message), { tone: "danger", hint: error.hint, ms: UNDO_MS });
  }

  close(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  get undoable(): Toast | null {
    return this.list.findLast((toast) => toast.undo !== null) ?? null;
  }

  /** Takes the newest undoable action back. */
  undo(): void {
    const toast = this.undoable;
    if (!toast?.undo) return;
    this.close(toast.id);
    void toast.undo();
  }
}

/** Our messages are lower case without a stop; on the screen they stand alone. A host at their beginning stays as it is. */
export function sentence(message: string): string {
  const text = message.trim();
  if (text === "") return "";
  const first = /^\S+\.\S/.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return `${first}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

const TOASTS = Symbol("toasts");
export const setToasts = (toasts: Toasts): Toasts => setContext(TOASTS, toasts);
export const getToasts = (): Toasts => getContext<Toasts>(TOASTS);
