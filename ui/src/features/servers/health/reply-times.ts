/* Reply times and error rates as text, and the shape of their chart. Pure. */
import type { SpanTimes } from "$lib/bindings";
import { duration } from "$lib/format/time";

/** Milliseconds below a second, tenths below ten seconds: there they differ. */
export function replyTime(lengthMs: number): string {
  if (lengthMs < 1) return "under 1 ms";
  if (lengthMs < 1_000) return `${Math.round(lengthMs)} ms`;
  return lengthMs < 9_950 ? `${(lengthMs / 1_000).toFixed(1)} s` : duration(lengthMs);
}

/** The share of failed requests; nothing without a request, and never 0 % when one failed. */
export function errorShare(failed: number, all: number): string {
  if (all === 0) return "–";
  const percent = (failed / all) * 100;
  if (failed > 0 && percent < 0.1) return "under 0.1 %";
  if (failed < all && percent > 99.9) return "over 99.9 %";
  return `${percent < 10 && failed > 0 ? percent.toFixed(1) : Math.round(percent)} %`;
}

export interface ChartShape {
  /** The lines of the middle and of 95 %, in pieces: where nothing was asked, there is a gap. */
  readonly median: string;
  readonly band: string;
  /** Places of steps with a failure. */
  readonly errors: readonly number[];
  readonly topMs: number;
}

const NICE = [2, 4, 10];

/** The next 2, 4 or 10 of a power of ten: the line at half of it has a round figure too. */
export function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return power * (NICE.find((step) => step * power >= most) ?? 20);
}

export function chartShape(
  steps: readonly SpanTimes[],
  kind: "calls" | "polls",
  width: number,
  height: number,
): ChartShape {
  const topMs = niceTop(Math.max(1, ...steps.map((step) => step[kind].p95Ms ?? 0)));
  const x = (at: number) => ((at + 0.5) * width) / Math.max(1, steps.length);
  const y = (lengthMs: number) => height - (lengthMs / topMs) * height;
  const fixed = (value: number) => value.toFixed(1);
  let median = "";
  let band = "";
  let run: { at: number; median: number; p95: number }[] = [];
  const flush = (): void => {
    const [first] = run;
    if (first === undefined) return;
    // One step alone is drawn as wide as a step, or it could not be seen.
    const half = width / Math.max(1, steps.length) / 2;
    const points =
      run.length === 1
        ? [
            { ...first, at: -half },
            { ...first, at: half },
          ]
        : run;
    const place = (point: { at: number }) => (run.length === 1 ? x(first.at) + point.at : x(point.at));
    const line = (pick: (point: (typeof points)[number]) => number) =>
      points.map((point) => `${fixed(place(point))} ${fixed(y(pick(point)))}`);
    median += `M${line((point) => point.median).join("L")}`;
    band += `M${line((point) => point.p95).join("L")}L${line((point) => point.median)
      .reverse()
      .join("L")}Z`;
    run = [];
  };
  steps.forEach((step, at) => {
    const { medianMs, p95Ms } = step[kind];
    if (medianMs === null || p95Ms === null) flush();
    else run.push({ at, median: medianMs, p95: p95Ms });
  });
  flush();
  return { median, band, topMs, errors: steps.flatMap((step, at) => (step[kind].failed > 0 ? [x(at)] : [])) };
}
