import { describe, expect, it } from "vitest";
import { makeChart } from "$lib/fake-core/budget-calls";
import { STORY_NOW } from "$lib/fake-core/story";
import { aBudget, budgets, coming, OVERFULL } from "./budgets.example";
import { csvOf, isGap, spoken } from "./chart/chart-text";
import { pendingOf, pendingResultStatus } from "$lib/budget/pending-result";
import { fullestOf, money, nextToFill } from "./summary";
import { inStableOrder, matchingNames, mergeBudgets } from "./windows/window-order";

describe("what is about to come in", () => {
  it("does not fit when more is held than is free", () => {
    expect(pendingResultStatus(coming(), 36_792).word).toBe("Done, does not fit");
    expect(pendingResultStatus(coming(), 90_000).word).toBe("Done, result held");
    expect(pendingResultStatus(coming(), null).word, "of an unknown size nothing is said").toBe("Done, result held");
    expect(pendingResultStatus(coming({ tokens: null }), 1).word).toBe("Done, result held");
  });
  it("says how far it is, or nothing of it", () => {
    expect(pendingResultStatus(coming({ state: "working", percent: 8 }), 1).word).toBe("Working, 8 %");
    expect(pendingResultStatus(coming({ state: "working", percent: null }), 1).word).toBe("Working");
  });
  it("says of an open task what the list of tasks says", () => {
    const look = pendingResultStatus(coming({ state: "working", phase: "waiting", percent: null }), 1);
    expect(look).toEqual({ tone: "attention", icon: "speech", word: "Waiting for you" });
  });
});

describe("results of all agents", () => {
  it("come as they are decided: held ones first, then by size", () => {
    const small = aBudget({ agent: "small", coming: [coming({ id: "hdl_a", tokens: 10 })] });
    const large = aBudget({
      agent: "large",
      coming: [
        coming({ id: "hdl_b", state: "working", tokens: 99_000 }),
        coming({ id: "hdl_c", tokens: 900 }),
        coming({ id: "hdl_d", state: "working", tokens: null }),
      ],
    });
    expect(pendingOf([small, large]).map((found) => [found.one.id, found.budget.agent])).toEqual([
      ["hdl_c", "large"],
      ["hdl_a", "small"],
      ["hdl_b", "large"],
      ["hdl_d", "large"],
    ]);
  });
});

describe("the first lines", () => {
  it("name the fullest window, and one that was full before all others", () => {
    expect(fullestOf(budgets(5))?.budget.agent).toBe(budgets(5)[0]?.agent);
    expect(fullestOf([...budgets(5), OVERFULL])?.budget.agent).toBe("overfull");
    expect(fullestOf([])).toBeNull();
    expect(fullestOf([aBudget({ windowTokens: null })]), "of an unknown size nothing is said").toBeNull();
  });
  it("name the result that would fill a window most, or that it does not fit", () => {
    const calm = aBudget({ agent: "calm", windowTokens: 1_000_000, coming: [coming({ tokens: 90_000 })] });
    const near = aBudget({ agent: "near", coming: [coming({ tokens: 20_000 }), coming({ tokens: null })] });
    const used = near.now?.tokens ?? 0;
    const share = `${Math.floor((100 * (used + 20_000)) / 200_000)} %`;
    expect(nextToFill([calm, near])).toMatchObject({ tokens: 20_000, share, budget: { agent: "near" } });
    const over = aBudget({ agent: "over", coming: [coming({ tokens: 190_000 })] });
    expect(nextToFill([calm, over])).toMatchObject({ share: null, budget: { agent: "over" } });
    expect(nextToFill([aBudget({ coming: [] })])).toBeNull();
  });
  it("tell money with its mark, and never something as nothing", () => {
    const cost = (micros: number, currency = "USD", exactness: "exact" | "about" | "atMost" = "exact") =>
      money({ micros, currency, exactness });
    expect([cost(160_000), cost(28_400, "USD", "atMost"), cost(400), cost(0, "USD", "about")]).toEqual([
      "$0.16",
      "≤ $0.028",
      "$0.0004",
      "$0.00",
    ]);
    expect(cost(1_234_560_000, "EUR", "about")).toBe("≈ €1,234.56");
    expect(cost(2_000_000, "XQZ"), "a currency that nobody knows keeps its letters").toContain("XQZ");
  });
});

describe("figures over time", () => {
  const starts = Array.from({ length: 24 }, (_, at) => new Date(STORY_NOW - (23 - at) * 3_600_000).toISOString());
  const { points } = makeChart(starts, STORY_NOW, budgets(3));

  it("are spoken part by part, and what nobody measured is not told as nothing", () => {
    const gap = points.find(isGap);
    const counted = points.find((point) => point.tokens > 0);
    if (!gap || !counted) throw new Error("both were made");
    expect(spoken(gap, "03:00 to 04:00")).toBe("03:00 to 04:00: Not measured: Taskwarden did not run.");
    expect(spoken(counted, "09:00 to 10:00")).toMatch(/^09:00 to 10:00: ≤ [\d.]+k? came in, .* kept out$/);
    expect(spoken({ ...counted, countedHours: 3, hours: 6 }, "then")).toContain("Measured in 3 of 6 hours.");
  });

  it("are kept as a file in which what was not measured has no figure", () => {
    const lines = csvOf(points).trimEnd().split("\n");
    expect(lines).toHaveLength(points.length + 1);
    expect(lines[0]).toMatch(/^at \(UTC\),tokens,exactness,/);
    const gap = points.findIndex(isGap);
    expect(lines[gap + 1]).toMatch(/Z,,,,,,,0,\d+$/);
  });
});

describe("rows", () => {
  it("stay where they stood while the core sorts them otherwise, and new ones come after them", () => {
    const [first, second, third] = budgets(3);
    if (!first || !second || !third) throw new Error("three were made");
    expect(inStableOrder([], [first, second]), "at first as they come").toEqual([first, second]);
    expect(inStableOrder([first.agentId, second.agentId], [third, second, first])).toEqual([first, second, third]);
    expect(inStableOrder([first.agentId, second.agentId], [second]), "who is gone leaves no hole").toEqual([second]);
  });
});

describe("agents beyond the core's list", () => {
  it("are found by name, the first ones", () => {
    const names = ["nightly-ops", "order-bot", "nightly-import"].map((name) => ({ name }));
    expect(matchingNames(names, " NIGHT ", 5).map((one) => one.name)).toEqual(["nightly-ops", "nightly-import"]);
    expect(matchingNames(names, "o", 1)).toHaveLength(1);
  });
  it("stand after those that are listed", () => {
    const [first, second, third] = budgets(3);
    if (!first || !second || !third) throw new Error("three were made");
    expect(
      mergeBudgets([first, second], new Map([[third.agentId, third]]), [third.agentId, second.agentId, "agt_gone"]).map(
        (one) => one.agentId,
      ),
    ).toEqual([second.agentId, third.agentId]);
  });
});
