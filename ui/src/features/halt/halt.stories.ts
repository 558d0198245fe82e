import { TOOLS } from "$lib/fake-core/entities";
import { makeRows } from "$lib/fake-core/rows";
import { haltedTasks, haltOf } from "$lib/fake-core/halt/orders";
import { STORY_NOW, story, type StoryFile } from "$lib/fake-core/story";
import type { ApiError, HaltedTaskStateDto, ToolDto } from "$lib/bindings";
import HaltDialog from "./HaltDialog.svelte";
import HaltScreen from "./HaltScreen.svelte";

const AT = STORY_NOW - 48_000;
const MIXED: readonly HaltedTaskStateDto[] = [
  "confirmed",
  "notConfirmed",
  "confirmed",
  "acknowledged",
  "confirmed",
  "notConfirmed",
  "requested",
];
const tasks = (n: number, states = MIXED) => haltedTasks(makeRows(n, 0, STORY_NOW), states, AT);
const iso = (at: number) => new Date(at).toISOString();
const onclose = () => undefined;
const SOME = "text=Only these servers, agents and tools";
const fails = () => {
  throw { code: "failed", message: "`ci-server` does not answer", hint: "Try again." } satisfies ApiError;
};
const hostile = Array.from({ length: 400 }, (_, n) => ({
  ...(TOOLS[0] as ToolDto),
  name: n === 0 ? "x".repeat(4_000) : `<img src=x onerror=alert(${n})>\u001b[31m\u202Egnp.exe`,
}));

export default {
  title: "halt",
  stories: {
    "nothing halted": story(HaltScreen, {}),
    "no task": story(HaltScreen, {}, { fake: { halt: haltOf([], AT) } }),
    "one task": story(HaltScreen, {}, { fake: { halt: haltOf(tasks(1, ["confirmed"]), AT) } }),
    "thirty tasks": story(HaltScreen, {}, { fake: { halt: haltOf(tasks(30), AT) } }),
    "contact with some ended": story(
      HaltScreen,
      {},
      {
        fake: {
          halt: haltOf(tasks(11, ["notConfirmed", "requested", "confirmed"]), AT, {
            counts: { requested: 4, acknowledged: 0, confirmed: 3, notConfirmed: 4, open: 0, beyondReach: 3 },
          }),
        },
      },
    ),
    "ten thousand tasks": () => story(HaltScreen, {}, { fake: { halt: haltOf(tasks(10_000), AT) } }),
    "on the way back": story(
      HaltScreen,
      {},
      {
        fake: {
          halt: haltOf(tasks(11), AT, {
            steps: [
              { stage: "acknowledged", at: iso(AT + 20_000), by: "ada" },
              { stage: "requests", at: iso(AT + 30_000), by: "ada" },
              { stage: "readOnly", at: iso(AT + 40_000), by: "ada" },
            ],
            nextStage: "calls",
            confirmedTools: [{ server: "docs", tool: "search_docs" }],
          }),
        },
      },
    ),
    "by the file, then widened": story(
      HaltScreen,
      {},
      {
        fake: {
          halt: haltOf(tasks(4, ["open", "confirmed"]), AT, {
            orders: [
              {
                server: null,
                agent: null,
                tool: null,
                scope: ["calls"],
                inForce: ["calls"],
                at: iso(AT),
                by: null,
                reason: "",
              },
              {
                server: "warehouse",
                agent: null,
                tool: "backfill_orders_of_every_region_and_year",
                scope: ["running"],
                inForce: ["running"],
                at: iso(AT + 9_000),
                by: "ada",
                reason: "It writes the wrong month, and nobody knows yet how many rows of the orders it has changed.",
              },
            ],
          }),
        },
      },
    ),
    unreadable: story(HaltScreen, {}, { fake: { halt: { halt: null, unreadable: "row hlt_1 cannot be decoded" } } }),
    "core lost": story(HaltScreen, {}, { fake: { halt: haltOf(tasks(11), AT), connection: "stale" } }),
    dialog: story(HaltDialog, { onclose }),
    "dialog, some places": story(HaltDialog, { onclose }, { click: [SOME] }),
    "dialog, a tool": story(HaltDialog, { onclose }, { click: [SOME, "label:has-text('deploy_prod')"] }),
    "dialog, tools that cannot be listed": story(
      HaltDialog,
      { onclose },
      { fake: { calls: { "servers.tools": fails } }, click: [SOME] },
    ),
    "dialog, hostile tools": story(
      HaltDialog,
      { onclose },
      { fake: { calls: { "servers.tools": () => ({ tools: hostile, callsSince: iso(AT) }) } }, click: [SOME] },
    ),
    "dialog, core lost": story(HaltDialog, { onclose }, { fake: { connection: "stale" } }),
  },
} satisfies StoryFile;
