/* Whether a draft fits its form. Each problem names the field and its place; it never repeats what was typed. The core
   checks again, and the server has the last word: this is for the person's convenience. */
import { formText } from "$lib/text/form";
import type { Draft } from "./draft";
import { own, readJson, type Json } from "./json";
import type { Control, Model } from "./schema";

export interface Problem {
  /** Null for the answer as a whole. */
  readonly field: string | null;
  /** As in JSON Pointer: `/regions/1`. */
  readonly path: string;
  readonly message: string;
}

const words = formText.problem;

export function validate(model: Model, draft: Draft): readonly Problem[] {
  const problems: Problem[] = [];
  const add = (field: string, message: string, deeper = "") =>
    problems.push({ field, path: `${pathOf(field)}${deeper}`, message });
  for (const field of model.fields) {
    const typed = own(draft.typed, field.name);
    const value = own(draft.values, field.name);
    if (typed !== undefined) add(field.name, ofTyped(field.control, typed));
    else if (value === undefined) {
      if (field.required) add(field.name, words.missing);
    } else if (value === null) {
      if (!field.nullable && !takesNull(field.control)) add(field.name, words.null);
    } else {
      const broken = ofValue(field.control, value);
      if (broken !== null) add(field.name, broken.message, broken.deeper);
    }
  }
  if (!model.open) {
    const known = new Set(model.fields.map((field) => field.name));
    for (const name of Object.keys(draft.values)) if (!known.has(name)) add(name, words.unknown);
  }
  return problems;
}

export function pathOf(name: string): string {
  return `/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
}

/** What was typed and cannot be a value. */
function ofTyped(control: Control, typed: string): string {
  if (control.kind !== "json") return words.number;
  const read = readJson(typed);
  return read.ok ? words.number : words.json(read.line, read.column);
}

interface Broken {
  readonly message: string;
  readonly deeper?: string;
}
const broken = (message: string, deeper = ""): Broken => ({ message, deeper });

function ofValue(control: Control, value: Json): Broken | null {
  switch (control.kind) {
    case "text":
      return typeof value === "string" ? ofText(control, value) : broken(words.text);
    case "number":
      return typeof value === "number" ? ofNumber(control, value) : broken(words.number);
    case "boolean":
      return typeof value === "boolean" ? null : broken(words.boolean);
    case "one":
      return control.options.some((option) => option.value === value) ? null : broken(words.one);
    case "many":
      return Array.isArray(value) ? ofMany(control, value) : broken(words.list);
    case "json":
      return ofTypes(control.types, value);
    default:
      control satisfies never;
      return null;
  }
}

function ofText(control: Extract<Control, { kind: "text" }>, value: string): Broken | null {
  // Characters, not UTF-16 units: an emoji counts once.
  const length = Array.from(value).length;
  if (control.min !== null && length < control.min) return broken(words.shorter(control.min));
  if (control.max !== null && length > control.max) return broken(words.longer(control.max, length - control.max));
  return ofFormat(control.format, value);
}

function ofFormat(format: string | null, value: string): Broken | null {
  switch (format) {
    case "email":
      return /^[^\s@]+(?:@[^\s@]+)*@[^\s@]*[^\s@.]$/.test(value) ? null : broken(words.email);
    case "uri":
    case "url":
      return /^[a-z][a-z0-9+.-]*:\S+$/i.test(value) ? null : broken(words.uri);
    case "date":
      return isDate(value) ? null : broken(words.date);
    case "date-time":
      return isDateTime(value) ? null : broken(words.dateTime);
    default:
      return null;
  }
}

export function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const at = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
}

function isDateTime(value: string): boolean {
  const [, date] =
    /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/.exec(value) ?? [];
  return date !== undefined && isDate(date) && !Number.isNaN(Date.parse(value.replace(" ", "T")));
}

function ofNumber(control: Extract<Control, { kind: "number" }>, value: number): Broken | null {
  if (control.whole && !Number.isInteger(value)) return broken(words.whole);
  if (control.whole && !Number.isSafeInteger(value)) return broken(words.unsafe);
  if (control.min !== null && value < control.min) return broken(words.least(control.min));
  if (control.max !== null && value > control.max) return broken(words.most(control.max));
  if (control.above !== null && value <= control.above) return broken(words.above(control.above));
  if (control.below !== null && value >= control.below) return broken(words.below(control.below));
  return null;
}

function ofMany(control: Extract<Control, { kind: "many" }>, value: readonly Json[]): Broken | null {
  const stranger = value.findIndex((one) => !control.options.some((option) => option.value === one));
  if (stranger >= 0) return broken(words.ofMany, `/${stranger}`);
  if (control.min !== null && value.length < control.min) return broken(words.fewer(control.min));
  if (control.max !== null && value.length > control.max) return broken(words.moreThan(control.max));
  return null;
}

function ofTypes(types: readonly string[], value: Json): Broken | null {
  if (types.length === 0 || types.some((word) => isOf(word, value))) return null;
  return broken(words.types(types.map(formText.typeWord).join(" or ")));
}

function isOf(word: string, value: Json): boolean {
  switch (word) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "string":
    case "number":
    case "boolean":
      return typeof value === word;
    default:
      return true;
  }
}

/** A schema that says nothing about types takes null too. */
function takesNull(control: Control): boolean {
  return control.kind === "json" && control.types.length === 0;
}
