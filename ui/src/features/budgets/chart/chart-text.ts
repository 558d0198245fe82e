/* What the chart says of one part of time, and the same figures as a file. Pure. */
import type { ChartDto, ChartPoint } from "$lib/bindings";
import { tokens } from "$lib/format/tokens";
import { budgetsText } from "$lib/text/budgets";

const text = budgetsText.history;

/** Nothing is known of it: counting did not run, which is not the same as nothing. */
export const isGap = (point: ChartPoint): boolean => point.countedHours === 0;

export const cameIn = (point: ChartPoint): string =>
  isGap(point) ? text.unknown : tokens(point.tokens, point.exactness);
export const keptOut = (point: ChartPoint): string =>
  isGap(point) ? text.unknown : tokens(point.keptOut, point.keptOutExactness);

/** What a part lacks, where counting ran in some of its hours only. */
export function lacks(point: ChartPoint): string | null {
  if (isGap(point)) return text.gap;
  return point.countedHours < point.hours ? text.partly(point.countedHours, point.hours) : null;
}

/** A part in one sentence, for those who hear it. */
export function spoken(point: ChartPoint, when: string): string {
  if (isGap(point)) return `${when}: ${text.gap}`;
  const lack = lacks(point);
  return `${when}: ${text.spoken(cameIn(point), keptOut(point))}${lack === null ? "" : `. ${lack}`}`;
}

export const isEmpty = (chart: ChartDto): boolean => chart.tokens === 0 && chart.keptOut === 0;

/** Plain numbers in words of the core: nothing in a line needs quotes. Instants are exact, in UTC, as the column says. A part
    that nobody measured has no figures. */
export function csvOf(points: readonly ChartPoint[]): string {
  const columns = "at (UTC),tokens,exactness,passed,keptOut,keptOutExactness,messages,countedHours,hours";
  const lines = points.map((point) =>
    [
      point.at,
      ...(isGap(point)
        ? ["", "", "", "", "", ""]
        : [point.tokens, point.exactness, point.passed, point.keptOut, point.keptOutExactness, point.messages]),
      point.countedHours,
      point.hours,
    ].join(","),
  );
  return `${[columns, ...lines].join("\n")}\n`;
}
