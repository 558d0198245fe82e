import { describe, expect, it } from "vitest";
import type { SpanTimes } from "$lib/bindings";
import { chartShape, errorShare, niceTop, replyTime } from "./reply-times";

const step = (medianMs: number | null, failed = 0): SpanTimes => {
  const calls = { count: 1, failed, medianMs, p95Ms: medianMs === null ? null : medianMs * 2 };
  return { from: "2026-11-21T08:00:00.000Z", calls, polls: { count: 0, failed: 0, medianMs: null, p95Ms: null } };
};

describe("how a server does", () => {
  it("shows a rate that never rounds an error away", () => {
    expect(errorShare(0, 0)).toBe("–");
    expect(errorShare(0, 9_000)).toBe("0 %");
    expect(errorShare(1, 9_000)).toBe("under 0.1 %");
    expect(errorShare(7, 844)).toBe("0.8 %");
    expect(errorShare(9_999, 10_000)).toBe("over 99.9 %");
    expect(errorShare(5, 5)).toBe("100 %");
  });

  it("shows reply times as finely as they differ", () => {
    expect([0.4, 38, 999, 1_234, 64_000].map(replyTime)).toEqual([
      "under 1 ms",
      "38 ms",
      "999 ms",
      "1.2 s",
      "1 min 4 s",
    ]);
    expect([0, 7, 184, 501, 1_001].map(niceTop)).toEqual([2, 10, 200, 1_000, 2_000]);
  });

  it("is drawn with a gap where nothing was asked, and a mark where something failed", () => {
    const shape = chartShape([step(10), step(20), step(null, 1), step(40)], "calls", 400, 100);
    expect(shape.median.match(/M/g), "two pieces").toHaveLength(2);
    expect(shape.errors).toEqual([250]);
    expect(shape.topMs).toBe(100);
    expect(chartShape([], "calls", 400, 100)).toEqual({ median: "", band: "", errors: [], topMs: 2 });
  });
});
