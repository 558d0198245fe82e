import { describe, expect, test } from "vitest";
import { alarmFields, alarmsOf, isBadAlarm, readSameCalls } from "./alarm-limits";

describe("numbers of calls that raise an alarm", () => {
  test("equal_calls_are_a_number_and_a_time", () => {
    expect(readSameCalls("20 in 10 min")).toEqual({ count: 20, windowMs: 600_000 });
    expect(readSameCalls("20"), "within the time of the default").toEqual({ count: 20, windowMs: 600_000 });
    expect(readSameCalls("0"), "no alarm").toEqual({ count: 0, windowMs: 600_000 });
    for (const typed of ["1", "201", "-3", "20 in", "20 in 2 d", "often"])
      expect([typed, readSameCalls(typed), isBadAlarm("sameCalls", typed)]).toEqual([typed, null, true]);
  });

  test("what_a_rule_says_is_typed_and_read_back", () => {
    const fields = { sameCallLimit: { count: 20, windowMs: 5_400_000 }, callsPerMinute: 0, openCalls: 8 };
    expect(alarmFields(alarmsOf({ scope: { kind: "agent", agent: "a" }, ...fields }))).toEqual(fields);
    const nothing = { sameCallLimit: null, callsPerMinute: null, openCalls: null };
    expect(alarmFields(alarmsOf(null)), "nothing is left to the default").toEqual(nothing);
    expect([isBadAlarm("openCalls", ""), isBadAlarm("openCalls", "many")]).toEqual([false, true]);
  });
});
