// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import type { BudgetDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { clock } from "$lib/clock.svelte";
import { makeShown, makeWaste, windowOf } from "$lib/fake-core/budgets";
import { makeChart } from "$lib/fake-core/budget-calls";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import { STORY_NOW } from "$lib/fake-core/story";
import AgentBudget from "./agent/AgentBudget.svelte";
import Budgets from "./Budgets.svelte";
import { agentOf, agents, aBudget, BESIDE, budgets, coming, CUT, OVERFULL } from "./budgets.example";
import TokenHistory from "./chart/TokenHistory.svelte";
import PendingResults from "./pending/PendingResults.svelte";
import PriceDialog from "./prices/PriceDialog.svelte";
import OtherWindows from "./agent/OtherWindows.svelte";
import Waste from "./Waste.svelte";

const shut = { isSetting: false, onsetting: () => undefined };
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
    unobserve(): void {
      /* nothing to stop */
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

it("rows stay where they are under a pointer, and stand by nearness to the limit when it leaves", async () => {
  route.open("#/budgets");
  const core = fakeBudgets();
  const page = show(Budgets, {}, core);
  await page.find("h2", "research-7 by source");
  const list = await page.find<HTMLElement>(".windows");
  list.dispatchEvent(new Event("pointerenter"));
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
  list.dispatchEvent(new Event("pointerleave"));
  await until(
    "they are sorted",
    () => rows(page),
    (now) => now[0] === second.agent,
  );
  expect(page.text(), "who is open stays open").toContain("research-7 by source");
  await page.close();
});

it("the first line is the core's sum of the day, and true with no agents", async () => {
  route.open("#/budgets");
  const page = show(Budgets, {}, fakeBudgets());
  await page.find("h2", "tokens out of your agents’ windows today (30\u00A0%). research-7 is at");
  await page.close();
  const none = show(Budgets, {}, fakeBudgets({ agents: 0, budgets: [] }));
  await none.find("h2", "Nothing came into your agents’ windows today.");
  await none.find("h2", "No agent yet");
  await none.close();
});

it("a price is asked for where a model has none, and costs appear when a person sets one", async () => {
  route.open("#/budgets");
  const core = fakeBudgets();
  const page = show(Budgets, {}, core);
  await page.press("button", "Set a price");
  await page.find("[role=dialog]", "Prices of models");
  await page.find("[role=dialog] p", "No price is set.");
  const inputs = () => [...document.querySelectorAll<HTMLInputElement>("[role=dialog] form input")];
  await until("the form is there", inputs, (all) => all.length === 3);
  await page.press("[role=dialog] button[type=submit]");
  await page.find("[role=dialog] .err", "Enter digits with a point");
  const sent = () => core.called.filter((one) => one.name === "budgets.setPrice").map((one) => one.input);
  expect(sent(), "what is wrong is not sent").toEqual([]);
  for (const [at, value] of ["1.25", "10"].entries()) {
    const input = inputs()[at];
    if (!input) throw new Error("there is a field");
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  await page.press("[role=dialog] button[type=submit]");
  await until("it is sent", sent, (all) => all.length === 1);
  expect(sent()).toEqual([{ model: "gpt-5", input: "1.25", output: "10", currency: "USD" }]);
  await page.find("p", "Today cost ≤ $");
  await page.find("p", "no price is set for their models");
  await page.close();
});

it("a price that was removed by a slip comes back as it was", async () => {
  const held = { model: "gpt-5", label: "OpenAI GPT-5", input: "1.25", output: "10.00", currency: "EUR" };
  const core = fakeBudgets({ prices: [{ ...held, setAt: new Date(STORY_NOW).toISOString(), setBy: "ada" }] });
  const page = show(PriceDialog, { model: null, onchanged: () => undefined, onclose: () => undefined }, core);
  await page.press("[role=dialog] td button", "Remove");
  await page.find("[role=dialog] p", "No price is set.");
  expect(core.state.prices).toEqual([]);
  await page.close();
});

it("arrows read the chart part by part, and the table has the same figures", async () => {
  const core = fakeBudgets();
  const page = show(TokenHistory, { agents: agents(5) }, core);
  const chart = await page.find<HTMLElement>("[role=slider]");
  const press = (key: string) => chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("End");
  await until(
    "the last part is told",
    () => chart.getAttribute("aria-valuetext") ?? "",
    (text) => /came in, .* kept out/.test(text),
  );
  const last = chart.getAttribute("aria-valuetext") ?? "";
  press("ArrowLeft");
  await until(
    "the one before it is told",
    () => chart.getAttribute("aria-valuetext"),
    (text) => text !== last,
  );
  await page.press("button", "Table");
  const cell = await page.find("tbody td");
  expect(last, "the newest row is the last part").toContain(cell.textContent);
  expect(page.page.querySelectorAll("tbody tr")).toHaveLength(24);
  await page.close();
});

it("the chart asks for days that begin at midnight here, of one agent when one is chosen", async () => {
  const core = fakeBudgets();
  const page = show(TokenHistory, { agents: agents(5) }, core);
  await page.find("[role=slider]");
  await page.press("[role=radiogroup] input[value=month]");
  await page.find("h2", "Tokens per day");
  const asked = core.called.filter((one) => one.name === "budgets.chart").map((one) => one.input);
  expect(asked.at(-1)).toMatchObject({ starts: expect.any(Array) });
  const starts = (asked.at(-1) as { starts: string[] }).starts;
  expect([starts.length, starts.every((start) => new Date(start).getHours() === 0)]).toEqual([30, true]);
  await page.close();
});

it("a window that was full several times says so in words, and its program what only it knows", async () => {
  const page = show(
    AgentBudget,
    { agentId: OVERFULL.agentId, budget: OVERFULL, warn: 80, off: false, ...shut },
    fakeBudgets({ budgets: [OVERFULL], calls: { "budgets.show": () => makeShown(OVERFULL, STORY_NOW) } }),
  );
  await page.find("strong", "at least 4 windows since");
  expect(page.text(), "no share above 100 %").not.toMatch(/\b(1\d\d|[2-9]\d\d)\.\d %/);
  await page.close();
  const cut = show(
    AgentBudget,
    { agentId: CUT.agentId, budget: CUT, warn: 80, off: false, isSetting: true, onsetting: () => undefined },
    fakeBudgets({ budgets: [CUT], calls: { "budgets.show": () => makeShown(CUT, STORY_NOW) } }),
  );
  await cut.find(
    "li",
    "Codex is sure to show its model 5,000 tokens of one result. Longer results are held and read in parts.",
  );
  await cut.find("li", "Only the program knows when it shortens its conversation");
  await cut.find("td", "not enough data yet");
  await cut.find("td", "72,104");
  await cut.close();
});

it("what was used can be seen when no agent has access any more, under the name it had", async () => {
  route.open("#/budgets");
  const gone = agents(2).map((agent) => ({ ...agent, revokedAt: agent.createdAt }));
  const page = show(Budgets, {}, fakeBudgets({ agents: gone, budgets: [] }));
  await page.find("h2", "No agent has access now");
  await page.find("option", `${gone[1]?.name ?? ""}, revoked`);
  await page.find("[role=slider]");
  await page.close();
});

it("figures that cannot be read for another span stay under their own, with their time", async () => {
  const core = fakeBudgets({
    calls: {
      "budgets.chart": ({ starts }) => (starts.length > 24 ? throwing() : makeChart(starts, STORY_NOW, budgets(1))),
    },
  });
  const page = show(TokenHistory, { agents: [] }, core);
  await page.find("[role=slider]");
  await page.press("[role=radiogroup] input[value=month]");
  await page.find("[role=alert]", "The history of 30 d could not be loaded.");
  await page.find("h2", "Tokens per hour");
  await page.find("p", "Figures as of");
  await page.close();
});

it("what does not fit is let in only by a second step that says so", async () => {
  const budget = aBudget({ coming: [coming()] });
  const core = fakeBudgets({ budgets: [budget] });
  const page = show(PendingResults, { budgets: [budget], off: false, onchanged: () => undefined }, core);
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
    { budgets: [budget], off: false, onchanged: () => undefined },
    fakeBudgets({ budgets: [budget] }),
  );
  await page.find("li", "Done, does not fit");
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
  const page = show(
    AgentBudget,
    { agentId: budget.agentId, budget: null, warn: 80, off: false, isSetting: true, onsetting: () => undefined },
    core,
  );
  await page.type("#counted input", "300k");
  await page.press("#counted button[type=submit]");
  await page.find("th", "Of 300k");
  expect((await page.find<HTMLInputElement>("#counted input")).value, "the form shows what was saved").toBe("300,000");
  await page.find("p", "Found by name; figures from");
  await page.close();
});
