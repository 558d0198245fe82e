/* The first run: the cards, the demo's end, connecting an agent. */
import type { TaskDto } from "$lib/bindings";
import { FakeBackend } from "$lib/fake-core/backend";
import { request } from "$lib/fake-core/entities";
import { story, type StoryFile } from "$lib/fake-core/story";
import { anAgent } from "../agents/agents.example";
import { part, planContent, planParts } from "./first-run.example";
import GetStarted from "./GetStarted.svelte";

const empty = { servers: 0, tasks: 0, inbox: 0, agents: 0 };
const some = { servers: 1, tasks: 1, inbox: 0, agents: 0 };
const failed = { code: "failed", message: "the program `taskwarden` was not found", hint: "Install it again." };
const rows = new FakeBackend(some).state.rows;
const [made] = [...rows.values()];
if (!made) throw new Error("one task is made");
const { id } = made;
const shown = await new FakeBackend(some).call("tasks.show", { id });
const over = {
  ...shown,
  server: "demo",
  tool: "plan_sorting",
  agent: null,
  over: true,
  phase: "done" as const,
  error: null,
  pausedMs: 12_000,
  workedMs: 8_000,
  worksSince: null,
  elapsedMs: 0,
  requests: [
    {
      ...request(made, "sort", "form", "How should 8 sample files be sorted?"),
      state: "confirmed" as const,
      answer: {
        action: "accept" as const,
        by: "Mara Lindqvist",
        at: made.changedAt,
        delivery: "acknowledged" as const,
        refusedWhy: null,
        notBefore: null,
      },
    },
  ],
};
const long = "x".repeat(2_000);
const hostile = () =>
  planParts({
    sortedBy: "month",
    wouldMove: 9_007_199_254_740_991,
    folders: Array.from({ length: 40 }, (_, n) => ({
      folder: `<img src=x onerror=alert(1)> \u202E${long}${n}`,
      count: 10_000,
      files: Array.from({ length: 1_000 }, () => `\u202Egpj.exe ${long}`),
    })),
  });

const page = (
  hash: string,
  fake: NonNullable<Parameters<typeof story>[2]>["fake"] = {},
  more: Parameters<typeof story>[2] = {},
) => story(GetStarted, {}, { hash: `#/start${hash}`, fake, ...more });
const end = (calls: NonNullable<NonNullable<Parameters<typeof story>[2]>["fake"]>["calls"], task: TaskDto = over) =>
  page(`/${encodeURIComponent(`demo/${id}`)}`, { ...some, details: [task], calls });
const connect = (client: string, fake = {}, more: Parameters<typeof story>[2] = {}) =>
  page(`/${encodeURIComponent(`agent/${client}`)}`, { ...some, ...fake }, more);
const make = { click: [".steps button >> nth=0"] };

export default {
  title: "first-run",
  stories: {
    start: page("", empty),
    "start, the demo is done": page("", some),
    "start, two of three": page("", { ...some, agents: [anAgent("claude-code")] }),
    "start, on its way": page(
      "",
      { ...empty, calls: { "servers.add": () => new Promise<never>(() => undefined) } },
      { keys: ["1"] },
    ),
    "start, failed": page(
      "",
      {
        ...empty,
        calls: {
          "servers.add": () => {
            throw failed;
          },
        },
      },
      { keys: ["1"] },
    ),
    "start, stale": page("", { ...empty, connection: "stale" }),
    "end, on its way": end({}, { ...over, over: false, phase: "running", requests: [] }),
    end: end({ "tasks.content": () => planContent() }),
    "end, declined": end({
      "tasks.content": () =>
        planContent([part(0, "text", "Nothing was planned: the person declined. No file was touched.")]),
    }),
    "end, hostile": end({ "tasks.content": () => planContent(hostile()) }),
    "end, gone": page(`/${encodeURIComponent("demo/hdl_gone")}`, { ...some, tasks: 0 }),
    connect: connect("claude-code"),
    "connect, made": connect("claude-code", {}, make),
    "connect, Cursor": connect("cursor", {}, make),
    "connect, over HTTP": connect("http", {}, make),
    "connect, taken": connect("claude-code", { agents: [anAgent("claude-code", { seenAt: null, connected: false })] }),
    "connect, refused": connect(
      "codex",
      {
        calls: {
          "agents.add": () => {
            throw {
              code: "refused",
              message: "there are 64 agents already",
              hint: "Revoke one with `taskwarden agents revoke`.",
            };
          },
        },
      },
      make,
    ),
  },
} satisfies StoryFile;
