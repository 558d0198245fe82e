/* The stack of key scopes. The newest scope is asked first; an exclusive one (a dialog) hides those under it.
   It listens once for the whole page. Bindings live with the component that has the action. */
import { getContext, onDestroy, setContext } from "svelte";
import { isInLayer, isMeant, isPressOfControl, isTyping, match, parsed, type Binding, type Parsed } from "./match";

interface Scope {
  readonly name: string;
  readonly bindings: () => readonly Binding[];
  readonly exclusive: boolean;
}

/** A second press of a sequence comes within this (tinykeys' own default is 1,000 ms). */
const SEQUENCE_MS = 1_000;
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock"]);

export class Keys {
  #scopes = $state.raw<readonly Scope[]>([]);
  /** The same without a rune: while one screen is taken down and the next one stands already, a rune tells the
      departing one its old value, and the next one's keys would be lost with it. */
  #held: readonly Scope[] = [];
  #pending: KeyboardEvent[] = [];
  #timer = 0;

  /** Scopes that answer now, newest first. */
  get reachable(): readonly Scope[] {
    const newestFirst = [...this.#scopes].reverse();
    // Under an exclusive scope nothing is reachable; a dialog without one is seen to in `press`.
    const exclusive = newestFirst.findIndex((scope) => scope.exclusive);
    return exclusive < 0 ? newestFirst : newestFirst.slice(0, exclusive + 1);
  }

  /** Every binding that stands somewhere now, for the panel and the palette. */
  get all(): readonly Binding[] {
    return [...this.#scopes].reverse().flatMap((scope) => scope.bindings());
  }

  add(scope: Scope): () => void {
    this.#scopes = this.#held = [...this.#held, scope];
    return () => {
      this.#scopes = this.#held = this.#held.filter((one) => one !== scope);
    };
  }

  listen(target: Window = window): () => void {
    const press = (event: KeyboardEvent) => this.press(event);
    target.addEventListener("keydown", press);
    return () => target.removeEventListener("keydown", press);
  }

  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || MODIFIERS.has(event.key)) return;
    if (isPressOfControl(event)) return;
    const candidates = this.#candidates(event.target);
    const events = [...this.#pending, event];
    const found = match(candidates, events);
    this.#forget();
    if (found.kind === "run") {
      event.preventDefault();
      found.binding.run(event);
    } else if (found.kind === "wait") {
      event.preventDefault();
      this.#pending = events;
      this.#timer = window.setTimeout(() => this.#forget(), SEQUENCE_MS);
    } else if (events.length > 1) {
      // The sequence broke: the last press counts for itself.
      this.press(event);
    }
  }

  /** From the palette: as if its key had been pressed. */
  run(binding: Binding): void {
    if (binding.when?.() ?? true) binding.run(null);
  }

  #candidates(target: EventTarget | null): Parsed[] {
    const typing = isTyping(target);
    // A dialog, a popover or a menu keeps its presses from what lies under it.
    const scopes = isInLayer(target) ? this.reachable.filter((scope) => scope.exclusive) : this.reachable;
    return scopes.flatMap((scope) => parsed(scope.bindings().filter((binding) => isMeant(binding, typing))));
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#pending = [];
  }
}

const KEYS = Symbol("keys");
export const setKeys = (keys: Keys): Keys => setContext(KEYS, keys);
export const getKeys = (): Keys => getContext<Keys>(KEYS);

/** Binds keys for as long as the component lives. Call it while the component is made.
    Pass a function when labels or actions depend on state. */
export function scope(
  name: string,
  bindings: readonly Binding[] | (() => readonly Binding[]),
  options: { exclusive?: boolean } = {},
): void {
  const read = typeof bindings === "function" ? bindings : () => bindings;
  onDestroy(getKeys().add({ name, bindings: read, exclusive: options.exclusive ?? false }));
}
