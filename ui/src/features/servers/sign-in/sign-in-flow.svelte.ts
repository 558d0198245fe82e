/* One sign-in from the question where it is to its end: begins it at the core, waits for its end, gives it up.
   It opens no browser and shows nothing. */
import type { SignInBegunDto, SignInDto, SignInFaultDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import { signInText } from "$lib/text/servers/sign-in";
import { beginInput, type SignInWish } from "./sign-in-wish";

export type SignInStep =
  | { readonly kind: "finding" }
  | { readonly kind: "begun"; readonly begun: SignInBegunDto }
  | { readonly kind: "failed"; readonly fault: SignInFaultDto };

/** How long one call waits for the end; then it is asked again. */
const WAIT_MS = 20_000;

export class SignInFlow {
  step = $state.raw<SignInStep>({ kind: "finding" });
  readonly #backend: Backend;
  readonly #name: string;
  /** When the sign-in before this one was; it is told from the new one by that. */
  readonly #before: string | null;
  readonly #ondone: (signIn: SignInDto) => void;
  #attempt = new AbortController();
  /** The core waits for a browser because of this. */
  #isWaited = false;
  #isOver = false;

  constructor(backend: Backend, name: string, before: SignInDto | null, ondone: (signIn: SignInDto) => void) {
    this.#backend = backend;
    this.#name = name;
    this.#before = before?.state === "signedIn" ? before.at : null;
    this.#ondone = ondone;
  }

  /** Finds out where to sign in, and waits for the end. A sign-in that waits already is given up first. */
  async begin(wish: SignInWish): Promise<void> {
    this.#attempt.abort();
    const { signal } = (this.#attempt = new AbortController());
    this.step = { kind: "finding" };
    try {
      if (this.#isWaited) await this.#backend.call("signIns.giveUp", { name: this.#name });
      const begun = await this.#backend.call("signIns.begin", beginInput(this.#name, wish));
      if (signal.aborted) return this.#giveUp();
      this.#isWaited = true;
      this.step = { kind: "begun", begun };
      await this.#wait(signal);
    } catch (thrown) {
      const { message, hint } = apiError(thrown);
      if (!signal.aborted) this.step = { kind: "failed", fault: { why: message, hint } };
    }
  }

  /** The sign-in as the core has it after it no longer waits. */
  ended(signIn: SignInDto | null): void {
    if (this.#isOver || signIn?.state === "waiting") return;
    this.#attempt.abort();
    this.#isWaited = false;
    if (
      signIn?.state === "signedIn" &&
      signIn.failed === null &&
      (this.#before === null || signIn.at !== this.#before)
    ) {
      this.#isOver = true;
      this.#ondone(signIn);
      return;
    }
    const { elsewhere, elsewhereHint } = signInText.dialog;
    this.step = { kind: "failed", fault: signIn?.failed ?? { why: elsewhere, hint: elsewhereHint } };
  }

  /** The person does not want to sign in now. */
  close(): void {
    if (this.#isOver) return;
    this.leave();
    if (this.#isWaited) this.#giveUp();
  }

  /** Nobody looks any more; the core goes on waiting. */
  leave(): void {
    this.#isOver = true;
    this.#attempt.abort();
  }

  async #wait(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { signIn } = await this.#backend.call("signIns.wait", { name: this.#name, waitMs: WAIT_MS }, signal);
      if (signal.aborted) return;
      if (signIn?.state === "waiting") continue;
      this.ended(signIn);
      return;
    }
  }

  #giveUp(): void {
    // The core stops waiting by itself, so a failure here needs nobody.
    void this.#backend.call("signIns.giveUp", { name: this.#name }).catch(() => undefined);
  }
}
