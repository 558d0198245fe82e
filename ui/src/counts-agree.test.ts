// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test } from "vitest";
import App from "./App.svelte";
import type { TaskRow } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import { makeAgents, makeServers } from "$lib/fake-core/entities";

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
