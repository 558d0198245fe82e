/* The plan in the result of the demo's tool. It is a server's data: what is not of this form is no plan, and what is
   shown of one is cut. */
import type { PartDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";

export type SortedBy = "kind" | "month" | "none";

export interface PlannedFolder {
  readonly name: string;
  readonly count: number;
  readonly files: readonly string[];
}

export interface DemoPlan {
  readonly sortedBy: SortedBy;
  readonly wouldMove: number;
  readonly folders: readonly PlannedFolder[];
  /** Folders that are not shown. */
  readonly more: number;
}

/** Judgement: a plan is read at a glance here; the result has all of it. */
const FOLDERS_SHOWN = 6;
const FILES_SHOWN = 12;
const NAME_CAP = 80;

/** What is said instead of a plan. Judgement: a paragraph. */
const SAID_CAP = 400;

export function planOf(parts: readonly PartDto[]): DemoPlan | null {
  const data = dataOf(parts.find((part) => part.kind === "structured"));
  const sortedBy = (["kind", "month", "none"] as const).find((one) => one === member(data, "sortedBy"));
  const wouldMove = whole(member(data, "wouldMove"));
  const folders = member(data, "folders");
  if (sortedBy === undefined || wouldMove === null || !Array.isArray(folders)) return null;
  const read = folders.slice(0, FOLDERS_SHOWN).flatMap((one: unknown): PlannedFolder[] => {
    const [name, count, files] = [member(one, "folder"), whole(member(one, "count")), member(one, "files")];
    if (typeof name !== "string" || count === null || !Array.isArray(files)) return [];
    const names = files.slice(0, FILES_SHOWN).filter((file): file is string => typeof file === "string");
    return [{ name: singleLine(name, NAME_CAP), count, files: names.map((file) => singleLine(file, NAME_CAP)) }];
  });
  return { sortedBy, wouldMove, folders: read, more: folders.length - read.length };
}

/** The words of a result, for where it is no plan. */
export function saidIn(parts: readonly PartDto[]): string | null {
  const said = singleLine(parts.find((part) => part.kind === "text")?.preview ?? "", SAID_CAP);
  return said === "" ? null : said;
}

/** A part that was cut is no data. */
function dataOf(part: PartDto | undefined): unknown {
  if (part === undefined || part.cut) return null;
  try {
    return JSON.parse(part.preview) as unknown;
  } catch {
    return null;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function whole(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
