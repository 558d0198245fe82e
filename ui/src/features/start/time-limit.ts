/* A length of time as a person writes it: `90 s`, `20 min`, `1 h 30 min`, `2 d`; a bare number is minutes. Pure. */

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  seconds: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
};
const SHORTEST_MS = 1_000;
const LONGEST_MS = 365 * 86_400_000;

export type Limit =
  | { readonly kind: "none" }
  | { readonly kind: "ms"; readonly ms: number }
  | { readonly kind: "bad" | "short" | "long" };

export function readLimit(typed: string): Limit {
  const text = typed.trim().toLowerCase();
  if (text === "") return { kind: "none" };
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 60_000 : sum(text);
  if (ms === null || !Number.isFinite(ms)) return { kind: "bad" };
  const whole = Math.round(ms);
  if (whole < SHORTEST_MS) return { kind: "short" };
  return whole > LONGEST_MS ? { kind: "long" } : { kind: "ms", ms: whole };
}

function sum(text: string): number | null {
  const part = /\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y;
  let total = 0;
  for (let at = 0; at < text.length; at = part.lastIndex) {
    part.lastIndex = at;
    const found = part.exec(text);
    const unit = UNITS[found?.[2] ?? ""];
    if (found === null || unit === undefined) return null;
    total += Number(found[1]) * unit;
  }
  return total;
}
