/* The limits of storage as people type them: days, gigabytes and numbers of tasks. Pure. */
import type { SetStorage, StorageLimitsDto } from "$lib/bindings";

const DAY_MS = 86_400_000;
const GB = 1_000_000_000;

export const LIMIT_FIELDS = [
  "payloadAgeMs",
  "payloadBytes",
  "agentPayloadBytes",
  "serverPayloadBytes",
  "taskAgeMs",
  "tasks",
  "agentTasks",
  "serverTasks",
  "receiptAgeMs",
  "receipts",
  "auditAgeMs",
] as const;
export type LimitField = (typeof LIMIT_FIELDS)[number];
/** The limits to set, null for what stays. */
export type LimitChanges = Omit<SetStorage, "preview">;
export type LimitDraft = Readonly<Record<LimitField, string>>;

/** What one unit of the field is of what is stored. */
export function unitOf(field: LimitField): { unit: "days" | "size" | "count" | "calls"; size: number } {
  if (field.endsWith("AgeMs")) return { unit: "days", size: DAY_MS };
  if (field === "receipts") return { unit: "calls", size: 1 };
  return field.endsWith("Bytes") ? { unit: "size", size: GB } : { unit: "count", size: 1 };
}

/** Days, tasks, or gigabytes with at most two digits after the point. */
export function shownLimit(field: LimitField, value: number): string {
  const units = value / unitOf(field).size;
  return String(Math.round(units * 100) / 100);
}

export function draftOf(limits: StorageLimitsDto): LimitDraft {
  return Object.fromEntries(LIMIT_FIELDS.map((field) => [field, shownLimit(field, limits[field])])) as Record<
    LimitField,
    string
  >;
}

/** Null for what is no number above zero. */
export function readLimit(field: LimitField, typed: string): number | null {
  const text = typed.trim().replace(",", ".");
  const units = Number(text);
  if (text === "" || !Number.isFinite(units) || units <= 0) return null;
  return Math.round(units * unitOf(field).size);
}

/** Only what was typed anew: a rounded figure must not change what it stands for. */
export function changesOf(limits: StorageLimitsDto, draft: LimitDraft): LimitChanges | null {
  const changed = Object.fromEntries(
    LIMIT_FIELDS.map((field) => [
      field,
      draft[field].trim() === shownLimit(field, limits[field]) ? null : readLimit(field, draft[field]),
    ]),
  ) as unknown as LimitChanges;
  return LIMIT_FIELDS.some((field) => changed[field] !== null) ? changed : null;
}
