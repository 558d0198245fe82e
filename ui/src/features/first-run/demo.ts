/* The demo as steps: add the server that ships with Taskwarden, start its task that asks, wait for the question.
   Everything goes through the same calls as real work. It says where it stands and where to go next. */
import type { AddressDto, TaskDto } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";

export const DEMO_NAME = "demo";
/** It asks how a sample should be sorted and moves nothing: the first question is safe to answer. */
export const DEMO_TOOL = "plan_sorting";
/** How long the question is waited for before the task itself is shown instead. */
const QUESTION_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 100;

export type Step = "connecting" | "starting" | "waiting";

export type Outcome =
  | { readonly kind: "asks"; readonly task: string; readonly key: string }
  | { readonly kind: "runs"; readonly task: string }
  /** It ended at once. */
  | { readonly kind: "over"; readonly task: string }
  | { readonly kind: "unreachable"; readonly why: string; readonly hint: string };

/** Rejects with an `ApiError`. */
export async function runDemo(
  backend: Backend,
  address: AddressDto,
  onstep: (step: Step) => void,
  wait: (ms: number) => Promise<void> = pause,
): Promise<Outcome> {
  onstep("connecting");
  const unreachable = await connect(backend, address);
  if (unreachable !== null) return unreachable;
  onstep("starting");
  const { id } = await backend.call("tasks.start", {
    server: DEMO_NAME,
    tool: DEMO_TOOL,
    arguments: {},
    limitMs: null,
  });
  onstep("waiting");
  for (let waited = 0; waited < QUESTION_LIMIT_MS; waited += LOOK_EVERY_MS) {
    const found = outcome(await backend.call("tasks.show", { id }));
    if (found !== null) return found;
    await wait(LOOK_EVERY_MS);
  }
  return { kind: "runs", task: id };
}

/** Null when it is connected. A demo server that is there already is used. */
async function connect(backend: Backend, address: AddressDto): Promise<Outcome | null> {
  const server = await known(backend);
  const { health } =
    server ?? (await backend.call("servers.add", { name: DEMO_NAME, address, secrets: {}, agreed: true })).server;
  if (health.kind === "up") return null;
  return { kind: "unreachable", why: health.why ?? health.kind, hint: health.hint ?? "" };
}

async function known(backend: Backend) {
  const { servers } = await backend.call("servers.list", {});
  return servers.find((server) => server.name === DEMO_NAME) ?? null;
}

function outcome(task: TaskDto): Outcome | null {
  const open = task.requests.find((request) => request.state === "open");
  if (open) return { kind: "asks", task: task.id, key: open.key };
  return task.over ? { kind: "over", task: task.id } : null;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
