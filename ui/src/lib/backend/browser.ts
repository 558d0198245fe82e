/* The backend of a browser: the headless host on loopback. Proof is a cookie the page cannot read and a word
   in a header that only this origin knows: cookies of 127.0.0.1 go to every port of it, this word does not. Signing in exchanges the one-time code that the terminal shows. */
import type { ApiError, Calls, SubscribeInput } from "$lib/bindings";
import {
  apiError,
  deliver,
  isApiError,
  isWebAddress,
  noCore,
  parse,
  type Backend,
  type CallName,
  type FeedHandlers,
} from "./backend";
import { lines } from "./read-lines";
import { ERRORS } from "$lib/text/app";

const WORD = "x-taskwarden";

/** The word of the session: kept by the origin (its port included), so that a reload stays signed in. */
const word = {
  value: read(),
  set(value: string): void {
    this.value = value;
    try {
      localStorage.setItem(WORD, value);
    } catch {
      // Without storage the page is signed in until it is reloaded.
    }
  },
};

function read(): string {
  try {
    return localStorage.getItem(WORD) ?? "1";
  } catch {
    return "1";
  }
}

const headers = (): Record<string, string> => ({ "content-type": "application/json", [WORD]: word.value });

/** The session is missing or over: the page shows the sign-in screen. */
export const signedOut: ApiError = { code: "refused", ...ERRORS.signedOut };

export class BrowserBackend implements Backend {
  readonly kind = "browser";
  /** Called when the host says that the session is over. */
  onsignedout: () => void = () => undefined;

  async call<N extends CallName>(name: N, input: Calls[N][0], signal?: AbortSignal): Promise<Calls[N][1]> {
    const reply = await this.#post(`/ui/call/${name}`, input, true, signal);
    try {
      return (parse(await reply.text()) ?? {}) as Calls[N][1];
    } catch {
      throw noCore;
    }
  }

  subscribe(input: SubscribeInput, on: FeedHandlers): () => void {
    const stop = new AbortController();
    void this.#read(input, on, stop.signal);
    return () => stop.abort();
  }

  openOutside(url: string): Promise<void> {
    if (!isWebAddress(url)) return Promise.reject(apiError({ code: "refused", ...ERRORS.notWeb }));
    window.open(url, "_blank", "noopener,noreferrer");
    return Promise.resolve();
  }

  quit(): null {
    return null;
  }

  /** Rejects with `noCore` when nobody answers before the signal. */
  async isSignedIn(signal: AbortSignal): Promise<boolean> {
    try {
      const reply = await fetch("/ui/session", {
        headers: headers(),
        credentials: "same-origin",
        cache: "no-store",
        signal,
      });
      return reply.ok;
    } catch {
      throw noCore;
    }
  }

  async signIn(code: string): Promise<void> {
    const reply = await this.#post("/ui/sign-in", { code }, false);
    word.set(reply.headers.get(WORD) ?? "1");
  }

  async #read(input: SubscribeInput, on: FeedHandlers, signal: AbortSignal): Promise<void> {
    try {
      const reply = await this.#post("/ui/feed", input, true, signal);
      if (!reply.body) throw noCore;
      for await (const line of lines(reply.body)) {
        if (signal.aborted) return;
        if (line === "") on.alive();
        else deliver(parse(line), on);
      }
      if (!signal.aborted) on.end({ ...noCore, message: ERRORS.feedClosed.message });
    } catch (thrown) {
      if (!signal.aborted) on.end(thrown instanceof TypeError ? noCore : apiError(thrown));
    }
  }

  async #post(path: string, body: unknown, session = true, signal?: AbortSignal): Promise<Response> {
    let reply: Response;
    try {
      reply = await fetch(path, {
        method: "POST",
        headers: headers(),
        credentials: "same-origin",
        cache: "no-store",
        body: JSON.stringify(body),
        signal: signal ?? null,
      });
    } catch {
      throw noCore;
    }
    if (reply.ok) return reply;
    if (reply.status === 401 && session) {
      this.onsignedout();
      throw signedOut;
    }
    const said = parse(await reply.text());
    throw isApiError(said) ? said : { ...noCore, code: "failed", message: `the core answered with ${reply.status}` };
  }
}
