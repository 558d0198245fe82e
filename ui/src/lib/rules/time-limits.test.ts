import { describe, expect, it } from "vitest";
import { isBadTime, readTime, timeLimitOf, timesOf } from "./time-limits";

describe("a limit of time in the form of a rule", () => {
  it("reads what people type", () => {
    for (const [typed, read] of [
      ["30 min", 1_800_000],
      ["30min", 1_800_000],
      ["2h", 7_200_000],
      ["1 h 30 min", 5_400_000],
      ["90 s", 90_000],
      ["45", 2_700_000],
      ["30 d", 2_592_000_000],
    ] as const)
      expect(readTime(typed), typed).toBe(read);
  });

  it("refuses what is no time, too short or too long", () => {
    for (const bad of ["", "0 s", "31 d", "1.5 h", "-5 min", "soon", "5 min ask", "1e3 s"])
      expect(readTime(bad), bad).toBeNull();
    expect(isBadTime({ typed: " ", at: "ask" }), "nothing is no limit").toBe(false);
    expect(isBadTime({ typed: "soon", at: "ask" })).toBe(true);
  });

  it("gives back to the millisecond what nobody changed", () => {
    for (const allowedMs of [1_000, 90_061_000, 1_500, 1_800_000]) {
      const before = { allowedMs, at: "warn" as const };
      const { time } = timesOf({ scope: { kind: "agent", agent: "agt_1" }, timeLimit: before });
      expect(timeLimitOf(time, before)).toEqual(before);
      expect(timeLimitOf({ ...time, at: "cancel" }, before), "its action alone").toEqual({ allowedMs, at: "cancel" });
    }
    expect(
      timeLimitOf({ typed: "", at: "ask" }, { allowedMs: 5_000, at: "ask" }),
      "an empty field is no limit",
    ).toBeNull();
  });
});
