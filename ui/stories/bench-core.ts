/* The made-up core of the bench, in a thread of its own: a real core is another process as well, and what it does must
   not count as the page's time. Both directions carry text, as the real wires do. */
import { fake, type FakeBackend } from "$lib/fake-core/backend";
import type { CallName } from "$lib/backend/backend";
import type { Calls, SubscribeInput } from "$lib/bindings";

export type ToCore =
  | { type: "make"; tasks: number; inbox: number; changes: number }
  | { type: "call"; id: number; name: CallName; input: Calls[CallName][0] }
  | { type: "subscribe"; input: SubscribeInput }
  | { type: "rest" };
export type FromCore =
  | { type: "ready" }
  | { type: "answer"; id: number; output: unknown; tookMs: number }
  | { type: "failure"; id: number; error: unknown }
  | { type: "frame"; frame: unknown; tookMs: number }
  | { type: "rested"; sent: number };

let core: FakeBackend | null = null;
let stop: (() => void) | null = null;
const say = (message: FromCore) => postMessage(JSON.stringify(message));

addEventListener("message", ({ data }: MessageEvent<string>) => {
  // The only sender is bench.ts.
  const message = JSON.parse(data) as ToCore;
  const begun = performance.now();
  let isFirst = true;
  /** How long this thread worked for what it says first; the page's own time is what is left. */
  const took = () => {
    const ms = isFirst ? performance.now() - begun : 0;
    isFirst = false;
    return ms;
  };
  switch (message.type) {
    case "make":
      core = fake({ tasks: message.tasks, inbox: message.inbox, servers: 5, changesPerSecond: message.changes });
      say({ type: "ready" });
      break;
    case "call":
      core?.call(message.name, message.input).then(
        (output) => say({ type: "answer", id: message.id, output, tookMs: took() }),
        (error: unknown) => say({ type: "failure", id: message.id, error }),
      );
      break;
    case "subscribe":
      stop?.();
      stop =
        core?.subscribe(message.input, {
          frame: (frame) => say({ type: "frame", frame, tookMs: took() }),
          alive: () => undefined,
          open: () => undefined,
          end: () => undefined,
        }) ?? null;
      break;
    case "rest":
      core?.rest();
      say({ type: "rested", sent: core?.sent ?? 0 });
      break;
  }
});
