/* What a person has filled in so far: values as they would be sent, and beside them what was typed and is no value
   yet. Plain and unchangeable; every step returns a new draft. It knows no component and keeps nothing (drafts at the
   desk are the inbox's). */
import { isObject, own, put, readJson, same, type Json, type JsonObject } from "./json";
import type { Control, Field, Model } from "./schema";

export interface Draft {
  readonly values: JsonObject;
  /** By field: text in a number or JSON field that cannot be read. It blocks sending. */
  readonly typed: Readonly<Record<string, string>>;
}

export const EMPTY: Draft = { values: {}, typed: {} };

/** The server's suggestions, never for fields that look like secrets. */
export function newDraft(model: Model): Draft {
  let values: JsonObject = {};
  for (const field of model.fields) if (field.initial !== undefined) values = put(values, field.name, field.initial);
  return { values, typed: {} };
}

export function set(draft: Draft, name: string, value: Json | undefined): Draft {
  return { values: put(draft.values, name, value), typed: put(draft.typed, name, undefined) };
}

/** Emptied: left out, or null where the form demands an answer and null is one. */
export function cleared(draft: Draft, field: Field): Draft {
  return set(draft, field.name, field.required && field.nullable ? null : undefined);
}

/** Text typed into the control of a field. */
export function type(draft: Draft, field: Field, text: string): Draft {
  if (text === "") return cleared(draft, field);
  switch (field.control.kind) {
    case "number": {
      const number = readNumber(text);
      return number === null ? unread(draft, field.name, text) : set(draft, field.name, number);
    }
    case "json": {
      const read = readJson(text);
      return read.ok ? set(draft, field.name, read.value) : unread(draft, field.name, text);
    }
    case "text":
    case "boolean":
    case "one":
    case "many":
      return set(draft, field.name, text);
    default:
      field.control satisfies never;
      return draft;
  }
}

function unread(draft: Draft, name: string, text: string): Draft {
  return { values: put(draft.values, name, undefined), typed: put(draft.typed, name, text) };
}

/** Plain decimal writing only: what a person means by `1,5` or `0x10` is not for us to guess. */
export function readNumber(text: string): number | null {
  const trimmed = text.trim();
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed)) return null;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : null;
}

/** What the control of a field shows as text. */
export function textOf(draft: Draft, field: Field): string {
  const typed = own(draft.typed, field.name);
  if (typed !== undefined) return typed;
  const value = own(draft.values, field.name);
  if (value === undefined || (value === null && field.control.kind !== "json")) return "";
  if (field.control.kind === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Chosen ones of a field with several choices, in the order of the form. None chosen is no answer where none is needed. */
export function toggled(
  draft: Draft,
  field: Field,
  control: Extract<Control, { kind: "many" }>,
  value: Json,
  on: boolean,
): Draft {
  const held = own(draft.values, field.name);
  const chosen = Array.isArray(held) ? held : [];
  const next = control.options
    .map((option) => option.value)
    .filter((one) => (one === value ? on : chosen.includes(one)));
  return next.length === 0 && !field.required ? set(draft, field.name, undefined) : set(draft, field.name, next);
}

/** The JSON view's object becomes the draft. Null when it is none. */
export function fromJson(value: Json): Draft | null {
  return isObject(value) ? { values: value as JsonObject, typed: {} } : null;
}

export function sameDraft(one: Draft, other: Draft): boolean {
  return same(one.values, other.values) && same(one.typed, other.typed);
}

/** Without the fields that look like secrets: what may be kept or shown as JSON. */
export function withoutSecrets(draft: Draft, model: Model): Draft {
  return model.fields.filter((field) => field.secret).reduce((kept, field) => set(kept, field.name, undefined), draft);
}

/** A kept draft as it came back from the desk; null when it is none of ours. */
export function readDraft(value: unknown): Draft | null {
  if (!isObject(value)) return null;
  const values = own(value, "values");
  const typed = own(value, "typed");
  if (!isObject(values)) return null;
  const texts = isObject(typed)
    ? Object.entries(typed).filter((entry): entry is [string, string] => typeof entry[1] === "string")
    : [];
  return { values: values as JsonObject, typed: Object.fromEntries(texts) };
}
