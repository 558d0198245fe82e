import { describe, expect, test } from "vitest";
import { figure, progressFigures } from "./progress-figures";

const facts = (done: number | null, total: number | null, over = false) => ({
  progress: { done, total, message: null },
  elapsedMs: 0,
  over,
});
const MINUTE = 60_000;

describe("the figures of a task at work", () => {
  test("share_rate_and_time_left_follow_from_what_the_server_reported", () => {
    expect(progressFigures(facts(25, 100), 5 * MINUTE)).toEqual({
      share: 0.25,
      done: 25,
      total: 100,
      perMinute: 5,
      leftMs: 15 * MINUTE,
    });
  });

  test("without_enough_data_there_is_no_rate_and_no_time_left", () => {
    expect(progressFigures(facts(25, 100), 20_000)).toMatchObject({ perMinute: null, leftMs: null });
    expect(progressFigures(facts(2, 100), 5 * MINUTE)).toMatchObject({ share: 0.02, leftMs: null });
    expect(progressFigures(facts(7, null), 5 * MINUTE)).toMatchObject({ share: null, leftMs: null });
    const paused = { kind: "frozen" as const, since: "" };
    expect(progressFigures({ ...facts(25, 100), paused }, 5 * MINUTE), "it stands still").toMatchObject({
      leftMs: null,
    });
    expect(progressFigures(facts(25, 100, true), 5 * MINUTE)).toMatchObject({ perMinute: null, leftMs: null });
  });

  test("figures_that_cannot_be_true_are_no_share", () => {
    expect(progressFigures(facts(5, 0), MINUTE)?.share).toBeNull();
    expect(progressFigures(facts(5, -1), MINUTE)).toMatchObject({ share: null, total: null });
    expect(progressFigures(facts(150, 100), MINUTE)?.share).toBe(1);
    expect(progressFigures({ progress: null, elapsedMs: 0, over: false }, MINUTE)).toBeNull();
  });

  test("figures_are_short", () => {
    expect([1204, 12.34, 0.123, 5, 1e300].map(figure)).toEqual(["1,204", "12.3", "0.12", "5", "1.0e+300"]);
  });
});
