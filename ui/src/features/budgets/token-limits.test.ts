// @vitest-environment jsdom
import { expect, it, vi } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { agents } from "./budgets.example";
import TokenLimits from "./TokenLimits.svelte";

const LIMIT = "[role=dialog] input[placeholder='no limit']";

function open() {
  const core = fake({ now: STORY_NOW, agents: agents(2) });
  const onclose = vi.fn();
  const page = show(
    TokenLimits,
    { rules: [], agents: agents(2), servers: ["docs"], agent: "agt_claude-code", onclose },
    core,
  );
  return { page, onclose, put: () => core.called.filter((one) => one.name === "rules.put").map((one) => one.input) };
}

it("limits that were typed and not saved are asked about before they go", async () => {
  const { page, onclose, put } = open();
  await page.type(LIMIT, "20k");
  await page.press("[role=dialog] button", "Done");
  await page.find("[role=alert]", "What you typed for claude-code is not saved.");
  expect(onclose, "nothing went").not.toHaveBeenCalled();
  await page.press("[role=dialog] button", "Keep editing");
  expect((await page.find<HTMLInputElement>(LIMIT)).value).toBe("20k");
  await page.press("[role=dialog] button[type=submit]");
  await until("it is saved", put, (all) => all.length === 1);
  await until(
    "nothing is left to ask about",
    () => page.text().includes("not saved"),
    (asks) => !asks,
  );
  await page.close();
});

it("what was typed goes when a person drops it, and a dialog without any closes at once", async () => {
  const { page, onclose, put } = open();
  await page.type(LIMIT, "20k");
  await page.press("[role=dialog] button", "Done");
  await page.press("[role=dialog] button", "Discard");
  expect(onclose).toHaveBeenCalledTimes(1);
  expect(put()).toEqual([]);
  await page.close();
  const other = open();
  await other.page.press("[role=dialog] button", "Done");
  expect(other.onclose).toHaveBeenCalledTimes(1);
  await other.page.close();
});

it("the name of a tool is corrected without losing the limits typed for it", async () => {
  const { page, put } = open();
  await page.press("[role=dialog] input[value=tool]");
  await page.type("[role=dialog] input[maxlength='200']", "index");
  await page.type(LIMIT, "20k");
  await page.type("[role=dialog] input[maxlength='200']", "index_folder");
  expect((await page.find<HTMLInputElement>(LIMIT)).value).toBe("20k");
  await page.press("[role=dialog] button[type=submit]");
  await until("it is saved", put, (all) => all.length === 1);
  expect(put()[0]).toMatchObject({
    scope: { kind: "tool", server: "docs", tool: "index_folder" },
    resultLimit: { tokens: 20_000, at: "hold" },
  });
  await page.close();
});
