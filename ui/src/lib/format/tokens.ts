/* The one formatter of tokens: no figure without its mark. Exact ones are written out, estimates and bounds are short:
   163,208 · ≈ 118k · ≤ 71k. Pure; the words of families and exactness are in text/budgets. */
import type { ExactnessDto, SourceDto, SourcePart } from "$lib/bindings";
import { count } from "./count";

const MARKS: Readonly<Record<ExactnessDto, string>> = { exact: "", about: "≈ ", atMost: "≤ " };
const ORDER: readonly ExactnessDto[] = ["exact", "about", "atMost"];

export function tokens(value: number, exactness: ExactnessDto): string {
  return `${markOf(value, exactness)}${exactness === "exact" ? count(value) : short(value, exactness === "atMost")}`;
}

/** Always short, for cells and sentences that have no room: 61k, ≈ 118k. */
export function shortTokens(value: number, exactness: ExactnessDto): string {
  return `${markOf(value, exactness)}${short(value, exactness === "atMost")}`;
}

/** Nothing is nothing, however it is counted. */
const markOf = (value: number, exactness: ExactnessDto): string => (value === 0 ? "" : MARKS[exactness]);

/** A size that somebody set, such as that of a window: 200k, 1M; written out where short would not be true. */
export function size(value: number): string {
  return value >= 1_000 && value % 1_000 === 0 ? short(value, false, 3) : count(value);
}

/** A sum is as exact as its least exact part. */
export function least(parts: Iterable<ExactnessDto>): ExactnessDto {
  let at = 0;
  for (const part of parts) at = Math.max(at, ORDER.indexOf(part));
  return ORDER[at] ?? "atMost";
}

/** Three figures at most: 900, 6.1k, 118k, 1.84M. A bound is rounded up, so that it stays one. */
function short(value: number, up: boolean, figures = 2): string {
  const round = up ? Math.ceil : Math.round;
  if (value < 1_000) return String(round(value));
  const steps = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const;
  const at = Math.max(
    0,
    steps.findIndex(([unit]) => value >= unit),
  );
  const [unit, letter] = steps[at] ?? [1e3, "k"];
  const scaled = value / unit;
  const digits =
    letter === "k"
      ? scaled < 10
        ? 1
        : scaled < 100 && figures > 2
          ? 1
          : 0
      : Math.max(0, (figures > 2 ? 3 : 2) - (scaled >= 100 ? 2 : scaled >= 10 ? 1 : 0));
  const factor = 10 ** digits;
  const rounded = round(Math.round(scaled * factor * 1e6) / 1e6) / factor;
  const above = steps[at - 1];
  if (rounded >= 1_000 && above) return `1${above[1]}`;
  return `${rounded}${letter}`;
}

/** What is left beside a figure, or its share of another one: what is not exact is about, since a bound does not stay one. */
export const roughly = (exactness: ExactnessDto): ExactnessDto => (exactness === "exact" ? "exact" : "about");

/** "6.0 %", "≈ 6.0 %"; nothing of nothing is nothing. `exactness` is that of the part: a bound is rounded up, so that it
    stays one against a whole that is set. */
export function share(part: number, whole: number, exactness: ExactnessDto): string {
  if (whole <= 0) return "";
  const tenths = (1_000 * part) / whole;
  return `${markOf(part, exactness)}${((exactness === "atMost" ? roundedUp(tenths) : Math.round(tenths)) / 10).toFixed(1)} %`;
}

/** "81 %", "≤ 72 %": what fills of what it may fill, in whole percent; down, so that nothing is full before it is, but a bound
    up. */
export function percent(part: number, whole: number, exactness: ExactnessDto): string {
  const full = (100 * part) / whole;
  return `${markOf(part, exactness)}${count(exactness === "atMost" ? roundedUp(full) : Math.floor(full))} %`;
}

/** Up, but not for what the machine's own fractions add. */
const roundedUp = (value: number): number => Math.ceil(Math.round(value * 1e6) / 1e6);

/** What bars and lists tell apart. The gateway's own tools are tool definitions too. */
export type ShownSource = "tools" | "arguments" | "results" | "handles" | "prompts";
export const SHOWN_SOURCES: readonly ShownSource[] = ["tools", "arguments", "results", "handles", "prompts"];

const SHOWN_AS: Readonly<Record<SourceDto, ShownSource>> = {
  tools: "tools",
  ownTools: "tools",
  arguments: "arguments",
  results: "results",
  handles: "handles",
  prompts: "prompts",
};

export interface ShownPart {
  readonly source: ShownSource;
  readonly tokens: number;
  /** Passed to the program. */
  readonly passed: number;
  readonly exactness: ExactnessDto;
}

/** All of them in their order, those with nothing too. */
export function shownParts(parts: readonly SourcePart[]): readonly ShownPart[] {
  return SHOWN_SOURCES.map((source) => {
    const own = parts.filter((part) => SHOWN_AS[part.source] === source);
    return {
      source,
      tokens: own.reduce((sum, part) => sum + part.tokens, 0),
      passed: own.reduce((sum, part) => sum + part.passed, 0),
      exactness: least(own.filter((part) => part.tokens > 0).map((part) => part.exactness)),
    };
  });
}

/** What somebody typed as a number of tokens: 20000, 20,000, 20 000, 20k, 1.5M. Null for anything else. */
export function readTokens(typed: string): number | null {
  const text = typed.trim().toLowerCase();
  const unit = { k: 1e3, m: 1e6 }[text.slice(-1)];
  const body = (unit === undefined ? text : text.slice(0, -1)).trim();
  const plain = /^\d{1,3}(?:[,\s_']\d{3})+$/.test(body) ? body.replace(/[,\s_']/g, "") : body;
  if (!/^\d{1,12}(?:\.\d{1,6})?$/.test(plain)) return null;
  const value = Math.round(Number(plain) * (unit ?? 1) * 1e6) / 1e6;
  return Number.isInteger(value) && value >= 1 && value <= TOKENS_MAX ? value : null;
}

/** More than any window has; what is larger is a slip. Judgement. */
export const TOKENS_MAX = 1_000_000_000;
