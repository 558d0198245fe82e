/* Which rows of the audit log are shown, and the address that keeps it: `#/audit?actor=person&verb=halted`. Pure.
   Names in the address that mean nothing are ignored; wrong values go to the core, which says what is wrong with them. */
import type { AuditFilterDto } from "$lib/bindings";

export const NO_FILTER: AuditFilterDto = {
  first: null,
  last: null,
  since: null,
  until: null,
  actor: null,
  verbs: [],
  subject: null,
  server: null,
  agent: null,
  task: null,
  text: null,
};

const WORDS = ["since", "until", "actor", "subject", "server", "agent", "task", "text"] as const;
const NUMBERS = ["first", "last"] as const;
/** Nothing that a row has is longer. */
const VALUE_CAP = 500;

/** What is chosen together, in the order of the chips. */
export const CONDITIONS = ["time", "actor", "verbs", "subject", "server", "agent", "task", "text", "rows"] as const;
export type Condition = (typeof CONDITIONS)[number];
const FIELDS: Readonly<Record<Condition, readonly (keyof AuditFilterDto)[]>> = {
  time: ["since", "until"],
  actor: ["actor"],
  verbs: ["verbs"],
  subject: ["subject"],
  server: ["server"],
  agent: ["agent"],
  task: ["task"],
  text: ["text"],
  rows: ["first", "last"],
};

export function readFilter(search: string): AuditFilterDto {
  const given = new URLSearchParams(search);
  const filter: AuditFilterDto = { ...NO_FILTER, verbs: [...new Set(given.getAll("verb").map(value).filter(Boolean))] };
  for (const name of WORDS) filter[name] = value(given.get(name) ?? "") || null;
  for (const name of NUMBERS) {
    const digits = given.get(name) ?? "";
    if (/^\d{1,15}$/.test(digits)) filter[name] = Number(digits);
  }
  return filter;
}

export function writeFilter(filter: AuditFilterDto): string {
  const address = new URLSearchParams();
  for (const name of WORDS) if (filter[name] !== null) address.set(name, filter[name]);
  for (const verb of filter.verbs) address.append("verb", verb);
  for (const name of NUMBERS) if (filter[name] !== null) address.set(name, String(filter[name]));
  return address.toString();
}

export function conditions(filter: AuditFilterDto): Condition[] {
  return CONDITIONS.filter((one) => FIELDS[one].some((field) => field in filter && isSet(filter[field])));
}

export function without(filter: AuditFilterDto, condition: Condition): AuditFilterDto {
  const empty = Object.fromEntries(FIELDS[condition].map((field) => [field, NO_FILTER[field]]));
  return { ...filter, ...empty };
}

const isSet = (field: AuditFilterDto[keyof AuditFilterDto]) =>
  Array.isArray(field) ? field.length > 0 : field !== null;
const value = (text: string) => text.trim().slice(0, VALUE_CAP);

/** A time of the filter for a field of the person's clock: `2026-11-21T14:30`; empty for none. */
export function toField(time: string | null): string {
  const at = new Date(time ?? NaN);
  if (Number.isNaN(at.getTime())) return "";
  const two = (part: number) => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** What a field of the person's clock says, in UTC as the core takes it; null for nothing. */
export function fromField(field: string): string | null {
  const at = new Date(field);
  return Number.isNaN(at.getTime()) ? null : at.toISOString().replace(/\.000Z$/, "Z");
}
