// @vitest-environment jsdom
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { agentOf, aBudget, UNKNOWN_SIZE } from "../budgets.example";
import TokenizerSettings from "./TokenizerSettings.svelte";
import OtherWindows from "./OtherWindows.svelte";

it("only what was changed is sent, and a number may have thousands", async () => {
  const budget = UNKNOWN_SIZE;
  const core = fake({ now: STORY_NOW, agents: [agentOf(budget)], budgets: [budget] });
  const page = show(TokenizerSettings, { budget, off: false, onchanged: () => Promise.resolve() }, core);
  const sent = () => core.called.filter((one) => one.name === "budgets.set").map((one) => one.input);
  await page.type("#counted input", "lots");
  await page.press("button[type=submit]");
  await page.find(".err", "whole number");
  expect(sent(), "what is wrong is not sent").toEqual([]);
  await page.type("#counted input", "200,000");
  await page.press("button[type=submit]");
  await until("the size is sent", sent, (all) => all.length === 1);
  expect(sent()).toEqual([{ agent: budget.agentId, windowTokens: 200_000 }]);
  await page.close();
});

it("a window is emptied after it was asked once", async () => {
  const budget = aBudget();
  const core = fake({ now: STORY_NOW, agents: [agentOf(budget)], budgets: [budget] });
  const page = show(OtherWindows, { budget, earlier: [], off: false, onchanged: () => undefined }, core);
  const sent = () => core.called.filter((one) => one.name === "budgets.empty").map((one) => one.input);
  await page.press("button", "Empty the window…");
  await page.find("[role=dialog]", "Empty the window of research-7?");
  expect(sent(), "asking is not doing").toEqual([]);
  await page.press("[role=dialog] button[data-variant=danger]");
  await until("it is emptied", sent, (all) => all.length === 1);
  expect(sent()).toEqual([{ agent: budget.agentId }]);
  await page.close();
});
