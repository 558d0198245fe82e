/* Announcements to screen readers: polite, batched and once. Only a lost connection interrupts. */
import { getContext, setContext } from "svelte";

/** News that come together are said together (judgement: shorter than a breath). */
const BATCH_MS = 600;

export class Announcer {
  polite = $state("");
  assertive = $state("");
  #waiting: string[] = [];
  #timer = 0;

  say(text: string): void {
    if (!this.#waiting.includes(text)) this.#waiting.push(text);
    if (this.#timer !== 0) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.polite = this.#waiting.join(" ");
      this.#waiting = [];
    }, BATCH_MS);
  }

  interrupt(text: string): void {
    this.assertive = text;
  }
}

const ANNOUNCER = Symbol("announcer");
export const setAnnouncer = (announcer: Announcer): Announcer => setContext(ANNOUNCER, announcer);
export const getAnnouncer = (): Announcer => getContext<Announcer>(ANNOUNCER);
