/* One task in every state, in the drawer. */
import type { AuditVerb, ApiError, Calls, InboxRow, RequestDto, TaskDto, TaskRow } from "$lib/bindings";
import { makeBudgets } from "$lib/fake-core/budgets";
import { makeRow, workOf } from "$lib/fake-core/rows";
import { detail, makeAgents, request } from "$lib/fake-core/entities";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import { COST, PAST_ITS_TIME, TWO_LIMITS } from "$lib/task/facts.example";
import { frozen, gated } from "./paused.example";
import TaskDrawer from "./TaskDrawer.svelte";

const ago = (seconds: number) => new Date(STORY_NOW - seconds * 1_000).toISOString();
const row: TaskRow = {
  ...makeRow(1, "running", STORY_NOW),
  id: "hdl_story",
  server: "warehouse",
  agent: "order-bot",
  tool: "backfill_orders",
  createdAt: ago(4_320),
  changedAt: ago(34),
  lastSeenAt: ago(8),
  progress: { done: 38, total: 100, message: null },
  stopState: null,
};
const asked = request(row, "batch", "form", "How many orders may one batch hold? The warehouse is busy until 16:00.");
const answered: RequestDto = {
  ...asked,
  state: "confirmed",
  openedAt: ago(3_295),
  answer: {
    action: "accept",
    by: "Mara Lindqvist",
    at: ago(2_986),
    delivery: "acknowledged",
    refusedWhy: null,
    notBefore: null,
  },
};
const base: TaskDto = { ...detail(row, [answered], STORY_NOW), startedBy: null };
const event = (
  seconds: number,
  lane: Calls["tasks.history"][1]["events"][number]["lane"],
  verb: AuditVerb,
  who: string,
  note = "",
) => ({
  at: ago(seconds),
  lane,
  actor: lane === "policy" ? ("taskwarden" as const) : lane,
  verb,
  who,
  key: null,
  note,
});
const history: Calls["tasks.history"][1] = {
  events: [
    event(4_320, "agent", "admitted", "order-bot"),
    event(4_318, "server", "accepted", "warehouse"),
    event(3_295, "server", "asked", "warehouse", "form"),
    event(2_986, "person", "answerBegun", "Mara Lindqvist", "accept"),
    event(2_985, "server", "answerEnded", "warehouse", "acknowledged"),
    event(34, "person", "stopBegun", "Mara Lindqvist", "wrong month"),
  ],
  log: [
    { at: ago(4_318), status: "working", text: "Planning partitions" },
    { at: ago(3_295), status: "input_required", text: "Needs a batch size" },
    { at: ago(40), status: "working", text: "Partition 2026-08 of 14" },
  ],
  looks: Array.from({ length: 40 }, (_, at) => ago(4_300 - at * 108)),
};
const wish = (change: Partial<NonNullable<TaskDto["intent"]>>): TaskDto["intent"] => ({
  kind: "cancel",
  at: ago(34),
  by: "Mara Lindqvist",
  reason: "wrong month",
  state: "asked",
  refusedWhy: null,
  sentAt: ago(34),
  acknowledgedAt: null,
  ...change,
});
const cancelling: TaskDto = {
  ...base,
  phase: "cancelling",
  intent: wish({ state: "acknowledged", acknowledgedAt: ago(33) }),
};
const ended = { over: true, endedAt: ago(3), nextLookAt: null, group: "finished" } as const;
const bad = "<img src=x onerror=alert(1)>\u001b[31m\u202Egnp.exe";
const long = "x".repeat(100_000);
const tooLarge = (verdict: NonNullable<TaskDto["held"]>["verdict"]): TaskDto["held"] => ({
  at: ago(90),
  by: "limit",
  why: "tooLarge",
  tokens: 61_402,
  limit: 20_000,
  program: null,
  free: null,
  verdict,
});
const large: Partial<TaskDto> = {
  ...ended,
  phase: "done",
  status: "completed",
  intent: null,
  result: { bytes: 245_608, isError: false, state: "stored" },
  tokens: COST,
  held: tooLarge(null),
};
const agents = makeAgents(5, STORY_NOW).map((agent) => ({ ...agent, revokedAt: null }));
const gone: ApiError = { code: "notFound", message: "there is no task", hint: "It may have been removed." };
const failed: ApiError = {
  code: "failed",
  message: "the registry could not be read",
  hint: "Taskwarden tries again by itself.",
};

const SHARED: InboxRow = {
  id: "hdl_other/ask",
  kind: "form",
  task: "hdl_other",
  key: "ask",
  server: "warehouse",
  tool: null,
  agent: null,
  message: "Which of the two warehouses should be synchronised first?",
  host: null,
  openedAt: ago(200),
  deadline: null,
  snoozedUntil: null,
  changedAt: ago(200),
  answeredBy: null,
  destructive: false,
  tokens: null,
  limit: null,
  exactness: null,
  why: null,
  oneOf: ["hdl_story", "hdl_other", "hdl_c", "hdl_d", "hdl_e"],
};

type Options = Parameters<typeof story>[2];
function one(task: Partial<TaskDto>, more: Options = {}) {
  const given = { ...base, ...task };
  const whole = { ...given, ...workOf(given), ...task };
  return story(
    TaskDrawer,
    { id: whole.id, close: () => undefined },
    {
      ...more,
      hash: `#/tasks/${encodeURIComponent(whole.id)}`,
      fake: {
        tasks: [{ ...row, id: whole.id }],
        inbox: [],
        details: [whole],
        ...more.fake,
        calls: {
          "tasks.show": () => ({ ...whole, log: [], decisions: [] }),
          "tasks.history": () => history,
          ...more.fake?.calls,
        },
      },
    },
  );
}
const trigger = ["footer button[aria-haspopup=dialog]"];
const tab = (name: string) => [`[role=tab]:has-text("${name}")`];

export default {
  title: "task",
  stories: {
    working: one({ intent: null }),
    "working, without figures": one({ intent: null, progress: null, usual: null }),
    "working, hostile words": one({
      intent: null,
      progress: { done: 1e300, total: -1, message: `${bad} ${long}` },
      tool: long,
    }),
    "what happened": one({ intent: null }, { click: tab("Timeline") }),
    "waiting for you": one({
      phase: "waiting",
      status: "input_required",
      group: "needsYou",
      requests: [{ ...asked, openedAt: ago(260) }],
      pausedSince: ago(260),
      intent: null,
    }),
    "waiting, its agent is paused": one(gated("agentPaused", ago(260))),
    "waiting, its server is frozen": one(gated("serverFrozen", ago(260))),
    "working, its server is frozen": one(frozen(ago(600))),
    "possibly waiting for a question": one(
      { phase: "waiting", group: "needsYou", requests: [], askedElsewhere: [SHARED.id], intent: null },
      { fake: { inbox: [SHARED] } },
    ),
    "possibly waiting, its answers": one(
      {
        phase: "waiting",
        group: "needsYou",
        requests: [{ ...asked, openedAt: ago(260), oneOf: ["hdl_story", "hdl_other"] }],
        askedElsewhere: [SHARED.id],
        intent: null,
      },
      { fake: { inbox: [SHARED] }, click: tab("Answers") },
    ),
    lost: one({
      phase: "lost",
      over: true,
      group: "needsYou",
      contact: { kind: "gone", since: ago(1_200), failures: 3, last: null },
      lastSeenAt: ago(1_200),
      nextLookAt: null,
      intent: null,
    }),
    unconfirmed: one({ phase: "unconfirmed", group: "needsYou", status: null, intent: null }),
    "blocked by a sign-in": one({ phase: "blocked", group: "needsYou", intent: null }),
    silent: one({
      phase: "silent",
      group: "noNews",
      contact: { kind: "silent", since: ago(720), failures: 3, last: null },
      lastSeenAt: ago(720),
      intent: null,
    }),
    "cancel asked": one({ ...cancelling, intent: wish({}) }, { click: trigger }),
    "cancel acknowledged": one(cancelling, { click: trigger }),
    "cancel obeyed": one(
      {
        ...cancelling,
        ...ended,
        phase: "cancelled",
        status: "cancelled",
        intent: wish({ state: "stopped", acknowledgedAt: ago(33) }),
      },
      { click: trigger },
    ),
    "cancel overtaken": one(
      {
        ...cancelling,
        ...ended,
        phase: "done",
        status: "completed",
        result: { bytes: 640, isError: false, state: "stored" },
        intent: wish({ state: "finishedAnyway", acknowledgedAt: ago(33) }),
      },
      { click: trigger },
    ),
    "cancel refused": one(
      { intent: wish({ state: "refused", refusedWhy: "this server has no way to cancel a task" }) },
      { click: trigger },
    ),
    done: one({
      ...ended,
      phase: "done",
      status: "completed",
      intent: null,
      result: { bytes: 640, isError: false, state: "stored" },
    }),
    failed: one({
      ...ended,
      phase: "failed",
      status: "failed",
      intent: null,
      error: { code: -32_603, message: "the worker ran out of memory" },
    }),
    arguments: one({ intent: null }, { click: ["summary:has-text('Arguments')"] }),
    answers: one(
      {
        intent: null,
        requests: [
          { ...asked, key: "now", openedAt: ago(30) },
          answered,
          { ...asked, key: "old", state: "withdrawn", openedAt: ago(4_000), withdrawnWhy: "the server no longer asks" },
          {
            ...request(row, "link", "url", "Allow the export in your browser."),
            openedAt: ago(3_900),
            state: "confirmed",
            answer: {
              action: "decline",
              by: "Dana Okafor",
              at: ago(3_800),
              delivery: "refused",
              refusedWhy: "the session is gone",
              notBefore: null,
            },
          },
        ],
      },
      { click: tab("Answers") },
    ),
    "no answers": one({ intent: null, requests: [] }, { click: tab("Answers") }),
    raw: one({ intent: null }, { click: [...tab("Raw"), "[role=tabpanel] >> text=Show >> nth=0"] }),
    "raw, none": one(
      { intent: null },
      { click: tab("Raw"), fake: { calls: { "tasks.raw": () => ({ messages: [] }) } } },
    ),
    "raw fails": one(
      { intent: null },
      {
        click: tab("Raw"),
        fake: {
          calls: {
            "tasks.raw": () => {
              throw failed;
            },
          },
        },
      },
    ),
    "no history yet": one(
      { intent: null },
      { fake: { calls: { "tasks.history": () => ({ events: [], log: [], looks: [] }) } } },
    ),
    "long history": one(
      { intent: null },
      {
        fake: {
          calls: {
            "tasks.history": () => ({
              events: Array.from({ length: 500 }, (_, at) =>
                event(4_320 - at * 8, at % 2 ? "server" : "policy", at % 2 ? "asked" : "lost", "warehouse"),
              ),
              log: Array.from({ length: 500 }, (_, at) => ({
                at: ago(4_320 - at * 8),
                status: "working",
                text: `Partition ${at}`,
              })),
              looks: history.looks,
            }),
          },
        },
      },
    ),
    tokens: one(
      {
        ...ended,
        phase: "done",
        status: "completed",
        intent: null,
        result: { bytes: 245_608, isError: false, state: "stored" },
        tokens: COST,
      },
      { click: tab("Tokens") },
    ),
    "result too large": one(large),
    "result too large, trimming": one(large, {
      click: ["[role=group] button >> text=Trim…"],
      keys: ["Control+a", "x", "Enter"],
    }),
    "result too large, not delivering": one(large, { click: ["[role=group] button >> text=Do not deliver…"] }),
    "result too large, not sent": one(large, {
      click: ["[role=group] button >> text=Deliver in parts"],
      fake: {
        calls: {
          "tasks.release": () => {
            throw failed;
          },
        },
      },
    }),
    "result too large, hostile": one(
      { ...large, tool: `${bad}${long}`, server: `${bad}${long}`, agent: long },
      {
        fake: {
          rules: [{ scope: { kind: "server", server: `${bad}${long}` }, resultLimit: { tokens: 20_000, at: "ask" } }],
        },
      },
    ),
    "result too large, letting in": one(
      { ...large, agent: "research-7" },
      {
        click: ["[role=group] button >> text=Deliver whole…"],
        fake: { agents, budgets: makeBudgets(agents, null, STORY_NOW) },
      },
    ),
    "result to see": one({
      ...large,
      held: {
        at: ago(90),
        by: "Mara Lindqvist",
        why: "review",
        tokens: null,
        limit: null,
        program: null,
        free: null,
        verdict: null,
      },
    }),
    "result in parts by a limit": one({
      ...large,
      held: tooLarge({
        delivered: true,
        by: "limit",
        at: ago(60),
        reason: null,
        form: "slices",
        byLimit: true,
        trimTokens: null,
      }),
    }),
    "past its time limit": one({ intent: null, runLimits: [PAST_ITS_TIME] }),
    "with limits of time": one({
      intent: null,
      runLimits: TWO_LIMITS,
    }),
    "past its limit": one({
      intent: null,
      tokens: { ...COST, result: null, delivered: 0 },
      overLimit: { tokens: 61_204, limit: { tokens: 60_000, at: "ask" }, at: ago(60), settledBy: null },
    }),
    "past its limit, let go on": one({
      intent: null,
      overLimit: { tokens: 61_204, limit: { tokens: 60_000, at: "ask" }, at: ago(60), settledBy: "Mara Lindqvist" },
    }),
    "started by a person": one({ intent: null, origin: "started", agent: null, startedBy: "Mara Lindqvist" }),
    revoke: one(
      { intent: null },
      { click: ["button[aria-haspopup=menu]", "[role=menuitem]:has-text('Revoke it from')"] },
    ),
    "mark resolved": one(
      { phase: "lost", over: true, intent: null },
      { click: ["footer button:has-text('Mark resolved')"] },
    ),
    hostile: one(
      {
        id: `hdl_${"9".repeat(40)}`,
        tool: `${bad}${long}`,
        server: `${bad}${long}`,
        agent: long,
        status: `${bad}${long}`,
        statusMessage: bad,
        intent: wish({ reason: `${bad}${long}`, state: "refused", refusedWhy: `${bad}${long}` }),
        requests: [{ ...asked, message: `${bad} ${long}` }],
      },
      {
        fake: {
          calls: {
            "tasks.history": () => ({
              events: [
                event(60, "agent", `${bad}${long}` as AuditVerb, long, bad),
                event(50, "person", "stopBegun", long, long),
              ],
              log: [{ at: ago(40), status: long, text: `${bad}${long}` }],
              looks: [],
            }),
          },
        },
      },
    ),
    "hostile answers": one(
      {
        intent: null,
        server: `${bad}${long}`,
        requests: [{ ...asked, message: `${bad} ${long}`, host: long, hostAscii: bad }],
      },
      { click: tab("Answers") },
    ),
    loading: one(
      { intent: null },
      {
        fake: {
          tasks: [],
          details: [],
          calls: {
            "tasks.show": () => new Promise<never>(() => undefined),
            "tasks.history": () => new Promise<never>(() => undefined),
          },
        },
      },
    ),
    "not found": one(
      { intent: null },
      {
        fake: {
          tasks: [],
          details: [],
          calls: {
            "tasks.show": () => {
              throw gone;
            },
          },
        },
      },
    ),
    error: one(
      { intent: null },
      {
        fake: {
          tasks: [],
          details: [],
          calls: {
            "tasks.show": () => {
              throw failed;
            },
          },
        },
      },
    ),
    stale: one({ intent: null }, { fake: { connection: "stale" } }),
  },
} satisfies StoryFile;
