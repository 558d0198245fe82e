import { describe, expect, it } from "vitest";
import type { BudgetDto } from "$lib/bindings";
import { FAMILIES, makeBudgets, windowOf } from "$lib/fake/budgets";
import { makeAgents } from "$lib/fake/things";
import { budgetOf, burnOf, freeTokens, fullest, isNearlyFull, stackOf, usedPercent } from "./look";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const all = makeBudgets(makeAgents(5, NOW), [], NOW);
const research = (change: Partial<BudgetDto> = {}): BudgetDto => {
  const found = budgetOf(all, "research-7");
  if (found === null) throw new Error("the design has research-7");
  return { ...found, ...change };
};
const list = (...budgets: BudgetDto[]) => ({ budgets, more: 0, warnPercent: 80, fullPercent: 95, sliceTokens: 8_000 });

describe("a window", () => {
  it("is drawn by source in a fixed order, and what comes in is over when it does not fit", () => {
    const { parts, soon, isOver } = stackOf(research().now, 200_000, 61_402);
    expect(parts.map((part) => part.source)).toEqual(["tools", "arguments", "results", "handles", "prompts"]);
    expect(parts[2]?.width).toBeCloseTo(58.17, 1);
    expect(isOver).toBe(true);
    expect(parts.reduce((sum, part) => sum + part.width, soon), "the bar is never wider than itself").toBeLessThanOrEqual(100.05);
  });

  it("that is overfull ends at the edge of its bar", () => {
    const { parts, soon } = stackOf(windowOf("w", [0, 0, 0, 300_000, 0, 0], "exact", 0, NOW), 200_000, 10);
    expect(parts).toEqual([{ source: "results", width: 100 }]);
    expect(soon).toBe(0);
  });

  it("of unknown size has no share, and one that nothing came into neither", () => {
    expect(usedPercent(research({ windowTokens: null }))).toBeNull();
    expect(usedPercent(research({ now: null }))).toBeNull();
    expect(isNearlyFull(research({ windowTokens: null }), 0), "not even nearly full").toBe(false);
    expect(freeTokens(research({ windowTokens: null }))).toBeNull();
    expect(stackOf(null, 0, 0)).toEqual({ parts: [], soon: 0, isOver: false });
  });

  it("never has less than nothing free", () => expect(freeTokens(research({ windowTokens: 10 }))).toBe(0));
});

describe("the fullest window", () => {
  it("is shown from the share on at which people are told", () => {
    expect(fullest(list(...all))).toEqual({ agent: "research-7", percent: 81 });
    expect(fullest({ ...list(...all), warnPercent: 90 })).toBeNull();
    expect(fullest(null)).toBeNull();
  });
});

describe("figures", () => {
  it("of several agents are as exact as the least exact of those that burn", () => {
    expect(burnOf([research()])).toEqual({ tokens: 3_020, exactness: "exact" });
    expect(burnOf(all).exactness).toBe("atMost");
    expect(burnOf([research(), { ...research(), family: FAMILIES.unknown, now: null, burnPerMinute: 0 }]).exactness, "who burns nothing says nothing").toBe("exact");
    expect(burnOf([])).toEqual({ tokens: 0, exactness: "exact" });
  });
});
