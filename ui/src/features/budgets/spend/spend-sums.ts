/* Sums of spend over time, and the same figures as a file. Pure. */
import type { ExactnessDto, SeriesDto, SeriesPoint, SourcePart } from "$lib/bindings";
import { least } from "$lib/format/tokens";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The last day, by the hour. */
export const DAY = { spanMs: DAY_MS, stepMs: HOUR_MS } as const;

export interface Sums {
  readonly sources: readonly SourcePart[];
  readonly tokens: number;
  readonly keptOut: number;
  readonly messages: number;
}

export function sumsOf(points: readonly SeriesPoint[]): Sums {
  const bySource = new Map<SourcePart["source"], { tokens: number; passed: number; exactness: ExactnessDto }>();
  let keptOut = 0;
  let messages = 0;
  for (const point of points) {
    keptOut += point.keptOut;
    messages += point.messages;
    for (const part of point.sources) {
      const held = bySource.get(part.source);
      // A source that brought nothing yet says nothing of how exact it is.
      const exactness =
        part.tokens === 0 ? (held?.exactness ?? "exact") : least([part.exactness, held?.exactness ?? "exact"]);
      bySource.set(part.source, {
        tokens: (held?.tokens ?? 0) + part.tokens,
        passed: (held?.passed ?? 0) + part.passed,
        exactness,
      });
    }
  }
  const sources = [...bySource].map(([source, sum]) => ({ source, ...sum }));
  return { sources, tokens: sources.reduce((sum, part) => sum + part.tokens, 0), keptOut, messages };
}

export const tokensOf = (sources: readonly SourcePart[]): number => sources.reduce((sum, part) => sum + part.tokens, 0);

const COLUMNS: readonly SourcePart["source"][] = ["tools", "ownTools", "arguments", "results", "handles", "prompts"];

/** The figures as a file, with the columns of `taskwarden budget --history HOURS --csv`: plain numbers, with how exact and in
    which tokenizers in every line. Each begins at an exact instant, in UTC, as its column says. Words of the core alone:
    nothing in a line needs quotes. */
export function csvOf(series: Pick<SeriesDto, "exactness" | "families">, points: readonly SeriesPoint[]): string {
  const families = series.families.join(" ");
  const lines = points.map((point) => [
    point.at,
    ...COLUMNS.map((source) => point.sources.find((part) => part.source === source)?.tokens ?? 0),
    point.keptOut,
    point.messages,
    series.exactness,
    families,
  ]);
  return [["at (UTC)", ...COLUMNS, "keptOut", "messages", "exactness", "families"], ...lines]
    .map((line) => `${line.join(",")}\n`)
    .join("");
}
