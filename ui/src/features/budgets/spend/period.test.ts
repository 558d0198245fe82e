import { afterEach, describe, expect, it } from "vitest";
import type { SeriesDto } from "$lib/bindings";
import { makeSeries } from "$lib/fake-core/budgets";
import { STORY_NOW } from "$lib/fake-core/story";
import { csvOf, tokensOf } from "./spend-sums";
import { askFor, beginOf, minutesOff, pointText, pointsOf, type Span } from "./period";

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const HOUR = 3_600_000;
/** As the core answers: by the hour, from the one in which the time asked for began to the one that runs. */
function core(span: Span, now: number): SeriesDto {
  const { spanMs, stepMs } = askFor(span, now);
  const first = Math.floor((now - spanMs) / HOUR) * HOUR;
  const whole = Math.floor(now / HOUR) * HOUR;
  const made = makeSeries(whole - first + HOUR, stepMs, now, 3, ["o200k"]);
  return {
    ...made,
    points: made.points.map((point, at) => ({ ...point, at: new Date(first + at * HOUR).toISOString() })),
  };
}
function shown(span: Span, now: number) {
  const series = core(span, now);
  const points = pointsOf(series, span, beginOf(span, now));
  return { series, points, said: points.map((point) => pointText(point.at, span, now)) };
}

describe("history, where clocks are half an hour off", () => {
  const now = Date.parse("2026-11-21T14:31:00Z"); // 20:01 in Kolkata
  const kolkata = () => void (process.env.TZ = "Asia/Kolkata");

  it("tells hours as clocks show them there", () => {
    kolkata();
    const { said } = shown("day", now);
    expect([said.length, said[0], said.at(-1)]).toEqual([25, "20 Nov, 19:30", "21 Nov, 19:30"]);
  });

  it("puts the hours of a day together as the person has it, each once", () => {
    kolkata();
    const { series, points, said } = shown("month", now);
    expect([said.length, said[0], said.at(-1)], "today and the 29 days before it").toEqual([30, "23 Oct", "21 Nov"]);
    expect(points[1]?.at, "the first stored hour that begins on it, exactly").toBe("2026-10-23T19:00:00.000Z");
    const sum = (all: typeof points) => all.reduce((tokens, point) => tokens + tokensOf(point.sources), 0);
    expect(sum(points), "the hour from before is not of these days").toBe(sum(series.points.slice(1)));
    expect(minutesOff(points), "which is said, as what remains").toBe(30);
  });

  it("tells parts of days with the hour that they really begin at", () => {
    kolkata();
    expect(shown("week", now).said.slice(0, 5)).toEqual([
      "15 Nov, 00:30",
      "15 Nov, 06:30",
      "15 Nov, 12:30",
      "15 Nov, 18:30",
      "16 Nov, 00:30",
    ]);
  });

  it("keeps exact instants in its file, and says in which time they are", () => {
    kolkata();
    const { series, points } = shown("month", now);
    const lines = csvOf(series, points).split("\n");
    expect(lines[0]).toMatch(/^at \(UTC\),/);
    expect(lines[1]).toMatch(/^2026-10-22T19:00:00\.000Z,/);
  });
});

describe("history, where clocks are changed", () => {
  it("has a day of 25 hours and one of 23, and every other begins at midnight", () => {
    process.env.TZ = "Europe/Berlin";
    for (const [now, changed, hours] of [
      ["2026-11-10T12:00:00Z", "25 Oct", 25],
      ["2026-04-10T12:00:00Z", "29 Mar", 23],
    ] as const) {
      const { series, points, said } = shown("month", Date.parse(now));
      expect(new Set(said).size, "no day comes twice").toBe(30);
      expect(points.map((point) => new Date(point.at).getHours())).toEqual(points.map(() => 0));
      const at = said.indexOf(changed);
      expect((Date.parse(points[at + 1]?.at ?? "") - Date.parse(points[at]?.at ?? "")) / HOUR).toBe(hours);
      expect(series.points.length, "as many as the core gives at once").toBeLessThanOrEqual(31 * 24);
    }
  });

  it("tells the hour that comes twice with how far it is from UTC", () => {
    process.env.TZ = "Europe/Berlin";
    const { said } = shown("day", Date.parse("2026-10-25T12:10:00Z"));
    expect(said.filter((one) => one.startsWith("25 Oct, 02:00"))).toEqual([
      "25 Oct, 02:00 (UTC+2)",
      "25 Oct, 02:00 (UTC+1)",
    ]);
    expect(new Set(said).size, "every hour has a name of its own").toBe(said.length);
    expect(said).toContain("25 Oct, 03:00");
  });

  it("leaves the hour out that does not come", () => {
    process.env.TZ = "America/New_York";
    const { said } = shown("day", Date.parse("2026-03-08T18:10:00Z"));
    expect(said.filter((one) => /^8 Mar, 0[123]/.test(one))).toEqual(["8 Mar, 01:00", "8 Mar, 03:00"]);
  });
});

it("history in UTC is as it is stored", () => {
  process.env.TZ = "UTC";
  const { points, said } = shown("month", STORY_NOW);
  expect([said.length, said.at(-1), minutesOff(points)]).toEqual([30, "21 Nov", 0]);
});
