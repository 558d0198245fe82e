// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { HeldDto, TaskDto, TokensDto } from "$lib/bindings";
import { fake, type FakeBackend } from "$lib/backend/fake";
import { show, until, type Shown } from "$lib/fake/harness";
import { makeRow } from "$lib/fake/rows";
import { detail } from "$lib/fake/things";
import { STORY_NOW } from "$lib/story";
import Held from "./Held.svelte";
import OverLimit from "./OverLimit.svelte";

vi.setConfig({ testTimeout: 60_000 });
let shown: Shown;
afterEach(() => shown.close());

const taskRow = { ...makeRow(1, "done", STORY_NOW), agent: "research-7" };
const cost: TokensDto = { handle: 300, keptOut: 0, result: 61_402, delivered: 0, arguments: 200, family: "claude-4.7", exactness: "about" };
const sized: HeldDto = { at: new Date(STORY_NOW).toISOString(), by: "a limit", verdict: null, why: "tooLarge", tokens: 61_402, limit: 20_000, free: null };
const taskOf = (change: Partial<TaskDto>): TaskDto => ({ ...detail(taskRow, [], STORY_NOW), tokens: cost, over: true, ...change });

function open(component: typeof Held, task: TaskDto): FakeBackend {
  const backend = fake({ now: STORY_NOW, tasks: [taskRow], details: [task] });
  shown = show(component, { task, backend, me: "Mara Lindqvist", ontask: () => undefined }, backend);
  return backend;
}

describe("a held result in the drawer", () => {
  it("says what an estimate is, in sentences that stand apart", () => {
    open(Held, taskOf({ held: sized }));
    expect(shown.text()).toContain("It has ≈ 61k tokens. Held by a limit");
  });

  it("says that all of it goes in at once when its size is why it waits", async () => {
    const backend = open(Held, taskOf({ held: sized }));
    const released = () => backend.called.filter((one) => one.name === "tasks.release").map((one) => one.input);
    expect(shown.text()).not.toContain("Deliver it");
    await shown.press("button", "Let it in whole");
    await until("it is released", () => released().length > 0);
    expect(released()).toEqual([{ id: taskRow.id, deliver: true, reason: null, form: "whole" }]);
  });

  it("is simply delivered when a person wanted to see it", () => {
    open(Held, taskOf({ held: { ...sized, by: "Mara Lindqvist", why: "review", tokens: null, limit: null } }));
    expect(shown.text()).toContain("Deliver it");
    expect(shown.text()).not.toMatch(/slices|whole/);
  });
});

it("a task past its limit shows what it cost as exactly as it was counted", () => {
  open(OverLimit, taskOf({ over: false, overLimit: { tokens: 61_204, limit: { tokens: 60_000, at: "ask" }, at: new Date(STORY_NOW).toISOString(), settledBy: null } }));
  expect(shown.text()).toContain("≈ 61k tokens, past its limit of 60,000.");
});
