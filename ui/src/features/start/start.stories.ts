/* The dialog that starts a task, step by step. */
import type { StartRequest } from "$lib/actions";
import type { ServerDto, ToolDto } from "$lib/bindings";
import { makeServer, TOOLS } from "$lib/fake-core/entities";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import StartDialog from "./StartDialog.svelte";

const up = (name: string, at = 0): ServerDto => ({
  ...makeServer(name, at, STORY_NOW),
  agreed: true,
  health: { kind: "up", since: null, why: null, hint: null, retryAt: null },
});
const down: ServerDto = {
  ...up("warehouse"),
  health: {
    kind: "down",
    since: null,
    why: "the program ended with code 1",
    hint: "Look at its last words.",
    retryAt: null,
  },
};
const three = [up("ci-server"), up("docs"), down];
const long = "x".repeat(20_000);
const hostile: ToolDto = {
  name: "<img src=x onerror=alert(1)>",
  title: `\u202E<b>${long}`,
  description: `<script>alert(2)</script> ${long}`,
  taskSupport: "optional",
  destructive: true,
  readOnly: false,
  callsDay: 0,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`field_${at}`, { type: "string", description: "<i>markup</i>" }]),
    ),
  },
};
const tools = (list: ToolDto[]) => ({ "servers.tools": () => ({ tools: list }) });
const bare: ToolDto = {
  name: "runaway",
  title: "Run away",
  description: "Works for ever.",
  taskSupport: "required",
  destructive: false,
  readOnly: true,
  callsDay: 0,
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
};
const open = (
  wish: StartRequest,
  servers: ServerDto[] = three,
  calls = {},
  click: string[] = [],
  keys: string[] = [],
) => story(StartDialog, { wish, onclose: () => undefined }, { fake: { servers, calls }, click, keys });
const onto = (tool: string | null, server: string | null = "docs"): StartRequest => ({ server, tool });

export default {
  title: "start",
  stories: {
    "no server": open(onto(null, null), []),
    "which server": open(onto(null, null)),
    "which server, many": () =>
      open(
        onto(null, null),
        Array.from({ length: 10_000 }, (_, at) => makeServer(`server-${at}`, at, STORY_NOW)),
      ),
    "server is down": open(onto(null, "warehouse")),
    "which tool": open(onto(null)),
    "which tool, many": () =>
      open(
        onto(null),
        three,
        tools(Array.from({ length: 10_000 }, (_, at) => ({ ...bare, name: `tool_${at}`, title: null }))),
      ),
    "no tools": open(onto(null), three, tools([])),
    "tools fail": open(onto(null), three, {
      "servers.tools": () => {
        throw { code: "failed", message: "the server is not connected", hint: "It is tried again by itself." };
      },
    }),
    "tool is gone": open(onto("nothing")),
    arguments: open(onto("index_folder")),
    "arguments, offered": open(
      onto("index_folder"),
      three,
      {
        "tasks.recentArguments": () => ({
          recent: [
            {
              task: "hdl_1",
              at: "2026-11-21T14:20:00.000Z",
              agent: null,
              arguments: { path: "/srv/data", pause_ms: 5 },
              leftOut: false,
            },
            {
              task: "hdl_2",
              at: "2026-11-21T12:00:00.000Z",
              agent: "claude-code",
              arguments: { path: `\u202E<b>${long}` },
              leftOut: true,
            },
          ],
        }),
      },
      ["[role=dialog] button:has-text('Recent arguments')"],
    ),
    "no arguments": open(onto("runaway"), three, tools([bare, ...TOOLS])),
    "to correct": open(onto("index_folder"), three, {}, [], ["Control+Enter"]),
    "refused at a field": open(
      onto("index_folder"),
      three,
      {
        "tasks.start": () => {
          throw { code: "usage", message: "argument `/path`: must be an existing folder", hint: "" };
        },
      },
      ["[role=dialog] form input[type=text] >> nth=0"],
      ["x", "Control+Enter"],
    ),
    "refused as a whole": open(
      onto("runaway"),
      three,
      {
        ...tools([bare]),
        "tasks.start": () => {
          throw {
            code: "refused",
            message: "too many calls are open on this server (4)",
            hint: "Wait until one is over.",
          };
        },
      },
      [],
      ["Control+Enter"],
    ),
    "destructive, first step": open(onto("deploy_prod")),
    "destructive, second step": open(
      onto("deploy_prod"),
      three,
      {},
      ["[role=dialog] form input[type=text] >> nth=0"],
      ["4", "Control+Enter"],
    ),
    hostile: open(onto(hostile.name), three, tools([hostile])),
  },
} satisfies StoryFile;
