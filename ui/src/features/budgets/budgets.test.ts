// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import type { BudgetDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { clock } from "$lib/clock.svelte";
import { makeSeries, makeShown, makeWaste, windowOf } from "$lib/fake-core/budgets";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import { STORY_NOW } from "$lib/fake-core/story";
import AgentBudget from "./agent/AgentBudget.svelte";
import Budgets from "./Budgets.svelte";
import { agentOf, agents, aBudget, BESIDE, budgets, coming, CUT, OVERFULL } from "./budgets.example";
import PendingResults from "./agent/PendingResults.svelte";
import SpendHistory from "./spend/SpendHistory.svelte";
import { DAY } from "./spend/spend-sums";
import OtherWindows from "./agent/OtherWindows.svelte";
import Waste from "./spend/Waste.svelte";

const throwing = (): never => {
  throw { code: "failed", message: "the registry is full", hint: "Free some space on the disk." };
};
const fakeBudgets = (options: Parameters<typeof fake>[0] = {}) =>
  fake({ now: STORY_NOW, agents: agents(5), budgets: budgets(5), ...options });

clock.freeze(STORY_NOW);
// The lists measure themselves; here nothing has a size.
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
afterEach(() => route.open("#/inbox"));

it("two servers of one name waste in two rows: one that was removed and added again", async () => {
  const page = show(Waste, { agent: null }, fakeBudgets());
  await page.find("th", "docs");
  expect([...page.page.querySelectorAll("tbody th")].filter((one) => one.textContent.trim() === "docs")).toHaveLength(
    2,
  );
  expect(
    makeWaste().filter((one) => one.server === "docs"),
    "as the core tells them",
  ).toHaveLength(2);
  await page.close();
});

it("a window that was taken for over and fills again stands in one row", async () => {
  const [again] = BESIDE.beside;
  if (!again) throw new Error("there is one beside it");
  const page = show(
    OtherWindows,
    {
      budget: BESIDE,
      earlier: [{ ...again, endedAt: again.lastAt }, windowOf("win_gone", [1], "exact", 0, STORY_NOW)],
      off: false,
      onchanged: () => undefined,
    },
    fakeBudgets(),
  );
  await page.find("th", "Emptied");
  expect(page.page.querySelectorAll("tbody tr")).toHaveLength(BESIDE.beside.length + 1);
  await page.close();
});

const rows = (page: Shown) =>
  [...page.page.querySelectorAll("[role=row] strong.clip")]
    .map((one) => one.textContent)
    .filter((text) => /^[a-z]/.test(text));

it("the open agent and the rows stay where they are while others come nearer to their limit", async () => {
  route.open("#/budgets");
  const core = fakeBudgets();
  const page = show(Budgets, {}, core);
  await page.find("h2", "research-7 by source");
  const before = rows(page);
  expect(before[0], "the nearest to its limit is first and open").toBe("research-7");
  const [first, second, ...others] = core.state.budgets;
  if (!first || !second) throw new Error("five were made");
  core.state.budgets = [{ ...second, now: windowOf("win_more", [190_000], "about", 0, STORY_NOW) }, first, ...others];
  core.state.send({ budgets: core.state.budgetList() });
  await until(
    "the new figures are there",
    () => page.text(),
    (text) => text.includes("≈ 190k"),
  );
  expect(rows(page)).toEqual(before);
  expect(page.text()).toContain("research-7 by source");
  await page.press("button", "Sort again");
  expect(rows(page)[0], "sorted when a person wants it").toBe(second.agent);
  expect(page.text(), "who is open stays open").toContain("research-7 by source");
  await page.close();
});

it("a window that was full several times says so in words, and its program what only it knows", async () => {
  const page = show(
    AgentBudget,
    { agentId: OVERFULL.agentId, budget: OVERFULL, warn: 80, off: false },
    fakeBudgets({ budgets: [OVERFULL], calls: { "budgets.show": () => makeShown(OVERFULL, STORY_NOW) } }),
  );
  await page.find("strong", "full at least 4 times since");
  expect(page.text(), "no share above 100 %").not.toMatch(/\b(1\d\d|[2-9]\d\d)\.\d %/);
  await page.close();
  const cut = show(
    AgentBudget,
    { agentId: CUT.agentId, budget: CUT, warn: 80, off: false },
    fakeBudgets({ budgets: [CUT], calls: { "budgets.show": () => makeShown(CUT, STORY_NOW) } }),
  );
  await cut.find(
    "li",
    "Codex is sure to show its model 5,000 tokens of one result. Longer results are held and read in slices.",
  );
  await cut.find("li", "Only the program knows when it compacts");
  await cut.find("td", "not enough data yet");
  await cut.find("td", "72,104");
  await cut.find("td", "Waiting for you");
  await cut.close();
});

it("what was spent can be seen when no agent has access any more, under the name it had", async () => {
  route.open("#/budgets/agt_000001?spent");
  const gone = agents(2).map((agent) => ({ ...agent, revokedAt: agent.createdAt }));
  const core = fakeBudgets({
    agents: gone,
    budgets: [],
    calls: {
      "budgets.series": ({ spanMs, stepMs }) => makeSeries(spanMs, stepMs, STORY_NOW, 1, ["o200k"]),
      "budgets.waste": () => ({ servers: [] }),
    },
  });
  const page = show(Budgets, {}, core);
  await page.find("h2", `${gone[1]?.name ?? ""}, revoked, last 24 hours`);
  expect(core.called.filter((one) => one.name === "budgets.series").map((one) => one.input)).toContainEqual({
    ...DAY,
    agent: "agt_000001",
  });
  await page.press("[role=radiogroup] input[value=now]");
  await page.find("h2", "No agent has access now");
  await page.close();
});

it("figures that cannot be read for another span stay under their own, with their time", async () => {
  const core = fakeBudgets({
    calls: {
      "budgets.series": ({ spanMs, stepMs }) =>
        spanMs > 2 * DAY.spanMs ? throwing() : makeSeries(spanMs, stepMs, STORY_NOW, 1, ["o200k"]),
    },
  });
  const page = show(SpendHistory, { agent: null, who: "All agents" }, core);
  await page.find("table");
  await page.press("[role=radiogroup] input[value=month]");
  await page.find("[role=alert]", "The history of 30 days could not be loaded.");
  await page.find("h2", "24 hours, by the hour");
  await page.find("p", "Figures as of");
  expect(
    page.page.querySelectorAll("tbody tr"),
    "the hours of a day, from the one in which it began to the one that runs",
  ).toHaveLength(25);
  await page.close();
});

it("what does not fit is let in only by a second step that says so", async () => {
  const budget = aBudget({ coming: [coming()] });
  const core = fakeBudgets({ budgets: [budget] });
  const page = show(PendingResults, { budget, off: false, onchanged: () => undefined }, core);
  const sent = () => core.called.filter((one) => one.name === "tasks.release").map((one) => one.input);
  await page.press("button", "Deliver whole…");
  await page.find("[role=dialog]", "61,402 tokens and at most 36,792 are free");
  expect(sent(), "asking is not doing").toEqual([]);
  await page.press("[role=dialog] button[data-variant=danger]");
  await until("it is let in", sent, (all) => all.length === 1);
  expect(sent()).toEqual([{ id: coming().id, deliver: true, form: "whole" }]);
  await page.close();
});

it("below the limit of its window nothing fits that its size would hold", async () => {
  const budget = aBudget({ coming: [coming({ tokens: 9_000 })], limit: { tokens: 170_000, at: "hold" } });
  const page = show(
    PendingResults,
    { budget, off: false, onchanged: () => undefined },
    fakeBudgets({ budgets: [budget] }),
  );
  await page.find("td", "Held: does not fit");
  await page.find("h2", "at most 6,792 free");
  await page.close();
});

it("an agent that the feed does not tell of is read again when something was done to it", async () => {
  let budget: BudgetDto = aBudget({ agent: "far-away", agentId: "agt_far", windowFrom: "set", windowTokens: 200_000 });
  const core = fakeBudgets({
    agents: [agentOf(budget)],
    budgets: [],
    calls: {
      "budgets.show": () => makeShown(budget, STORY_NOW),
      "budgets.set": ({ windowTokens }) => (budget = { ...budget, windowTokens: windowTokens ?? null }),
    },
  });
  const page = show(AgentBudget, { agentId: budget.agentId, budget: null, warn: 80, off: false }, core);
  await page.type("#counted input", "300k");
  await page.press("#counted button[type=submit]");
  await page.find("th", "Of 300k");
  expect((await page.find<HTMLInputElement>("#counted input")).value, "the form shows what was saved").toBe("300,000");
  await page.find("p", "Found by name; figures from");
  await page.close();
});
