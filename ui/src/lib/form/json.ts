/* JSON as a type, and reading what people type as JSON. Keys come from servers: `__proto__` is a key like any other,
   so objects are read with `own` and written with `put` only. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What an object itself holds; nothing of its prototype. */
export function own<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The object with one key set, or without it when the value is undefined. The order of keys stays. */
export function put<T>(object: Readonly<Record<string, T>>, key: string, value: T | undefined): Record<string, T> {
  if (value !== undefined && !Object.hasOwn(object, key)) return { ...object, [key]: value };
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, held]) =>
      name !== key ? [[name, held]] : value === undefined ? [] : [[key, value]],
    ),
  );
}

/** Whatever came over the wire, as JSON: what JSON cannot hold becomes null. */
export function asJson(value: unknown): Json {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return value.map(asJson);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, asJson(held)]));
  return null;
}

export function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

export type Read =
  { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly line: number; readonly column: number };

/** What was typed, or the place where it stops being JSON. The engines' own messages repeat the text; ours does not. */
export function readJson(text: string): Read {
  try {
    return { ok: true, value: asJson(JSON.parse(text)) };
  } catch {
    return { ok: false, ...place(text, brokenAt(text)) };
  }
}

export function pretty(value: Json): string {
  return JSON.stringify(value, null, 2);
}

/** Text for one line of a sentence: no longer than `cap`. */
export function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function place(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The first place that no JSON can have. A plain walk over tokens; it builds nothing. */
function brokenAt(text: string): number {
  let at = 0;
  const space = () => {
    while (/[ \t\n\r]/.test(text.charAt(at))) at += 1;
  };
  const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
  const quoted = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  // Each entry is the closing sign that is waited for; no recursion, so depth costs no stack.
  const open: ("}" | "]")[] = [];
  let wants: "value" | "first" | "after" | "key" = "value";
  for (;;) {
    space();
    const sign = text.charAt(at);
    const closing = open.at(-1);
    if (wants === "after") {
      if (closing === undefined) return at;
      if (sign === closing) {
        open.pop();
        at += 1;
        continue;
      }
      if (sign !== ",") return at;
      at += 1;
      wants = closing === "}" ? "key" : "value";
      continue;
    }
    if (wants === "first" && sign === closing) {
      open.pop();
      at += 1;
      wants = "after";
      continue;
    }
    if (wants === "key" || (wants === "first" && closing === "}")) {
      if (!take(quoted)) return at;
      space();
      if (text.charAt(at) !== ":") return at;
      at += 1;
      wants = "value";
      continue;
    }
    if (sign === "{" || sign === "[") {
      open.push(sign === "{" ? "}" : "]");
      at += 1;
      wants = "first";
      continue;
    }
    if (!take(quoted) && !take(literal)) return at;
    wants = "after";
  }
}
