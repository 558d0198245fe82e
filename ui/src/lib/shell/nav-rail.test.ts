// @vitest-environment jsdom
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { fullest, gaugesOf } from "$lib/budget/window-fill";
import { show } from "$lib/fake-core/harness";
import NavRail from "./NavRail.svelte";

it("the rail says whose window is nearly full, and leads to what fills the fullest ones", async () => {
  const core = fake();
  const list = core.state.budgetList();
  const page = show(
    NavRail,
    {
      items: 0,
      tasks: 0,
      servers: 0,
      agents: 5,
      person: null,
      full: fullest(list),
      gauges: gaugesOf(list),
      onsearch: () => undefined,
    },
    core,
  );
  await page.find("a[href='#/budgets'] .sr", "research-7 fills 81 % of its window");
  const links = [...page.page.querySelectorAll("li a")].map((one) => [
    one.getAttribute("href"),
    one.textContent.replace(/\s+/g, " ").trim(),
  ]);
  expect(links, "by name, with their marks").toEqual([
    ["#/budgets/agt_claude-code", "claude-code ≈ 59 % of its window"],
    ["#/budgets/agt_nightly-ops", "nightly-ops ≤ 36 % of its window"],
    ["#/budgets/agt_research-7", "research-7 81 % of its window"],
  ]);
  await page.close();
});

it("figures of the rail stand apart from their words", async () => {
  const core = fake();
  const page = show(
    NavRail,
    { items: 3, tasks: 8, servers: 0, agents: 0, person: null, full: null, gauges: [], onsearch: () => undefined },
    core,
  );
  const said = (hash: string) => page.page.querySelector(`a[href^='${hash}'] [data-figure]`)?.textContent ?? "";
  expect([said("#/tasks"), said("#/inbox")]).toEqual([
    expect.stringMatching(/^8 open$/),
    expect.stringMatching(/^3 \S/),
  ]);
  await page.close();
});
