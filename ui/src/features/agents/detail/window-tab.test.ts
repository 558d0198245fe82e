// @vitest-environment jsdom
/* What is about to come into an agent's window has the phases of the task list. */
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { makeBudgets } from "$lib/fake-core/budgets";
import { makeAgents } from "$lib/fake-core/entities";
import { show } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import WindowTab from "./WindowTab.svelte";

it("a_task_that_waits_for_a_person_is_not_called_working", async () => {
  const [agent] = makeAgents(1, STORY_NOW);
  const [made] = makeBudgets(agent === undefined ? [] : [agent], null, STORY_NOW);
  if (agent === undefined || made === undefined) throw new Error("no agent was made");
  const open = { tokens: null, exactness: "exact", state: "working", percent: null } as const;
  const coming = [
    { ...open, id: "hdl_1", server: "shop", tool: "translate", phase: "waiting" as const },
    { ...open, id: "hdl_2", server: "shop", tool: "report", phase: "running" as const },
  ];
  const shown = show(WindowTab, { agent, budget: { ...made, coming } }, fake({}));
  expect((await shown.find("li", "translate")).textContent).toContain("Waiting for you");
  expect((await shown.find("li", "report")).textContent).toContain("Working");
  await shown.close();
});
