/* A server's schema as fields to show (protocol 2.8). Strings, numbers, booleans, one of several, some of several; what
   is none of these is a field of any JSON value, so that a strange schema is still answered and nothing breaks.
   It checks nothing (validation.ts) and holds no values (draft.ts). All text in here is the server's. */
import { asJson, isObject, own, type Json } from "./json";

export interface Option {
  readonly value: Json;
  readonly title: string;
}

export type Control =
  | {
      readonly kind: "text";
      readonly format: string | null;
      readonly min: number | null;
      readonly max: number | null;
      readonly long: boolean;
    }
  | {
      readonly kind: "number";
      readonly whole: boolean;
      readonly min: number | null;
      readonly max: number | null;
      readonly above: number | null;
      readonly below: number | null;
    }
  | { readonly kind: "boolean" }
  | { readonly kind: "one"; readonly options: readonly Option[] }
  | {
      readonly kind: "many";
      readonly options: readonly Option[];
      readonly min: number | null;
      readonly max: number | null;
    }
  | { readonly kind: "json"; readonly types: readonly string[] };

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string | null;
  readonly required: boolean;
  /** Null is a value of its own. */
  readonly nullable: boolean;
  /** Looks like a secret: no default, no draft, typed unseen. */
  readonly secret: boolean;
  /** What the server suggests. */
  readonly initial: Json | undefined;
  readonly control: Control;
}

export interface Model {
  readonly fields: readonly Field[];
  /** Whether values beside the fields are welcome. */
  readonly open: boolean;
  /** The schema names no fields at all: only the JSON view can answer. */
  readonly shapeless: boolean;
}

/** Longer text gets several lines (judgement: more than a line of the form holds). */
const LONG_FROM = 160;
/** Formats that schemas use for text of several lines. */
const LINES = new Set(["textarea", "multiline", "markdown"]);

export interface ReadOptions {
  /** Names of fields that look like secrets, as the core found them. */
  readonly secretFields?: readonly string[];
  /** Elicitation is closed: an answer has the fields that were asked for. Tool arguments are open unless they say no. */
  readonly kind: "question" | "arguments";
}

export function readSchema(schema: unknown, options: ReadOptions): Model {
  const root = isObject(schema) ? schema : {};
  const properties = own(root, "properties");
  const named = isObject(properties) ? Object.entries(properties) : [];
  const required = new Set(strings(own(root, "required")));
  const secrets = new Set(options.secretFields ?? []);
  return {
    fields: named.map(([name, rule]) =>
      readField(name, isObject(rule) ? rule : {}, required.has(name), secrets.has(name), options.kind),
    ),
    open: options.kind === "arguments" ? own(root, "additionalProperties") !== false : !isObject(properties),
    shapeless: named.length === 0,
  };
}

type Rule = Readonly<Record<string, unknown>>;

function readField(name: string, rule: Rule, required: boolean, named: boolean, kind: ReadOptions["kind"]): Field {
  const secret = named || text(rule, "format") === "password" || own(rule, "writeOnly") === true;
  const initial = own(rule, "default");
  const constant = own(rule, "const");
  return {
    name,
    title: text(rule, "title") || name,
    description: text(rule, "description"),
    required,
    nullable:
      types(rule).includes("null") ||
      branches(rule).some((branch) => own(branch, "type") === "null" || own(branch, "const") === null) ||
      values(rule).includes(null),
    secret,
    initial: secret
      ? undefined
      : initial !== undefined && initial !== null
        ? asJson(initial)
        : constant !== undefined && required
          ? asJson(constant)
          : undefined,
    control: readControl(inner(rule), secret, kind),
  };
}

/** `anyOf: [{…}, {type: "null"}]` is the first one, nullable. */
function inner(rule: Rule): Rule {
  const real = branches(rule).filter((branch) => own(branch, "type") !== "null");
  const [only] = real;
  if (
    own(rule, "type") === undefined &&
    only !== undefined &&
    real.length === 1 &&
    branches(rule).length === 2 &&
    own(only, "const") === undefined
  )
    return only;
  return rule;
}

function readControl(rule: Rule, secret: boolean, kind: ReadOptions["kind"]): Control {
  const options = readOptions(rule);
  if (options !== null) return { kind: "one", options };
  const words = types(rule).filter((word) => word !== "null");
  const [word] = words;
  const json: Control = { kind: "json", types: words };
  if (words.length !== 1) return json;
  switch (word) {
    case "string": {
      const max = amount(rule, "maxLength");
      const format = text(rule, "format");
      return {
        kind: "text",
        format,
        min: amount(rule, "minLength"),
        max,
        long: !secret && hasLines(rule, kind, max),
      };
    }
    case "number":
    case "integer":
      return {
        kind: "number",
        whole: word === "integer",
        min: limit(rule, "minimum"),
        max: limit(rule, "maximum"),
        above: limit(rule, "exclusiveMinimum"),
        below: limit(rule, "exclusiveMaximum"),
      };
    case "boolean":
      return { kind: "boolean" };
    case "array": {
      const items = own(rule, "items");
      const of = isObject(items) ? readOptions(items) : null;
      return of === null
        ? json
        : { kind: "many", options: of, min: amount(rule, "minItems"), max: amount(rule, "maxItems") };
    }
    default:
      return json;
  }
}

/** `enum` with or without `enumNames`, `oneOf` or `anyOf` of constants. Null when a branch is no plain constant. */
function readOptions(rule: Rule): readonly Option[] | null {
  const names = own(rule, "enumNames");
  const listed = values(rule);
  if (listed.length > 0) {
    if (!listed.every((value) => value === null || isPlain(value))) return null;
    const titled = listed.map((value, at) => ({
      value,
      title: (Array.isArray(names) ? words(names[at]) : null) ?? String(value),
    }));
    return distinct(titled.filter((option) => option.value !== null));
  }
  const given = branches(rule).filter((branch) => own(branch, "const") !== null && own(branch, "type") !== "null");
  const options = given.map((branch) => ({
    value: asJson(own(branch, "const")),
    title: text(branch, "title") ?? String(own(branch, "const")),
  }));
  if (options.length === 0 || !given.every((branch) => isPlain(own(branch, "const")))) return null;
  return distinct(options);
}

function distinct(options: readonly Option[]): readonly Option[] | null {
  const seen = new Set<Json>();
  const once = options.filter((option) => !seen.has(option.value) && seen.add(option.value));
  return once.length === 0 ? null : once;
}

function branches(rule: Rule): readonly Rule[] {
  const given = own(rule, "oneOf") ?? own(rule, "anyOf");
  return Array.isArray(given) ? given.map((branch: unknown) => (isObject(branch) ? branch : {})) : [];
}

function values(rule: Rule): readonly Json[] {
  const given = own(rule, "enum");
  return Array.isArray(given) ? given.map(asJson) : [];
}

function types(rule: Rule): readonly string[] {
  const given = own(rule, "type");
  if (typeof given === "string") return [given];
  return strings(given);
}

/** Arguments stand on one line unless the schema says otherwise: a path may be 4,096 characters long and has no lines. In
    an answer, room for many characters is room for a text. */
function hasLines(rule: Rule, kind: ReadOptions["kind"], max: number | null): boolean {
  const format = text(rule, "format");
  if (format !== null) return LINES.has(format);
  if (text(rule, "contentMediaType")?.startsWith("text/") === true || isLines(own(rule, "default"))) return true;
  return kind === "question" && (max ?? 0) >= LONG_FROM;
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isLines(value: unknown): boolean {
  return typeof value === "string" && (value.includes("\n") || value.length >= LONG_FROM);
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one: unknown) => typeof one === "string") : [];
}

function words(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function text(rule: Rule, key: string): string | null {
  return words(own(rule, key));
}

function amount(rule: Rule, key: string): number | null {
  const given = limit(rule, key);
  return given !== null && Number.isInteger(given) && given >= 0 ? given : null;
}

function limit(rule: Rule, key: string): number | null {
  const given = own(rule, key);
  return typeof given === "number" && Number.isFinite(given) ? given : null;
}
