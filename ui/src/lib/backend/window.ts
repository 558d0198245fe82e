/* The backend of the window: two commands and one channel. It trusts the shell, not the frames. */
import { Channel, invoke } from "@tauri-apps/api/core";
import type { Calls, SubscribeInput } from "$lib/bindings";
import { apiError, deliver, parse, type Backend, type CallName, type FeedHandlers } from "./backend";
import { ERRORS } from "$lib/text/app";

export function isWindow(): boolean {
  return "__TAURI_INTERNALS__" in globalThis;
}

export class WindowBackend implements Backend {
  readonly kind = "window";

  async call<N extends CallName>(name: N, input: Calls[N][0]): Promise<Calls[N][1]> {
    return (await this.#invoke(name, input)) as Calls[N][1];
  }

  subscribe(input: SubscribeInput, on: FeedHandlers): () => void {
    let open = true;
    const channel = new Channel<unknown>((message) => {
      if (open) deliver(typeof message === "string" ? parse(message) : message, on);
    });
    invoke("subscribe", { channel, input: JSON.stringify(input) }).then(
      // The command returns when the feed has ended, whatever the reason.
      () => this.#end(open, on, ERRORS.feedClosed.message),
      (thrown: unknown) => {
        if (open) on.end(apiError(thrown));
        open = false;
      },
    );
    return () => {
      open = false;
    };
  }

  async openOutside(url: string): Promise<void> {
    await this.#invoke("window.openOutside", { url });
  }

  async quit(): Promise<void> {
    await this.#invoke("window.quit", {});
  }

  #end(open: boolean, on: FeedHandlers, message: string): void {
    if (open) on.end({ code: "noCore", message, hint: ERRORS.feedClosed.hint });
  }

  async #invoke(name: string, input: unknown): Promise<unknown> {
    try {
      const text = await invoke<string>("call", { name, input: JSON.stringify(input) });
      return parse(text) ?? {};
    } catch (thrown) {
      throw apiError(thrown);
    }
  }
}
