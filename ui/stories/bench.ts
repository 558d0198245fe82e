/* The app on a large and restless made-up core: `bench.html?tasks=100000&changes=5000#/tasks`. The core runs in a
   worker (bench-core.ts). A script outside (bench/list.mjs) reads `window.bench` and the browser's own figures. */
import { mount } from "svelte";
import App from "../src/App.svelte";
import { apiError, deliver, type Backend, type CallName } from "$lib/backend/backend";
import type { Calls } from "$lib/bindings";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import type { FromCore, ToCore } from "./bench-core";

const worker = new Worker(new URL("./bench-core.ts", import.meta.url), { type: "module" });
const say = (message: ToCore) => worker.postMessage(JSON.stringify(message));
const waiting = new Map<number, { done: (output: never) => void; fail: (error: unknown) => void }>();
let on: ((frame: unknown) => void) | null = null;
let next = 1;

class Bench implements Backend {
  readonly kind = "fake";
  /** When the app was started, and changes told to it since. */
  startedAt = 0;
  received = 0;
  /** Milliseconds the core worked for what it told so far. */
  coreMs = 0;
  onrest: (sent: number) => void = () => undefined;

  call<N extends CallName>(name: N, input: Calls[N][0]): Promise<Calls[N][1]> {
    return new Promise<Calls[N][1]>((done, fail) => {
      waiting.set(next, { done, fail });
      say({ type: "call", id: next, name, input });
      next += 1;
    });
  }

  subscribe(...[input, handlers]: Parameters<Backend["subscribe"]>): () => void {
    on = (frame) => deliver(frame, handlers);
    say({ type: "subscribe", input });
    return () => (on = null);
  }

  openOutside = () => Promise.resolve();
  quit = () => null;

  /** No more changes; how many there were. */
  rest(): Promise<number> {
    return new Promise((done) => {
      this.onrest = done;
      say({ type: "rest" });
    });
  }
}

const bench = new Bench();
worker.addEventListener("message", ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as FromCore;
  if ("tookMs" in message) bench.coreMs += message.tookMs;
  switch (message.type) {
    case "ready": {
      bench.startedAt = performance.now();
      const target = document.getElementById("app");
      if (target) mount(App, { target, props: { backend: bench } });
      break;
    }
    case "answer":
      waiting.get(message.id)?.done(message.output as never);
      waiting.delete(message.id);
      break;
    case "failure":
      waiting.get(message.id)?.fail(apiError(message.error));
      waiting.delete(message.id);
      break;
    case "frame":
      if (
        typeof message.frame === "object" &&
        message.frame !== null &&
        "changes" in message.frame &&
        typeof message.frame.changes === "number"
      )
        bench.received += message.frame.changes;
      on?.(message.frame);
      break;
    case "rested":
      bench.onrest(message.sent);
      break;
  }
});

const query = new URLSearchParams(location.search);
say({
  type: "make",
  tasks: Number(query.get("tasks") ?? 100_000),
  inbox: Number(query.get("inbox") ?? 30),
  changes: Number(query.get("changes") ?? 0),
});

declare global {
  interface Window {
    bench: Bench;
  }
}
window.bench = bench;
