/* The task list in every state, with and without the drawer beside it. */
import type { ApiError, BulkResult, BulkTask, DeskItem, PlanShown, TaskRow } from "$lib/bindings";
import { makeRow, makeRows } from "$lib/fake-core/rows";
import { ALL_PHASES } from "$lib/task/phase";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import Tasks from "./Tasks.svelte";
import ViewList from "./ViewList.svelte";

const failed: ApiError = {
  code: "failed",
  message: "the registry could not be read",
  hint: "Taskwarden tries again by itself.",
};
const fails = () => {
  throw failed;
};
const never = () => new Promise<never>(() => undefined);
const long = "x".repeat(100_000);
const bad = "<img src=x onerror=alert(1)>\u001b[31m\u202Egnp.exe";
const phases = ALL_PHASES.map((phase, at): TaskRow => ({
  ...makeRow(at, phase, STORY_NOW),
  stopState:
    phase === "running"
      ? "refused"
      : phase === "done"
        ? "finishedAnyway"
        : phase === "cancelling"
          ? "acknowledged"
          : null,
}));
const hostile = ALL_PHASES.map((phase, at): TaskRow => ({
  ...makeRow(at, phase, STORY_NOW),
  id: `hdl_${at}${bad}`,
  server: at % 2 ? bad : long,
  agent: at % 3 ? long : bad,
  tool: at % 2 ? long : bad,
  tokens: {
    handle: 1,
    keptOut: 1,
    result: Number.MAX_SAFE_INTEGER,
    inWindow: Number.MAX_SAFE_INTEGER,
    inWindowExactness: "exact" as const,
    delivered: 0,
    arguments: 1,
    family: long,
    exactness: "about",
  },
  status: bad,
  statusMessage: `${bad} ${long}`,
  progress: { done: 1e300, total: at % 2 ? null : 1e-300, message: long },
}));
const working = Array.from({ length: 400 }, (_, n): TaskRow => makeRow(n, "running", STORY_NOW));
const outcome = (n: number, isSettled: boolean): BulkResult => {
  if (n % 50 === 1) return "notConfirmed";
  if (n % 40 === 3) return "finishedAnyway";
  if (n % 60 === 5) return "endedMeanwhile";
  if (isSettled) return "stopped";
  return n > 300 ? "notAsked" : n > 200 ? "asked" : n > 100 ? "acknowledged" : "stopped";
};
/** A plan of those tasks that was run. */
const shown =
  (isSettled: boolean, said = "this tool cannot be cancelled") =>
  (): PlanShown => {
    const tasks = working.map((row, n): BulkTask => {
      const result = outcome(n, isSettled);
      const server = said === bad ? bad : row.server;
      return { ...row, result, server, why: result === "notConfirmed" ? said : null };
    });
    const many = (result: BulkResult) => tasks.filter((task) => task.result === result).length;
    const at = new Date(STORY_NOW).toISOString();
    return {
      planId: "pln_1",
      kind: "cancel",
      by: "ada",
      filter: "a list",
      count: tasks.length,
      createdAt: at,
      expiresAt: at,
      operation: {
        id: "opn_1",
        by: "ada",
        reason: null,
        begunAt: at,
        endedAt: isSettled ? at : null,
        cutShort: null,
        settled: isSettled,
        counts: {
          notAsked: many("notAsked"),
          asked: many("asked"),
          acknowledged: many("acknowledged"),
          stopped: many("stopped"),
          finishedAnyway: many("finishedAnyway"),
          notConfirmed: many("notConfirmed"),
          endedMeanwhile: many("endedMeanwhile"),
        },
      },
      tasks,
      next: null,
    };
  };
const tooMany = () => {
  throw {
    code: "refused",
    message: "20,412 tasks match; one plan has at most 20000",
    hint: "Choose fewer with a server, an agent, a tool or a phase, or halt the work with `taskwarden halt`.",
  } satisfies ApiError;
};
/** Every third of the made tasks that have ended. */
const hiddenOf = (tasks: number): string[] =>
  makeRows(tasks, 6, STORY_NOW)
    .filter((row, n) => row.over && row.group === "finished" && n % 3 === 0)
    .map((row) => row.id);
const item = (key: string, query: string): DeskItem => ({
  kind: "view",
  key,
  value: { query },
  changedAt: "2026-11-21T12:00:00.000Z",
});
const own = [
  item("Nightly work on the warehouse", "server:warehouse agent:nightly-ops"),
  item("w".repeat(60), "age>2h"),
];
const at = (query: string, view?: string) =>
  `#/tasks?${new URLSearchParams({ q: query, ...(view ? { v: view } : {}) }).toString()}`;
const list = (more: Parameters<typeof story>[2]) => story(Tasks, {}, { hash: "#/tasks", ...more });

export default {
  title: "tasks",
  stories: {
    designed: list({ fake: { tasks: 28 } }),
    none: list({ fake: { tasks: 0, inbox: 0 } }),
    one: list({ fake: { tasks: 1, inbox: 0 } }),
    thirty: list({ fake: { tasks: 30 } }),
    "ten thousand": list({ fake: { tasks: 10_000, inbox: 40 } }),
    "ten thousand, at the end": list({ fake: { tasks: 10_000, inbox: 40 }, keys: ["Shift+G"] }),
    "core lost, rows not loaded": list({
      fake: { tasks: 10_000, connection: "stale" },
      click: ["[data-at='2']"],
      keys: ["End"],
    }),
    "all phases": list({ fake: { tasks: phases } }),
    hostile: list({ fake: { tasks: hostile } }),
    loading: list({ fake: { calls: { "tasks.page": never } } }),
    "error, nothing read": list({ fake: { calls: { "tasks.page": fails } } }),
    stale: list({ fake: { tasks: 28, connection: "stale" } }),
    "by server": list({ fake: { tasks: 60 }, hash: at("group:server") }),
    "by agent": list({ fake: { tasks: 60 }, hash: at("group:agent sort:changed") }),
    "not grouped": list({ fake: { tasks: 60 }, hash: at("group:none sort:oldest") }),
    folded: list({ fake: { tasks: 60 }, click: ["[role=rowgroup] button >> nth=0"] }),
    filtered: list({
      fake: { tasks: 60 },
      hash: at(
        'phase:running,cancelling server:ci-server,github,docs agent:"claude-code" age>1m changed<24h',
        "Working",
      ),
    }),
    "an own view": list({
      fake: { tasks: 60, views: own },
      hash: at("server:warehouse agent:nightly-ops", "Nightly work on the warehouse"),
    }),
    "nothing matches": list({ fake: { tasks: 60 }, hash: at("phase:failed server:docs tool:deploy_prod words") }),
    searching: list({ fake: { tasks: 60 }, hash: at("server:docs index"), keys: ["/"] }),
    "typing a condition": list({ fake: { tasks: 60 }, keys: ["/", "s", "e", "r"] }),
    "a wrong condition": list({ fake: { tasks: 60 }, keys: ["/", "i", "s", ":", "x", "Enter"] }),
    "some are hidden": list({ fake: { tasks: 60, hidden: hiddenOf(60) } }),
    "hidden tasks": list({ fake: { tasks: 60, hidden: hiddenOf(60) }, hash: at("is:hidden") }),
    "hidden tasks, selected": list({
      fake: { tasks: 60, hidden: hiddenOf(60) },
      hash: at("is:hidden"),
      keys: ["j", "x", "j", "x"],
    }),
    "choosing columns": list({ fake: { tasks: 60 }, click: ["button:has-text('olumns')"] }),
    "three columns hidden": list({
      fake: { tasks: 60, settings: { hiddenTaskColumns: ["tokens", "message", "agent"] } },
    }),
    "sorted by server": list({ fake: { tasks: 60 }, hash: at("group:none sort:-server") }),
    "some text is not searched": list({
      fake: {
        tasks: 30,
        calls: {
          "tasks.page": ({ group }) => ({
            rows: group === "needsYou" ? [] : working.slice(0, 20),
            view: {
              groups: [{ group: "moving", count: 20 }],
              total: 20,
              all: 400,
              text: { backTo: "2026-11-03T08:00:00.000Z", reading: true, more: true },
            },
          }),
        },
      },
      hash: at("a"),
    }),
    "the filter as text": list({ fake: { tasks: 60 }, hash: at("phase:moving server:ci-server"), keys: ["q"] }),
    "a wrong text": list({
      fake: { tasks: 60 },
      hash: at("server:ci-server"),
      keys: ["q", "End", "Space", "a", "g", "e", ">", "x"],
    }),
    "naming a view": list({ fake: { tasks: 60 }, hash: at("server:docs"), click: ["text=Save view"] }),
    menu: list({ fake: { tasks: 60 }, click: ["[aria-haspopup=menu]"] }),
    selected: list({ fake: { tasks: 60 }, keys: ["j", "x", "j", "x", "Shift+J"] }),
    "all selected": list({ fake: { tasks: 2_000 }, keys: ["Control+a", "Control+a"] }),
    "cancelling many": list({ fake: { tasks: 60 }, keys: ["Control+a", "c"] }),
    "cancelling many, none open": list({ fake: { tasks: 60 }, hash: at("phase:finished"), keys: ["Control+a", "c"] }),
    "revoking many": list({
      fake: { tasks: 60 },
      click: [
        "[aria-haspopup=menu]",
        "[role=menuitem]:has-text('Select all')",
        "[role=toolbar] button:has-text('Revoke')",
      ],
    }),
    "cancelling many, refused": list({
      fake: { tasks: 60, calls: { "plans.make": tooMany } },
      keys: ["Control+a", "c"],
    }),
    "cancelling many is under way": list({
      fake: { tasks: working, inbox: [], calls: { "plans.show": shown(false) } },
      hash: "#/tasks?plan=pln_1",
    }),
    "cancelled many": list({
      fake: { tasks: working, inbox: [], calls: { "plans.show": shown(true) } },
      hash: "#/tasks?plan=pln_1",
    }),
    "cancelled many, hostile": list({
      fake: { tasks: working, inbox: [], calls: { "plans.show": shown(true, bad) } },
      hash: "#/tasks?plan=pln_1",
    }),
    "a plan that is forgotten": list({ fake: { tasks: 60 }, hash: "#/tasks?plan=pln_9" }),
    views: story(
      ViewList,
      {},
      { as: "piece", fake: { tasks: 1_204, views: own }, hash: at("phase:cancelling", "Cancelling") },
    ),
  },
} satisfies StoryFile;
