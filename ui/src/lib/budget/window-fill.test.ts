import { describe, expect, it } from "vitest";
import type { BudgetDto } from "$lib/bindings";
import { FAMILIES, makeBudgets, windowOf } from "$lib/fake-core/budgets";
import { makeAgents } from "$lib/fake-core/entities";
import {
  budgetOf,
  burnRateOf,
  capacityOf,
  windowFill,
  freeExactness,
  freeTokens,
  fullest,
  gaugesOf,
  isFull,
  isNearlyFull,
  sourceStack,
  tokensInWindow,
  barTokens,
} from "./window-fill";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const all = makeBudgets(makeAgents(5, NOW), null, NOW);
const research = (change: Partial<BudgetDto> = {}): BudgetDto => {
  const found = budgetOf(all, "research-7");
  if (found === null) throw new Error("the design has research-7");
  return { ...found, ...change };
};
const list = (...budgets: BudgetDto[]) => ({ budgets, more: 0, warnPercent: 80, fullPercent: 95, sliceTokens: 8_000 });

describe("a window", () => {
  it("is drawn by source in a fixed order, and what comes in is over when it does not fit", () => {
    const { parts, soon, isOver } = sourceStack(research().now, 200_000, 61_402);
    expect(parts.map((part) => part.source)).toEqual(["tools", "arguments", "results", "handles", "prompts"]);
    expect(parts[2]?.width).toBeCloseTo(58.17, 1);
    expect(isOver).toBe(true);
    expect(
      parts.reduce((sum, part) => sum + part.width, soon),
      "the bar is never wider than itself",
    ).toBeLessThanOrEqual(100.05);
  });

  it("that is overfull ends at the edge of its bar", () => {
    const { parts, soon } = sourceStack(windowOf("w", [0, 0, 0, 300_000, 0, 0], "exact", 0, NOW), 200_000, 10);
    expect(parts).toEqual([{ source: "results", width: 100 }]);
    expect(soon).toBe(0);
  });

  it("that took in more than it holds is full and no more, with a mark", () => {
    const now = windowOf("w", [0, 0, 0, 881_000, 0, 0], "about", 0, NOW, { fullTimes: 4 });
    expect(windowFill(research({ now }))).toEqual({
      percent: 100,
      shown: "≈ 100 %\u00A0+",
      isLimit: false,
      wasFull: true,
    });
    expect(tokensInWindow(now, 200_000)).toBe(200_000);
    expect(tokensInWindow(now, null), "of an unknown size nothing is known").toBe(881_000);
  });

  it("of unknown size has no share, and one that nothing came into neither", () => {
    expect(windowFill(research({ windowTokens: null }))).toBeNull();
    expect(windowFill(research({ now: null }))).toBeNull();
    expect(isNearlyFull(research({ windowTokens: null }), 0), "not even nearly full").toBe(false);
    expect(freeTokens(research({ windowTokens: null }))).toBeNull();
    expect(sourceStack(null, 0, 0)).toEqual({ parts: [], soon: 0, isOver: false, limit: null });
  });

  it("never has less than nothing free", () => expect(freeTokens(research({ windowTokens: 10 }))).toBe(0));

  it("shows a bound rounded up, so that it stays one", () => {
    const bound = research({ now: windowOf("w", [0, 0, 0, 143_800, 0, 0], "atMost", 0, NOW) });
    expect(windowFill(bound)).toMatchObject({ percent: 71, shown: "≤ 72 %" });
    expect(freeExactness(bound), "above a bound of what is inside nothing bounds what is free").toBe("about");
  });
});

describe("a limit of the window", () => {
  const limited = (tokens: number, change: Partial<BudgetDto> = {}) =>
    research({ limit: { tokens, at: "hold" }, ...change });

  it("is what must not be passed, where it is lower than the size or alone", () => {
    expect(capacityOf(limited(170_000))).toEqual({ tokens: 170_000, isLimit: true });
    expect(capacityOf(limited(400_000))).toEqual({ tokens: 200_000, isLimit: false });
    expect(capacityOf(limited(170_000, { windowTokens: null }))).toEqual({ tokens: 170_000, isLimit: true });
    expect(capacityOf(research({ windowTokens: null }))).toBeNull();
  });

  it("ends what is free and makes the window full before its size does", () => {
    expect(freeTokens(limited(170_000))).toBe(170_000 - 163_208);
    expect(freeTokens(limited(160_000)), "nothing may come in").toBe(0);
    expect([isFull(limited(160_000)), isFull(limited(170_000)), isFull(research())]).toEqual([true, false, false]);
    expect(windowFill(limited(170_000))).toEqual({ percent: 96, shown: "96 %", isLimit: true, wasFull: false });
    expect(isNearlyFull(limited(170_000), 95)).toBe(true);
  });

  it("stands in the bar, and what comes in is over from there on", () => {
    expect(sourceStack(research().now, 200_000, 10_000, 170_000)).toMatchObject({ isOver: true, limit: 85 });
    expect(sourceStack(research().now, 200_000, 10_000)).toMatchObject({ isOver: false, limit: null });
    expect(
      barTokens(limited(170_000, { windowTokens: null })),
      "a bar over the limit where nothing says the size",
    ).toBe(170_000);
    expect(sourceStack(research().now, 170_000, 0, 170_000).limit, "its end is the limit").toBeNull();
  });
});

describe("the fullest window", () => {
  it("is shown from the share on at which people are told", () => {
    expect(fullest(list(...all))).toMatchObject({ agent: "research-7", percent: 81, shown: "81 %", isLimit: false });
    expect(fullest({ ...list(...all), warnPercent: 90 })).toBeNull();
    expect(fullest(null)).toBeNull();
  });
  it("is one of the few that stand by name, so that they do not change places while they fill alike", () => {
    expect(gaugesOf(list(...all), 3).map((one) => `${one.agent} ${one.shown}`)).toEqual([
      "claude-code ≈ 59 %",
      "nightly-ops ≤ 36 %",
      "research-7 81 %",
    ]);
    expect(
      gaugesOf(list(research({ now: null }), research({ windowTokens: null })), 3),
      "without a size there is no share",
    ).toEqual([]);
  });
});

describe("figures", () => {
  it("of several agents are as exact as the least exact of those that burn", () => {
    expect(burnRateOf([research()])).toEqual({ tokens: 3_020, exactness: "exact", families: ["GPT o200k"] });
    expect(burnRateOf(all).exactness).toBe("atMost");
    expect(burnRateOf(all).families, "each tokenizer is named once").toHaveLength(5);
    expect(
      burnRateOf([research(), { ...research(), family: FAMILIES.unknown, now: null, burnPerMinute: 0 }]).exactness,
      "who burns nothing says nothing",
    ).toBe("exact");
    expect(burnRateOf([])).toEqual({ tokens: 0, exactness: "exact", families: [] });
  });
});
