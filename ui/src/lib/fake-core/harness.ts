/* Mounts a component on a made-up core, for tests: `show(AddServer, {…}, core)`. Waiting is on a level, with a limit. */
import { flushSync, mount, unmount, type Component } from "svelte";
import type { FakeBackend } from "./backend";
import Harness from "./Harness.svelte";

/** Generous: a busy machine is slow, and a level that never comes is told anyway. */
const LIMIT_MS = 15_000;

/** Waits until `read` gives something that holds; the last state is in the error. */
export async function until<T>(what: string, read: () => T, holds: (value: T) => boolean = Boolean): Promise<T> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const value = read();
    if (holds(value)) return value;
    if (Date.now() > end) throw new Error(`not within ${LIMIT_MS} ms: ${what}; last: ${JSON.stringify(value)}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

export interface Shown {
  readonly page: HTMLElement;
  /** The first element that fits, as soon as there is one. */
  find<E extends HTMLElement = HTMLElement>(selector: string, text?: string): Promise<E>;
  type(selector: string, value: string): Promise<void>;
  press(selector: string, text?: string): Promise<void>;
  text(): string;
  close(): Promise<void>;
}

export function show<P extends Record<string, unknown>>(
  component: Component<P>,
  props: P,
  backend: FakeBackend,
): Shown {
  const page = document.createElement("div");
  document.body.append(page);
  const app = mount(Harness, {
    target: page,
    props: { backend, component: component as unknown as Component<Record<string, never>>, props },
  });
  flushSync();

  // Dialogs stand beside the page.
  const all = (selector: string) => [...document.body.querySelectorAll<HTMLElement>(selector)];
  async function find<E extends HTMLElement>(selector: string, text = ""): Promise<E> {
    const page = () => document.body.textContent.replace(/\s+/g, " ").slice(0, 2_000);
    try {
      const found = await until(
        selector,
        () => all(selector).find((one) => one.textContent.includes(text)) ?? null,
        (one) => one !== null,
      );
      return found as E;
    } catch {
      throw new Error(`no ${selector} with “${text}” in: ${page()}`);
    }
  }
  return {
    page,
    find,
    async type(selector, value) {
      const field = await find<HTMLInputElement>(selector);
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      flushSync();
    },
    async press(selector, text = "") {
      (await find(selector, text)).click();
      flushSync();
    },
    text: () => document.body.textContent.replace(/\s+/g, " "),
    async close() {
      await unmount(app);
      page.remove();
    },
  };
}
