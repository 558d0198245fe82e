/* Times of day between the form (local, without a zone) and the answer (ISO 8601 with its zone). */

/** `2026-11-21T03:25` in the person's zone as `2026-11-21T02:25:00.000Z`; what is no such text stays as it is. */
export function fromLocalTime(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/.test(text)) return text;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

/** The other way round, for the control. */
export function toLocalTime(value: string): string {
  if (!/(?:Z|[+-]\d{2}:\d{2})$/i.test(value)) return value;
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return value;
  const two = (n: number) => String(n).padStart(2, "0");
  const seconds = at.getSeconds() === 0 ? "" : `:${two(at.getSeconds())}`;
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
}
