import { describe, expect, it } from "vitest";
import { draftOf, ruleOf, secondsOf } from "./rule";

const scope = { kind: "agent" as const, agent: "agt_1" };

describe("the form of a rule", () => {
  it("says nothing where nothing was chosen", () => {
    expect(ruleOf(scope, draftOf(null), null)).toEqual({ scope, asked: null, peopleAfterMs: null, repeat: null, holdResults: null, promoteAfterMs: null });
  });

  it("keeps what it does not show, and reads back what it made", () => {
    const before = { scope, asked: "agentThenPeople" as const, peopleAfterMs: 30_000, repeat: "new" as const, holdResults: true, promoteAfterMs: 500 };
    expect(ruleOf(scope, draftOf(before), before)).toEqual(before);
  });

  it("refuses times that nobody means", () => {
    for (const bad of ["", "0", "-1", "1.5", "86401", "x"]) expect(secondsOf(bad), bad).toBeNull();
    expect(ruleOf(scope, { ...draftOf(null), asked: "agentThenPeople", seconds: "soon" }, null)).toBeNull();
    expect(ruleOf(scope, { ...draftOf(null), asked: "both", seconds: "soon" }, null)?.asked).toBe("both");
  });
});
