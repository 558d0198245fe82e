import { afterEach, describe, expect, it } from "vitest";
import { axisText, minutesOff, partText, startsOf, todayBegan } from "./chart-parts";

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});
const HOUR = 3_600_000;
const inZone = (name: string) => void (process.env.TZ = name);
const said = (span: "day" | "week" | "month", now: number) => {
  const starts = startsOf(span, now);
  return starts.map((_, at) => partText(starts, at, span, now));
};

describe("the parts of a chart", () => {
  it("are 24 hours to the one that runs, quarters of seven days up to now, and thirty days", () => {
    inZone("UTC");
    const now = Date.parse("2026-11-21T14:31:00Z");
    expect(startsOf("day", now)).toHaveLength(24);
    expect(said("day", now).at(-1)).toBe("21 Nov, 14:00 to 15:00");
    expect(startsOf("week", now), "the evening has not come").toHaveLength(27);
    expect(said("week", now).at(-1)).toBe("21 Nov, 12:00 to 18:00");
    expect([startsOf("month", now).length, said("month", now)[0], said("month", now).at(-1)]).toEqual([
      30,
      "23 Oct",
      "21 Nov",
    ]);
  });

  it("begin at midnight where clocks were changed: a day of 25 hours and one of 23", () => {
    inZone("Europe/Berlin");
    for (const [now, changed, hours] of [
      ["2026-11-10T12:00:00Z", "25 Oct", 25],
      ["2026-04-10T12:00:00Z", "29 Mar", 23],
    ] as const) {
      const starts = startsOf("month", Date.parse(now));
      const names = said("month", Date.parse(now));
      expect(new Set(names).size, "no day comes twice").toBe(30);
      expect(
        starts.every((start) => new Date(start).getHours() === 0),
        "every day begins at midnight",
      ).toBe(true);
      const at = names.indexOf(changed);
      expect(((starts[at + 1] ?? 0) - (starts[at] ?? 0)) / HOUR).toBe(hours);
    }
  });

  it("tell the hour that comes twice with how far it is from UTC, and leave out the one that does not come", () => {
    inZone("Europe/Berlin");
    const autumn = said("day", Date.parse("2026-10-25T12:10:00Z"));
    expect(autumn.filter((one) => one.startsWith("25 Oct, 02:00")).map((one) => one.slice(0, 22))).toEqual([
      "25 Oct, 02:00 (UTC+2) ",
      "25 Oct, 02:00 (UTC+1) ",
    ]);
    expect(new Set(autumn).size, "every hour has a name of its own").toBe(24);
    inZone("America/New_York");
    const spring = said("day", Date.parse("2026-03-08T18:10:00Z"));
    expect(spring.filter((one) => /^8 Mar, 0[123]/.test(one)).map((one) => one.slice(0, 12))).toEqual([
      "8 Mar, 01:00",
      "8 Mar, 03:00",
    ]);
  });

  it("say where clocks are half an hour off", () => {
    inZone("Asia/Kolkata");
    const now = Date.parse("2026-11-21T14:31:00Z");
    expect(minutesOff(now)).toBe(30);
    expect(said("day", now).at(-1)).toBe("21 Nov, 19:30 to 20:30");
    expect(new Date(todayBegan(now)).toISOString()).toBe("2026-11-20T18:30:00.000Z");
    inZone("UTC");
    expect(minutesOff(now)).toBe(0);
  });

  it("name today once under the axis, and few enough others that they do not meet", () => {
    inZone("UTC");
    const now = Date.parse("2026-11-21T14:31:00Z");
    for (const span of ["day", "week", "month"] as const) {
      const starts = startsOf(span, now);
      const labels = starts.map((_, at) => axisText(starts, at, span, now, "today")).filter((label) => label !== null);
      expect(
        labels.filter((label) => label === "today"),
        span,
      ).toHaveLength(1);
      expect(labels.length, span).toBeLessThanOrEqual(9);
    }
  });
});
