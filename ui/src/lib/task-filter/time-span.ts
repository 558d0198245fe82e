/* Spans of time as people type them: 90s, 10m, 2h, 3d, 1w. Pure. */
const UNITS = [
  ["w", 604_800_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;
/** Longer ones mean the same as none (judgement: ten years). */
const LONGEST_MS = 3_650 * 86_400_000;

/** Null when it is no span. */
export function readSpan(text: string): number | null {
  const found = /^(\d{1,6})(w|d|h|min|m|s)$/i.exec(text.trim());
  if (!found) return null;
  const unit = (found[2] ?? "").toLowerCase().replace("min", "m");
  const size = UNITS.find(([name]) => name === unit)?.[1] ?? 0;
  const span = Number(found[1]) * size;
  return span > 0 && span <= LONGEST_MS ? span : null;
}

/** In the largest unit that is whole: 90,000 ms is "90s". */
export function writeSpan(ms: number): string {
  const fit = UNITS.find(([, size]) => ms >= size && ms % size === 0);
  return fit ? `${ms / fit[1]}${fit[0]}` : `${Math.max(1, Math.round(ms / 1_000))}s`;
}
