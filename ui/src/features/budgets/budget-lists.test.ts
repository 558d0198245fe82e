import { describe, expect, it } from "vitest";
import { makeSeries } from "$lib/fake-core/budgets";
import { STORY_NOW } from "$lib/fake-core/story";
import { budgets, coming } from "./budgets.example";
import { pendingResultStatus } from "./agent/pending-result";
import { csvOf, sumsOf } from "./spend/spend-sums";
import { inStableOrder, matchingNames, mergeBudgets } from "./windows/window-order";

describe("what is about to come in", () => {
  it("does not fit when more is held than is free", () => {
    expect(pendingResultStatus(coming(), 36_792).word).toBe("Held: does not fit");
    expect(pendingResultStatus(coming(), 90_000).word).toBe("Held");
    expect(pendingResultStatus(coming(), null).word, "of an unknown size nothing is said").toBe("Held");
    expect(pendingResultStatus(coming({ tokens: null }), 1).word).toBe("Held");
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

describe("figures over time", () => {
  const series = makeSeries(7 * 86_400_000, 6 * 3_600_000, STORY_NOW, 3, ["o200k", "unknown"]);

  it("sum to what the points say, by source", () => {
    const sums = sumsOf(series.points);
    expect(sums.tokens).toBe(
      series.points.flatMap((point) => point.sources).reduce((sum, part) => sum + part.tokens, 0),
    );
    expect(sums.sources.map((part) => part.source)).toEqual([
      "tools",
      "ownTools",
      "arguments",
      "results",
      "handles",
      "prompts",
    ]);
    expect(sumsOf([])).toEqual({ sources: [], tokens: 0, keptOut: 0, messages: 0 });
  });

  it("are kept as a file whose every line says in which tokens they are counted and how exact", () => {
    const lines = csvOf(series, series.points).trimEnd().split("\n");
    expect(lines).toHaveLength(series.points.length + 1);
    expect(lines[0], "the columns of the command line, with whose time it is").toBe(
      "at (UTC),tools,ownTools,arguments,results,handles,prompts,keptOut,messages,exactness,families",
    );
    expect(lines.at(-1)).toMatch(/^2026-[\d-]+T[\d:.]+Z,\d+,.*,atMost,o200k unknown$/);
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
