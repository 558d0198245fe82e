import { afterEach, describe, expect, it } from "vitest";
import { ago, clockFace, clockTime, day, duration, elapsed, hourMinute, hourMinuteSecond, left, until } from "./time";
import { timeStyle } from "./time-style.svelte";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const before = (ms: number) => NOW - ms;
const S = 1_000,
  M = 60_000,
  H = 3_600_000;

describe("times", () => {
  it("are_relative_up_to_a_day", () => {
    expect(
      [ago(before(0), NOW), ago(before(8 * S), NOW), ago(before(4 * M), NOW), ago(before(23 * H), NOW)],
      "one unit each",
    ).toEqual(["now", "8 s ago", "4 min ago", "23 h ago"]);
  });
  it("are_dates_after_a_day", () =>
    expect(ago(before(25 * H), NOW), "a day ago needs its date").toMatch(/^20 Nov, \d\d:\d\d$/));
  it("since_when_something_lasts_is_a_time_of_day_and_after_a_day_a_date", () => {
    expect(clockTime(before(H), NOW)).toBe(hourMinute(before(H)));
    expect(clockTime(before(25 * H), NOW)).toMatch(/^20 Nov, \d\d:\d\d$/);
  });
  it("in_the_future_say_when", () => expect(until(NOW + 22 * S, NOW), "the next look").toBe("in 22 s"));
  it("from_a_clock_that_runs_ahead_are_now", () => expect(ago(NOW + 5 * S, NOW), "never a negative age").toBe("now"));
  it("that_are_no_times_show_nothing", () =>
    expect([ago("soon", NOW), until("soon", NOW), left("soon", NOW)], "no NaN on the screen").toEqual(["", "", ""]));
});

describe("durations", () => {
  it("have_two_units_at_most", () => {
    expect(
      [duration(20 * S), duration(4 * M + 20 * S), duration(3 * H + 5 * M + 9 * S), duration(52 * H)],
      "as the style guide says",
    ).toEqual(["20 s", "4 min 20 s", "3 h 5 min", "2 d 4 h"]);
  });
  it("count_down_as_a_clock", () =>
    expect([clockFace(288 * S), clockFace(7 * S), clockFace(-1)], "minutes and seconds").toEqual([
      "4:48",
      "0:07",
      "0:00",
    ]));
  it("left_to_a_deadline_are_exact_when_it_is_near", () => {
    expect([left(NOW + 288 * S, NOW), left(NOW + 33 * M, NOW), left(NOW - 1, NOW)], "design of the inbox").toEqual([
      "4:48 left",
      "33 min left",
      "overdue",
    ]);
    expect(left(NOW + 3 * H, NOW), "further away the time of day says more").toMatch(/^until \d\d:\d\d$/);
  });
});

describe("the time of a task", () => {
  const works = { workedMs: 5 * M, worksSince: new Date(before(4 * M)).toISOString() };
  it("goes_on_while_the_task_works", () => expect(elapsed(works, NOW)).toBe(9 * M));
  it("stands_still_where_the_core_says_so", () => expect(elapsed({ ...works, worksSince: null }, NOW)).toBe(5 * M));
  it("never_falls_behind_what_was_counted", () =>
    expect(elapsed({ ...works, worksSince: new Date(NOW + M).toISOString() }, NOW)).toBe(5 * M));
});

describe("times as a person wants them", () => {
  afterEach(() => timeStyle.set({ hours: "24", past: "ago" }));
  const local = (hours: number, minutes: number) => new Date(2026, 10, 21, hours, minutes, 2).getTime();

  it("are_written_by_twelve_hours_everywhere", () => {
    timeStyle.set({ hours: "12" });
    expect([0, 9, 12, 23].map((hour) => hourMinute(local(hour, 5)))).toEqual([
      "12:05\u00a0am",
      "9:05\u00a0am",
      "12:05\u00a0pm",
      "11:05\u00a0pm",
    ]);
    expect(hourMinuteSecond(local(14, 31))).toBe("2:31:02\u00a0pm");
    expect(day(local(14, 31), local(15, 0))).toBe("21 Nov, 2:31\u00a0pm");
  });

  it("are_times_of_day_in_place_of_ages", () => {
    timeStyle.set({ past: "clock" });
    const now = local(14, 31);
    expect(ago(local(14, 27), now), "minutes").toBe("14:27");
    expect(ago(now - 8 * S, now), "seconds are named where they matter").toBe("14:30:54");
    expect(until(local(14, 35), now)).toBe("14:35");
    expect(ago(local(0, 1) - 2 * H, local(1, 0)), "another day has its date").toBe("20 Nov, 22:01");
    expect(ago(now, now), "now is now").toBe("now");
  });
});
