/* The agents in every state, in the screen they stand in. */
import type { ApiError, RuleDto, TaskRow } from "$lib/bindings";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import { makeAgents } from "$lib/fake-core/entities";
import { makeRow } from "$lib/fake-core/rows";
import { aPause } from "$lib/pause/pause.example";
import { anAgent } from "./agents.example";
import Screen from "./AgentsScreen.svelte";

const refused: ApiError = {
  code: "refused",
  message: "there is an agent `claude-code` already",
  hint: "Choose another name, or revoke that one first.",
};
const designed = [
  anAgent("claude-code", { openTasks: 3 }),
  anAgent("research-7", { client: "research 7.0", openTasks: 5, waiting: 2, seenAt: "2026-11-21T14:31:35.000Z" }),
  anAgent("nightly-ops", { client: null, connected: false, openTasks: 3, seenAt: "2026-11-21T14:23:36.000Z" }),
  anAgent("pr-reviewer", { openTasks: 5 }),
  anAgent("order-bot", { connected: false, revokedAt: "2026-11-21T11:02:00.000Z", seenAt: "2026-11-21T11:02:00.000Z" }),
];
const PAUSED_AT = "2026-11-21T14:12:00.000Z";
const paused = [
  anAgent("claude-code", {
    openTasks: 4,
    paused: aPause({
      agent: "claude-code",
      since: PAUSED_AT,
      reason: "it writes to the wrong month",
      holdsResults: true,
      waiting: 3,
      mustChoose: true,
    }),
  }),
  ...designed.slice(1),
];
const waitingCall = (at: number, change: Partial<TaskRow> = {}): TaskRow => ({
  ...makeRow(at, "waiting", STORY_NOW),
  agent: "claude-code",
  agentId: "agt_claude-code",
  group: "moving",
  openRequests: 0,
  paused: { kind: "agentPaused", since: PAUSED_AT },
  ...change,
});
const waiting = [0, 1, 2].map((at) => waitingCall(at));
const rule: RuleDto = {
  scope: { kind: "agent", agent: "agt_claude-code" },
  asked: "agentThenPeople",
  peopleAfterMs: 60_000,
  repeat: "join",
  holdResults: true,
  promoteAfterMs: null,
};
const ofServer: RuleDto = { scope: { kind: "server", server: "ci-server" }, holdResults: true };
const ofTool: RuleDto = {
  scope: { kind: "tool", server: "ci-server", tool: "deploy_prod" },
  repeat: "new",
  resultLimit: { tokens: 20_000, at: "hold" },
};
const long = "x".repeat(100_000);
const hostile = anAgent("hostile", {
  client: `<img src=x onerror=alert(1)> \u202E${long}`,
  calls: Number.MAX_SAFE_INTEGER,
  openTasks: 999_999,
  waiting: 88_888,
});
const hostilePause = [
  {
    ...hostile,
    paused: aPause({ agent: "hostile", by: `control:ctl_${long}`, reason: `<b>\u202E${long}`, waiting: 100 }),
  },
  ...designed,
];
const hostileCalls = Array.from({ length: 100 }, (_, at) =>
  waitingCall(at, {
    agent: "hostile",
    agentId: "agt_hostile",
    tool: at === 0 ? `<img src=x>\u202E${long}` : `tool_${at}`,
  }),
);
const screen = (
  hash: string,
  fake: NonNullable<Parameters<typeof story>[2]>["fake"] = {},
  more: Parameters<typeof story>[2] = {},
) => story(Screen, {}, { hash: `#/agents${hash}`, fake: { agents: designed, ...fake }, ...more });

export default {
  title: "agents",
  stories: {
    designed: screen(""),
    none: screen("", { agents: 0 }),
    "none, no server": screen("", { agents: 0, servers: 0, tasks: 0 }),
    one: screen("", { agents: [anAgent("claude-code")] }),
    thirty: screen("", { agents: makeAgents(30, STORY_NOW), servers: 30 }),
    "ten thousand": () => screen("", { agents: makeAgents(10_000, STORY_NOW) }),
    "no match": screen("", { agents: makeAgents(60, STORY_NOW) }, { keys: ["/", "q", "q"] }),
    loading: screen("", { connection: "connecting" }),
    error: screen("", { connection: "lost" }),
    stale: screen("", { connection: "stale" }),
    opened: screen("/agt_claude-code"),
    "paused, in the list": screen("", { agents: paused }),
    "paused, opened": screen("/agt_claude-code", { agents: paused }),
    "paused, ending": screen(
      "/agt_claude-code",
      { agents: paused, tasks: waiting },
      { click: ["aside footer button:has-text('Resume')"] },
    ),
    "paused, ending, nothing waits": screen(
      "/agt_claude-code",
      { agents: paused },
      { click: ["aside footer button:has-text('Resume')"] },
    ),
    "paused, ending, calls not read": screen(
      "/agt_claude-code",
      {
        agents: paused,
        calls: {
          "pauses.list": () => {
            throw refused;
          },
        },
      },
      { click: ["aside footer button:has-text('Resume')"] },
    ),
    "paused, hostile": () => screen("/agt_hostile", { agents: hostilePause }),
    "paused, ending, hostile": () =>
      screen(
        "/agt_hostile",
        { agents: hostilePause, tasks: hostileCalls },
        { click: ["aside footer button:has-text('Resume')"] },
      ),
    pausing: screen("/agt_claude-code", {}, { click: ["aside footer button:has-text('Pause')"] }),
    "opened, with a learned timeout": screen("/agt_claude-code", {
      agents: [anAgent("claude-code", { learnedTimeoutMs: 40_000 })],
    }),
    "opened, window": screen("/agt_claude-code?tab=window"),
    "opened, window never seen": screen("/agt_nightly-ops?tab=window", { budgets: [] }),
    "opened, rules": screen("/agt_claude-code?tab=rules"),
    "opened, rules set": screen("/agt_claude-code?tab=rules", { rules: [rule, ofServer, ofTool] }),
    "opened, rules edited": screen(
      "/agt_claude-code?tab=rules",
      { rules: [rule] },
      { click: ["aside [role=tabpanel] button >> nth=0"] },
    ),
    "opened, token": screen("/agt_claude-code?tab=token"),
    "opened, checked": screen(
      "/agt_claude-code",
      {},
      { click: ["aside [role=tabpanel] button:has-text('Check connection')"] },
    ),
    "opened, check found trouble": screen(
      "/agt_nightly-ops",
      {
        calls: {
          "agents.check": () => ({
            checkedAt: "2026-11-21T14:31:36.000Z",
            url: "http://127.0.0.1:7717/mcp",
            urlWhy: null,
            http: { tookMs: 3_000, why: "Nothing listens there." },
            command: { tookMs: 2, why: null },
            seenAt: null,
            seenThrough: null,
            tokenUsed: false,
            serversUp: 1,
            servers: 3,
            serversDown: [
              { name: "memorygraph", why: "the server asks for sign-in" },
              { name: "warehouse", why: null },
            ],
            waitsMs: 300_000,
            waitsLearned: false,
          }),
        },
      },
      { click: ["aside [role=tabpanel] button:has-text('Check connection')"] },
    ),
    "new token": screen("/agt_claude-code", {}, { click: ["aside footer button >> nth=0"] }),
    "new token, made": screen(
      "/agt_claude-code",
      {},
      { click: ["aside footer button >> nth=0", "[role=dialog] button:has-text('Make a new token')"] },
    ),
    "opened, revoked": screen("/agt_order-bot"),
    hostile: screen("/agt_hostile", { agents: [hostile, ...designed] }),
    revoke: screen("/agt_claude-code", {}, { click: ["aside footer button >> nth=-1"] }),
    add: screen("/%2Badd"),
    "add, nothing typed": screen("/%2Badd", {}, { click: ["aside footer button[type=submit]"] }),
    "add, no address": screen("/%2Badd", {
      core: { agentsAt: { url: null, why: "port 7717 is used by another program; choose another with --listen" } },
    }),
    added: screen("/%2Badd", {}, { click: ["aside input[maxlength]"], keys: ["n", "e", "w", "Enter"] }),
    "add, refused": screen(
      "/%2Badd",
      {
        calls: {
          "agents.add": () => {
            throw refused;
          },
        },
      },
      { click: ["aside input[maxlength]"], keys: ["n", "e", "w", "Enter"] },
    ),
  },
} satisfies StoryFile;
