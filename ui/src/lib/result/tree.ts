/* JSON as a tree of rows: only what is unfolded becomes rows, so that a result of any size costs what is looked at.
   Numbers keep their spelling, because 12345678901234567890 is no double. Pure; JsonTree.svelte renders it. */
import { count as formatCount } from "$lib/format/count";

export type Json = null | boolean | number | string | ExactNumber | readonly Json[] | { readonly [key: string]: Json };

/** A number whose digits a double cannot hold. */
export class ExactNumber {
  constructor(readonly source: string) {}
}

export interface TreeRow {
  /** The path, which is unique. */
  readonly id: string;
  readonly depth: number;
  /** Null for the root. */
  readonly key: string | null;
  readonly kind: "object" | "array" | "string" | "number" | "boolean" | "null" | "more";
  /** A scalar as JSON, or what a folded value holds. For `more`: how many are left. */
  readonly text: string;
  readonly open: boolean;
  readonly canOpen: boolean;
  readonly position: number;
  readonly siblings: number;
}

/** Members shown of one value before the rest is asked for. */
export const MEMBERS_STEP = 100;
/** Levels shown at most; a deeper value is shown as text. Hostile results nest by the thousand. */
export const DEPTH_MAX = 64;
/** Characters of one scalar in its row; the whole is one click away. */
export const SCALAR_CAP_CHARS = 400;
/** Rows that unfold by themselves at first. */
const FIRST_ROWS = 40;

/** How many members of each unfolded value are shown, by path. */
export type Unfolded = ReadonlyMap<string, number>;

/** Null when it is not JSON. */
export function parseJson(text: string): { readonly value: Json } | null {
  try {
    return { value: JSON.parse(text, keepNumber) as Json };
  } catch {
    return null;
  }
}

/* The third argument is new in browsers; where it is missing, large numbers are shown as doubles. */
function keepNumber(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source || Math.abs(value) < Number.MAX_SAFE_INTEGER
    ? value
    : new ExactNumber(context.source);
}

export function rowsOf(root: Json, unfolded: Unfolded): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  add(rows, unfolded, { value: root, id: "$", key: null, depth: 0, position: 1, siblings: 1 });
  return rows;
}

interface Place {
  readonly value: Json;
  readonly id: string;
  readonly key: string | null;
  readonly depth: number;
  readonly position: number;
  readonly siblings: number;
}

function add(rows: TreeRow[], unfolded: Unfolded, place: Place): void {
  const { value, id, key, depth, position, siblings } = place;
  const kind = kindOf(value);
  const base = { id, depth, key, kind, position, siblings };
  if (kind !== "object" && kind !== "array") {
    rows.push({ ...base, text: scalar(value), open: false, canOpen: false });
    return;
  }
  const count = memberCount(value);
  const canOpen = count > 0 && depth < DEPTH_MAX;
  const shown = canOpen ? unfolded.get(id) : undefined;
  rows.push({ ...base, text: holds(value, kind, count), open: shown !== undefined, canOpen });
  if (shown === undefined) return;
  const members = membersOf(value, shown);
  members.forEach(([name, member], at) => {
    add(rows, unfolded, {
      value: member,
      id: childPath(id, kind === "array" ? at : name),
      key: name,
      depth: depth + 1,
      position: at + 1,
      siblings: count,
    });
  });
  if (members.length < count) {
    rows.push({
      id: `${id}…`,
      depth: depth + 1,
      key: null,
      kind: "more",
      text: String(count - members.length),
      open: false,
      canOpen: false,
      position: members.length + 1,
      siblings: count,
    });
  }
}

export function kindOf(value: Json): Exclude<TreeRow["kind"], "more"> {
  if (value === null) return "null";
  if (value instanceof ExactNumber || typeof value === "number") return "number";
  if (Array.isArray(value)) return "array";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "boolean" : "object";
}

function memberCount(value: Json): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

function membersOf(value: Json, most: number): readonly (readonly [string, Json])[] {
  if (Array.isArray(value)) return value.slice(0, most).map((member: Json, at) => [String(at), member] as const);
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return [];
  const object = value as { readonly [key: string]: Json };
  return Object.keys(object)
    .slice(0, most)
    .map((name) => [name, object[name] ?? null] as const);
}

function scalar(value: Json): string {
  const text = value instanceof ExactNumber ? value.source : JSON.stringify(value);
  return text.length > SCALAR_CAP_CHARS ? `${text.slice(0, SCALAR_CAP_CHARS)}…` : text;
}

function holds(value: Json, kind: "object" | "array", count: number): string {
  if (count === 0) return kind === "array" ? "[]" : "{}";
  if (kind === "array") return `[${formatCount(count)}]`;
  const names = membersOf(value, 4).map(([name]) => name);
  const list = names.join(", ");
  return `{${list.length > 60 ? `${list.slice(0, 60)}…` : list}${count > names.length && list.length <= 60 ? ", …" : ""}}`;
}

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `$.a[0]["b c"]`, as most tools read it. */
export function childPath(parent: string, key: string | number): string {
  if (typeof key === "number") return `${parent}[${key}]`;
  return PLAIN_KEY.test(key) ? `${parent}.${key}` : `${parent}[${JSON.stringify(key)}]`;
}

/** The value at a path that `rowsOf` made; undefined when there is none. */
export function valueAt(root: Json, id: string): Json | undefined {
  let value: Json | undefined = root;
  let at = 1;
  while (at < id.length && value !== undefined) {
    const found: { key: string; end: number } | null = nextKey(id, at);
    if (found === null) return undefined;
    value = member(value, found.key);
    at = found.end;
  }
  return value;
}

function nextKey(id: string, at: number): { key: string; end: number } | null {
  const rest = id.slice(at);
  const plain = /^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\])/.exec(rest);
  if (plain !== null) return { key: plain[1] ?? plain[2] ?? "", end: at + plain[0].length };
  const quoted = /^\[("(?:[^"\\]|\\.)*")\]/.exec(rest);
  if (quoted === null) return null;
  return { key: JSON.parse(quoted[1] ?? '""') as string, end: at + quoted[0].length };
}

function member(value: Json, key: string): Json | undefined {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return undefined;
  if (Array.isArray(value)) return value[Number(key)] as Json | undefined;
  return Object.hasOwn(value, key) ? (value as { readonly [key: string]: Json })[key] : undefined;
}

/** A value as pretty JSON, numbers as they came. */
export function written(value: Json): string {
  const held: string[] = [];
  const mark = "\u0001number:";
  const text = JSON.stringify(
    value,
    (_key, one: unknown) => (one instanceof ExactNumber ? `${mark}${held.push(one.source) - 1}` : one),
    2,
  );
  return held.length === 0
    ? text
    : text.replace(/"\\u0001number:(\d+)"/g, (_all, at: string) => held[Number(at)] ?? "null");
}

/** Small values open by themselves, large ones show their outline. */
export function firstUnfolded(root: Json): Unfolded {
  const unfolded = new Map<string, number>();
  let queue: readonly string[] = ["$"];
  let rows = 1;
  while (queue.length > 0) {
    const next: string[] = [];
    for (const id of queue) {
      const value = valueAt(root, id);
      const count = value === undefined ? 0 : memberCount(value);
      if (count === 0) continue;
      if (id !== "$" && rows + count > FIRST_ROWS) continue;
      unfolded.set(id, MEMBERS_STEP);
      rows += Math.min(count, MEMBERS_STEP);
      if (value !== undefined)
        next.push(
          ...membersOf(value, MEMBERS_STEP).map(([name], at) => childPath(id, Array.isArray(value) ? at : name)),
        );
    }
    queue = rows > FIRST_ROWS ? [] : next;
  }
  return unfolded;
}
