// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test } from "vitest";
import App from "./App.svelte";
import type { AuditFilterDto, TaskRow } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import { makeAgents, makeServers } from "$lib/fake-core/entities";
import { STORY_NOW } from "$lib/fake-core/story";

/* Figures agree: every number on every screen says what it counts and of whom; two with the same name are equal. */

const NOW = Date.parse("2026-11-21T14:30:00.000Z");
let shown: Shown | null = null;

beforeEach(() => {
  globalThis.ResizeObserver = StillObserver;
  // jsdom lays nothing out: a list draws the rows of this height.
  Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, value: 900 });
  Object.defineProperty(window, "matchMedia", {
    configurable: true,
    value: () => ({ matches: true, addEventListener: () => undefined, removeEventListener: () => undefined }),
  });
});
/** Never tells of a size: the height above is all there is. */
class StillObserver {
  observe(): void {
    return;
  }
  unobserve(): void {
    return;
  }
  disconnect(): void {
    return;
  }
}

afterEach(async () => {
  await shown?.close();
  shown = null;
  location.hash = "";
});

/** Three agents on four servers: working, asking, late, held results, and a server that is dead. */
function rows(): TaskRow[] {
  const [agents, servers] = [
    ["claude-code", "research-7", "nightly-ops"],
    ["ci-server", "github", "warehouse", "docs"],
  ];
  const phases = [
    "running",
    "running",
    "waiting",
    "overdue",
    "done",
    "done",
    "failed",
    "cancelling",
    "silent",
    "lost",
    "answering",
    "doneWithError",
  ] as const;
  return Array.from({ length: 36 }, (_, at): TaskRow => {
    const phase = phases[at % phases.length] ?? "running";
    const row = { ...makeRow(at, phase, NOW), agent: agents[at % 3] ?? null, server: servers[at % 4] ?? "docs" };
    const isHeld = phase === "done" && at % 2 === 0;
    return isHeld
      ? {
          ...row,
          group: "needsYou",
          held: {
            at: row.changedAt,
            by: "Mara",
            why: "review",
            tokens: null,
            limit: null,
            free: null,
            program: null,
            verdict: null,
          },
        }
      : row;
  });
}

interface Figure {
  readonly where: string;
  readonly name: string;
  readonly count: number;
  readonly text: string;
}

/** What stands on the page now. */
function read(where: string): Figure[] {
  return [...document.querySelectorAll<HTMLElement>("[data-figure]")].map((one) => {
    const of = one.dataset["of"];
    return {
      where,
      name: of === undefined ? (one.dataset["figure"] ?? "") : `${one.dataset["figure"] ?? ""} of ${of}`,
      count: Number(one.dataset["count"]),
      text: one.textContent.replace(/\s+/g, " ").trim(),
    };
  });
}

/** It walks nine screens; a busy machine is slow. */
const WALK_MS = 90_000;
test(
  "every_figure_with_the_same_name_is_equal_on_every_screen",
  async () => {
    const servers = makeServers(4, NOW).map((server, at) =>
      at === 3
        ? {
            ...server,
            health: {
              kind: "down" as const,
              since: server.createdAt,
              why: "the program ended with code 1",
              hint: null,
              retryAt: null,
            },
          }
        : server,
    );
    const backend = fake({ now: NOW, tasks: rows(), servers, agents: makeAgents(3, NOW) });
    shown = show(App, { backend }, backend);
    await until("the status bar counts", () => document.querySelector("footer [data-figure=working]"));
    const all: Figure[] = [];
    for (const hash of [
      "#/inbox",
      "#/tasks",
      "#/tasks?q=is%3AneedsYou",
      "#/servers",
      "#/servers/ci-server",
      "#/agents",
      "#/agents/agt_claude-code",
      "#/budgets",
      "#/audit",
      "#/settings",
    ]) {
      location.hash = hash;
      window.dispatchEvent(new HashChangeEvent("hashchange"));
      await until(`${hash} is drawn`, () => document.querySelector("main#content")?.textContent.trim() ?? "");
      await until(
        `${hash} is loaded`,
        () => document.querySelectorAll("main#content :is([aria-busy=true], .bones)").length,
        (waiting) => waiting === 0,
      );
      await new Promise((done) => setTimeout(done, 50));
      all.push(...read(hash));
    }
    expect(all.length, "figures were found").toBeGreaterThan(60);
    for (const figure of all)
      expect(figure.text, `${figure.where}: ${figure.name} is what it shows`).toContain(
        figure.count === 0 ? "" : figure.count.toLocaleString("en"),
      );
    const names = new Map<string, Map<number, string[]>>();
    for (const { name, count, where } of all.filter((one) => !one.name.startsWith("listed"))) {
      const counts = names.get(name) ?? new Map<number, string[]>();
      counts.set(count, [...(counts.get(count) ?? []), where]);
      names.set(name, counts);
    }
    const differ = [...names].filter(([name, counts]) => counts.size > 1 && !name.startsWith("section"));
    expect(differ, "no two figures of one name differ").toEqual([]);
    const of = (name: string) => [...(names.get(name)?.keys() ?? [])][0] ?? -1;
    const sum = (figure: string, kind: string) =>
      [...names.keys()]
        .filter((name) => name.startsWith(`${figure} of ${kind}:`))
        .reduce((total, name) => total + of(name), 0);
    expect([sum("open", "agent"), sum("needsYou", "agent")], "the agents sum to the views").toEqual([
      of("open"),
      of("needsYou"),
    ]);
    expect(sum("open", "server"), "so do the servers").toBe(of("open"));
    const held = rows().filter((row) => row.held !== null).length;
    expect([of("held"), held > 0], "held results are counted").toEqual([held, true]);
  },
  WALK_MS,
);

/* The figures of the made-up core are of one world: what stories show on one screen is true on every other. */

/** No condition at all. */
const EVERY_ROW: AuditFilterDto = {
  first: null,
  last: null,
  since: null,
  until: null,
  actor: null,
  verbs: [],
  subject: null,
  server: null,
  agent: null,
  task: null,
  text: null,
};
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const sum = <T>(all: readonly T[], of: (one: T) => number) => all.reduce((whole, one) => whole + of(one), 0);

test("what_agents_spent_is_the_same_in_the_sentence_the_table_the_chart_and_the_windows", async () => {
  const core = fake({ now: STORY_NOW });
  const budgets = core.state.budgets;
  const midnight = Math.floor(STORY_NOW / DAY_MS) * DAY_MS;
  const starts = Array.from({ length: 24 }, (_, at) => new Date((Math.floor(STORY_NOW / HOUR_MS) - 23 + at) * HOUR_MS));
  const today = await core.call("budgets.today", {
    since: new Date(midnight).toISOString(),
    agents: budgets.map((one) => one.agentId),
  });
  const chart = await core.call("budgets.chart", { agent: null, starts: starts.map((at) => at.toISOString()) });
  const since = chart.points.filter((point) => Date.parse(point.at) >= midnight);
  expect([sum(since, (one) => one.tokens), sum(since, (one) => one.keptOut)], "the bars since midnight").toEqual([
    today.tokens,
    today.keptOut,
  ]);
  expect([sum(today.agents, (one) => one.tokens), sum(today.agents, (one) => one.keptOut)], "the rows").toEqual([
    today.tokens,
    today.keptOut,
  ]);
  expect(chart.tokens, "a day holds what came since midnight").toBeGreaterThan(today.tokens);
  for (const budget of budgets) {
    const row = today.agents.find((one) => one.agentId === budget.agentId);
    const shown = await core.call("budgets.show", { agent: budget.agentId });
    const windows = [...(budget.now ? [budget.now] : []), ...shown.earlier];
    expect([budget.agent, sum(windows, (one) => one.tokens)], "its windows of today").toEqual([
      budget.agent,
      row?.tokens,
    ]);
    expect([budget.agent, shown.keptOutToday, sum(shown.spentToday, (one) => one.tokens)]).toEqual([
      budget.agent,
      row?.keptOut,
      row?.tokens,
    ]);
    const tasks = [...core.state.rows.values()].filter((task) => task.agent === budget.agent);
    expect(
      sum(tasks, (task) => task.tokens?.keptOut ?? 0),
      "its tasks kept out no more",
    ).toBeLessThanOrEqual(row?.keptOut ?? 0);
    const rest = (budget.windowTokens ?? 0) - (budget.now?.tokens ?? 0);
    expect(budget.fullInMs, "it is full when its rate says so").toBe(
      Math.round((rest / budget.burnPerMinute) * 60_000),
    );
  }
});

test("results_to_come_held_results_and_questions_are_tasks_of_the_list", () => {
  const { state } = fake({ now: STORY_NOW });
  const held = [...state.rows.values()].filter((row) => row.held !== null);
  expect(held.length, "one is held").toBeGreaterThan(0);
  expect(state.totals().figures.held).toBe(held.length);
  for (const budget of state.budgets)
    for (const coming of budget.coming) {
      const row = state.rows.get(coming.id);
      expect([row?.agent, row?.server, row?.tool]).toEqual([budget.agent, coming.server, coming.tool]);
      expect(coming.state === "held", `${coming.tool ?? ""} is held`).toBe(row?.held !== null);
    }
  const items = [...state.inbox.values()];
  expect(new Set(items.map((item) => item.task)), "what needs a person is in the inbox").toEqual(
    new Set([...state.rows.values()].filter((row) => row.group === "needsYou").map((row) => row.id)),
  );
  for (const item of items.filter((one) => one.key !== null))
    expect(state.rows.get(item.task ?? "")?.says, "the list says what the inbox asks").toBe(item.message);
});

test("a_halt_covers_the_open_tasks_of_the_list_and_no_others", () => {
  const before = fake({ now: STORY_NOW, tasks: 52 }).state;
  const { state } = fake({
    now: STORY_NOW,
    tasks: 52,
    halt: ["confirmed", "notConfirmed", "acknowledged", "requested"],
  });
  const { halt } = state.halt;
  if (!halt) throw new Error("it is halted");
  // Those beyond reach are a part of those not confirmed.
  const states = Object.values({ ...halt.counts, beyondReach: 0 });
  expect(sum(states, (one) => one)).toBe(before.totals().figures.open);
  expect(state.totals().figures.all, "none is there twice").toBe(before.totals().figures.all);
  expect(state.totals().figures.open).toBe(before.totals().figures.open - halt.counts.confirmed);
  for (const task of halt.tasks) expect(state.rows.get(task.id)?.phase, task.state).toBe(task.phase);
});

test("storage_the_audit_log_servers_and_limits_count_what_their_screens_show", async () => {
  const core = fake({ now: STORY_NOW });
  const { state } = core;
  const storage = await core.call("storage.show", {});
  const { first, last } = await core.call("audit.list", { filter: EVERY_ROW, before: null, limit: 1 });
  const verified = await core.call("audit.verify", { whole: true });
  expect([storage.stored.tasks.rows, storage.stored.audit.rows]).toEqual([state.rows.size, last - first + 1]);
  expect([verified.last, verified.checked]).toEqual([last, last - first + 1]);
  const limits = await core.call("limits.show", {});
  const used = (name: string) => limits.rows.find((row) => row.name === name && row.scope === "everyone")?.used;
  expect([used("stored contents of tasks"), used("stored tasks")]).toEqual([
    storage.contentBytes,
    storage.stored.tasks.rows,
  ]);
  const oldest = [...state.rows.values()].map((row) => row.createdAt).sort()[0];
  expect(storage.oldestTask).toBe(oldest);
  for (const server of state.servers.values()) {
    const { tools } = await core.call("servers.tools", { name: server.name });
    const running = await core.call("servers.running", { name: server.name });
    const times = await core.call("servers.times", { name: server.name });
    expect([server.name, tools.length]).toEqual([server.name, server.toolCount]);
    expect([server.name, sum(running.agents, (one) => one.openTasks)]).toEqual([server.name, server.figures.open]);
    expect(times.hour.calls.count, "an hour is a part of the day").toBeLessThanOrEqual(times.day.calls.count);
    const own = [...state.rows.values()].filter((row) => row.server === server.name);
    for (const task of own) expect(tools.map((tool) => tool.name)).toContain(task.tool);
    if (server.health.kind !== "up") expect(server.figures.open, "nothing works where nobody answers").toBe(0);
  }
});

test("times_of_a_task_are_in_the_order_in_which_they_happened", () => {
  const { state } = fake({ now: STORY_NOW, tasks: 500, inbox: 60 });
  for (const row of state.rows.values()) {
    const times = [row.createdAt, row.changedAt, new Date(STORY_NOW).toISOString()];
    expect([...times].sort(), `${row.id} (${row.phase})`).toEqual(times);
    expect(row.createdAt <= (row.lastSeenAt ?? row.createdAt), `${row.id} was heard after it began`).toBe(true);
  }
});

test(
  "a_window_is_as_full_in_the_rail_as_in_agents_and_budgets",
  async () => {
    const backend = fake({ now: STORY_NOW });
    shown = show(App, { backend }, backend);
    const gauges = () =>
      [...document.querySelectorAll<HTMLElement>('nav a[href*="budgets/"]')].map((one) => ({
        agent: one.querySelector(".clip")?.textContent.trim() ?? "",
        fill: one.querySelector(".num")?.textContent.trim() ?? "",
      }));
    await until("the rail has gauges", gauges, (all) => all.length > 2);
    for (const hash of ["#/agents", "#/budgets"]) {
      location.hash = hash;
      window.dispatchEvent(new HashChangeEvent("hashchange"));
      for (const { agent, fill } of gauges())
        await until(`${hash} shows ${agent} at ${fill}`, () =>
          [...document.querySelectorAll("main#content [role=row]")].some(
            (row) => row.textContent.includes(agent) && row.textContent.includes(fill),
          ),
        );
    }
  },
  WALK_MS,
);
