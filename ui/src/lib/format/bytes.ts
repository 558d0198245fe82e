/* Sizes as people read them: 820 B, 12 kB, 3.4 MB. Powers of ten, as file managers show them. */
const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function bytes(count: number): string {
  if (!Number.isFinite(count) || count < 0) return "";
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 9.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? "B"}`;
}
