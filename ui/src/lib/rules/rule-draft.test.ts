import { describe, expect, it } from "vitest";
import { changedBy, draftOf, isUnsaved, ruleOf, secondsOf } from "./rule-draft";

const scope = { kind: "agent" as const, agent: "agt_1" };

describe("the form of a rule", () => {
  it("says nothing where nothing was chosen", () => {
    expect(ruleOf(scope, draftOf(null), null)).toEqual({
      scope,
      version: 0,
      asked: null,
      peopleAfterMs: null,
      repeat: null,
      holdResults: null,
      promoteAfterMs: null,
      holdCut: null,
      resultLimit: null,
      taskLimit: null,
      windowLimit: null,
      timeLimit: null,
      progressLimit: null,
      sameCallLimit: null,
      callsPerMinute: null,
      openCalls: null,
      alarmAction: null,
    });
  });

  it("keeps what it does not show, and reads back what it made", () => {
    const before = {
      scope,
      version: 3,
      asked: "agentThenPeople" as const,
      peopleAfterMs: 30_000,
      repeat: "new" as const,
      holdResults: true,
      promoteAfterMs: 500,
      holdCut: false,
      resultLimit: { tokens: 20_000, at: "hold" as const },
      taskLimit: null,
      windowLimit: { tokens: 160_000, at: "ask" as const },
      timeLimit: { allowedMs: 1_800_000, at: "ask" as const },
      progressLimit: { allowedMs: 61_500, at: "warn" as const },
      sameCallLimit: { count: 20, windowMs: 600_000 },
      callsPerMinute: 0,
      openCalls: 8,
      alarmAction: "ask" as const,
    };
    expect(ruleOf(scope, draftOf(before), before)).toEqual(before);
  });

  it("limits tokens by what was typed, and a server has no window", () => {
    const draft = draftOf({ scope, resultLimit: { tokens: 20_000, at: "warn" } });
    expect(draft.limits.result).toEqual({ typed: "20,000", at: "warn" });
    expect(
      ruleOf(scope, { ...draft, limits: { ...draft.limits, task: { typed: "60k", at: "stop" } } }, null),
    ).toMatchObject({
      resultLimit: { tokens: 20_000, at: "warn" },
      taskLimit: { tokens: 60_000, at: "stop" },
      windowLimit: null,
    });
    expect(
      ruleOf(scope, { ...draft, limits: { ...draft.limits, window: { typed: "lots", at: "ask" } } }, null),
      "an agent's window must be a number",
    ).toBeNull();
    const server = { kind: "server" as const, server: "docs" };
    expect(
      ruleOf(server, { ...draft, limits: { ...draft.limits, window: { typed: "lots", at: "ask" } } }, null),
      "what a server cannot limit is not read",
    ).toMatchObject({ scope: server, windowLimit: null });
  });

  it("refuses times that nobody means", () => {
    for (const bad of ["", "0", "-1", "1.5", "86401", "x"]) expect(secondsOf(bad), bad).toBeNull();
    expect(ruleOf(scope, { ...draftOf(null), asked: "agentThenPeople", seconds: "soon" }, null)).toBeNull();
    expect(ruleOf(scope, { ...draftOf(null), asked: "both", seconds: "soon" }, null)?.asked).toBe("both");
  });
  it("keeps what was typed over what others save meanwhile, and nothing else", () => {
    const change = { limits: { result: { typed: "20k", at: "hold" as const } } };
    const saved = draftOf({ scope, repeat: "new", taskLimit: { tokens: 60_000, at: "stop" } });
    expect(ruleOf(scope, changedBy(saved, change), null)).toMatchObject({
      repeat: "new",
      resultLimit: { tokens: 20_000 },
      taskLimit: { tokens: 60_000, at: "stop" },
    });
    expect([isUnsaved(saved, change), isUnsaved(saved, null), isUnsaved(saved, { repeat: "new" })]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
