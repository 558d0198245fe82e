// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { HeldDto, TaskDto, TokensDto } from "$lib/bindings";
import { fake, type FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { makeBudgets } from "$lib/fake-core/budgets";
import { makeRow } from "$lib/fake-core/rows";
import { detail, makeAgents } from "$lib/fake-core/entities";
import { STORY_NOW } from "$lib/fake-core/story";
import ResultHold from "./ResultHold.svelte";
import OverLimit from "./OverLimit.svelte";
import TaskDrawer from "../TaskDrawer.svelte";

vi.setConfig({ testTimeout: 60_000 });
let shown: Shown;
afterEach(() => shown.close());

const taskRow = { ...makeRow(1, "done", STORY_NOW), agent: "research-7" };
const cost: TokensDto = {
  handle: 300,
  keptOut: 0,
  result: 61_402,
  inWindow: 61_402,
  inWindowExactness: "exact" as const,
  delivered: 0,
  arguments: 200,
  family: "claude47",
  exactness: "about",
};
const sized: HeldDto = {
  at: new Date(STORY_NOW).toISOString(),
  by: "a limit",
  verdict: null,
  why: "tooLarge",
  tokens: 61_402,
  limit: 20_000,
  program: null,
  free: null,
};
const taskOf = (change: Partial<TaskDto>): TaskDto => ({
  ...detail(taskRow, [], STORY_NOW),
  tokens: cost,
  over: true,
  ...change,
});

/** `research-7` of the design, with 36,792 free. */
const agents = makeAgents(5, STORY_NOW).map((agent) => ({ ...agent, revokedAt: null }));

function open(task: TaskDto, more: FakeOptions = {}): FakeBackend {
  const backend = fake({ now: STORY_NOW, tasks: [taskRow], details: [task], ...more });
  shown = show(ResultHold, { task, me: "Mara Lindqvist", ontask: () => undefined }, backend);
  return backend;
}

describe("a held result in the drawer", () => {
  const released = (backend: FakeBackend) =>
    backend.called.filter((one) => one.name === "tasks.release").map((one) => one.input);

  it("says what an estimate is, which limit holds it and by how much it is over", async () => {
    open(taskOf({ held: sized }), {
      rules: [
        {
          scope: { kind: "tool", server: taskRow.server, tool: taskRow.tool ?? "" },
          resultLimit: { tokens: 20_000, at: "ask" },
        },
      ],
    });
    await shown.find(
      ".banner",
      `It has ≈ 61k tokens (Claude 4.7 and later, estimate). The limit for one result of the tool ${taskRow.tool ?? ""} is 20,000 tokens; it is ≈ 41k over. Held by a limit`,
    );
  });

  it("says that all of it goes in at once when its size is why it waits", async () => {
    const backend = open(taskOf({ held: sized }));
    expect(shown.text()).not.toContain("Deliver it");
    await shown.press("button", "Deliver whole");
    await until("it is released", () => released(backend).length > 0);
    expect(released(backend)).toEqual([{ id: taskRow.id, deliver: true, form: "whole" }]);
  });

  it("is let in only by a second step where it does not fit", async () => {
    const backend = open(taskOf({ held: sized }), { agents, budgets: makeBudgets(agents, [taskRow], STORY_NOW) });
    await shown.press("button", "Deliver whole…");
    await shown.find("[role=dialog]", "≈ 61k tokens and at most 36,792 are free");
    expect(released(backend), "asking is not doing").toEqual([]);
  });

  it("is trimmed to what a person types, as in the inbox", async () => {
    const backend = open(taskOf({ held: sized }));
    await shown.press("button", "Trim…");
    await shown.type("[role=dialog] input", "a bit");
    await shown.press("[role=dialog] button[type=submit]");
    await shown.find("[role=dialog]", "Enter a whole number of tokens");
    await shown.type("[role=dialog] input", "5k");
    await shown.press("[role=dialog] button[type=submit]");
    await until("it is released", () => released(backend).length > 0);
    expect(released(backend)).toEqual([{ id: taskRow.id, deliver: true, form: "trimmed", trimTokens: 5_000 }]);
  });

  it("is withheld with the reason that its agent reads", async () => {
    const backend = open(taskOf({ held: sized }));
    await shown.press("button", "Do not deliver…");
    await shown.type("[role=dialog] input", " too much ");
    await shown.press("[role=dialog] button[type=submit]");
    await until("it is withheld", () => released(backend).length > 0);
    expect(released(backend)).toEqual([{ id: taskRow.id, deliver: false, reason: "too much" }]);
  });

  it("that a limit gives in parts can still be trimmed, and is not sliced again", () => {
    open(
      taskOf({
        held: {
          ...sized,
          verdict: {
            delivered: true,
            by: "a limit",
            at: sized.at,
            reason: null,
            form: "slices",
            byLimit: true,
            trimTokens: null,
          },
        },
      }),
    );
    expect(shown.text()).toMatch(/Deliver whole.*Trim….*Do not deliver…/);
    expect(shown.text()).not.toContain("Deliver in parts");
    expect(shown.text(), "with the limit that does so").toContain("it is ≈ 41k over.");
  });

  it("is simply delivered when a person wanted to see it", () => {
    open(taskOf({ held: { ...sized, by: "Mara Lindqvist", why: "review", tokens: null, limit: null } }));
    expect(shown.text()).toContain("Deliver it");
    expect(shown.text()).not.toMatch(/parts|whole|Trim/);
  });
});

it("after a held result was let go the keyboard goes on where its buttons were", async () => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {
        /* never tells */
      }
      disconnect(): void {
        /* nothing to stop */
      }
    },
  );
  // Menus are laid over the page.
  const main = document.body.appendChild(document.createElement("main"));
  const backend = fake({ now: STORY_NOW, tasks: [taskRow], details: [taskOf({ held: sized })] });
  shown = show(TaskDrawer, { id: taskRow.id, close: () => undefined }, backend);
  const button = await shown.find("button", "Deliver in parts");
  button.focus();
  button.click();
  await until(
    "what became of it has the focus",
    () => document.activeElement?.textContent ?? "",
    (text) => text.startsWith("Delivered in parts to research-7"),
  );
  main.remove();
});

it("a task past its limit shows what it cost as exactly as it was counted", () => {
  const task = taskOf({
    over: false,
    overLimit: {
      tokens: 61_204,
      limit: { tokens: 60_000, at: "ask" },
      at: new Date(STORY_NOW).toISOString(),
      settledBy: null,
    },
  });
  const backend = fake({ now: STORY_NOW, tasks: [taskRow], details: [task] });
  shown = show(OverLimit, { task, backend, me: "Mara Lindqvist", ontask: () => undefined }, backend);
  expect(shown.text()).toContain("≈ 61k tokens, above its limit of 60,000.");
});
