import { describe, expect, it } from "vitest";
import { hourFrom, quietFault, tomorrowMorning } from "./quiet-hours";

describe("quiet hours", () => {
  it("may_span_midnight", () => expect(quietFault("22:00", "07:00"), "a night is the usual case").toBeNull());
  it("need_both_ends", () => expect(quietFault("22:00", ""), "half a span means nothing").toBe("missing"));
  it("need_times_of_the_day", () => expect(quietFault("24:00", "07:00"), "24:00 is not a time").toBe("missing"));
  it("must_not_be_a_whole_day_by_accident", () =>
    expect(quietFault("22:00", "22:00"), "equal ends could mean none or all").toBe("same"));
});

describe("a pause", () => {
  it("for_an_hour_ends_an_hour_later", () => expect(hourFrom(0), "60 minutes").toBe("1970-01-01T01:00:00.000Z"));
  it("until_the_morning_ends_at_eight_of_the_next_day_even_at_the_end_of_a_month", () => {
    const end = new Date(tomorrowMorning(new Date(2026, 10, 30, 23, 30).getTime()));
    expect([end.getMonth(), end.getDate(), end.getHours()], "30 November is followed by 1 December").toEqual([
      11, 1, 8,
    ]);
  });
});
