/* What stands on the screen of budgets, worked out: who is found, how something that comes in stands, sums of spend, and
   the file of figures. Pure. */
import type { BudgetDto, ComingDto, ExactnessDto, Phase, SeriesDto, SeriesPoint, SourcePart } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { PHASES } from "$lib/task/phase";
import { least } from "$lib/format/tokens";
import { budgetsText } from "$lib/text/budgets";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The last day, by the hour. */
export const DAY = { spanMs: DAY_MS, stepMs: HOUR_MS } as const;

export interface ComingLook {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
}

export function comingLook(one: ComingDto, free: number | null): ComingLook {
  const words = budgetsText.coming;
  switch (one.state) {
    case "held":
      return { tone: "attention", icon: "hand", word: isOver(one, free) ? words.heldOver : words.held };
    case "slices":
      return { tone: "neutral", icon: "file", word: words.slices };
    case "working": {
      const { tone, icon, word } = PHASES[isPhase(one.phase) ? one.phase : "running"];
      return { tone, icon, word: words.working(word, one.percent) };
    }
    case "ready":
      return { tone: "neutral", icon: "down-tray", word: words.ready };
    default:
      return one.state satisfies never;
  }
}

const isPhase = (word: string | null): word is Phase => word !== null && Object.hasOwn(PHASES, word);

/** It does not fit into what is seen to be free. */
export const isOver = (one: ComingDto, free: number | null): boolean =>
  free !== null && one.tokens !== null && one.tokens > free;

/** By name; the first ones. */
export function namesFound<T extends { readonly name: string }>(
  all: readonly T[],
  typed: string,
  most: number,
): readonly T[] {
  const words = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found: T[] = [];
  for (const one of all) {
    if (found.length >= most) break;
    if (words.every((word) => one.name.toLowerCase().includes(word))) found.push(one);
  }
  return found;
}

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

export const inPoint = (sources: readonly SourcePart[]): number => sources.reduce((sum, part) => sum + part.tokens, 0);

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

/** Rows where they stood, new ones after them: what is sorted otherwise meanwhile does not move under a pointer. `places`:
    their agents as they stood; none for the order they come in. */
export function inPlace(places: readonly string[], budgets: readonly BudgetDto[]): readonly BudgetDto[] {
  const at = new Map(places.map((id, place) => [id, place]));
  const placeOf = (one: BudgetDto) => at.get(one.agentId) ?? places.length;
  return [...budgets].sort((one, other) => placeOf(one) - placeOf(other));
}

/** Those beyond the core's list that were looked up, at the end. */
export function together(
  listed: readonly BudgetDto[],
  looked: ReadonlyMap<string, BudgetDto>,
  ids: readonly string[],
): readonly BudgetDto[] {
  const wanted = new Set(ids);
  const known = listed.filter((one) => wanted.has(one.agentId));
  const have = new Set(known.map((one) => one.agentId));
  return [...known, ...ids.flatMap((id) => (have.has(id) ? [] : (looked.get(id) ?? [])))];
}
