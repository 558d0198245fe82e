/* Headers of a new collector as they are typed, what is wrong with them, and which field an error of the core names. */
import type { ApiError, SinkDto } from "$lib/bindings";
import { sentence } from "$lib/actions";
import { COLLECTORS } from "$lib/text/audit/collectors";

/** As `sink_headers_max` of the core. */
export const HEADERS_MAX = 16;

export interface TypedHeader {
  readonly id: number;
  name: string;
  value: string;
}

/** `url`, `headers`, the id of one header, or null where it is about no field. */
export interface FieldProblem {
  readonly field: "url" | "headers" | number | null;
  /** Of a header: which half. */
  readonly part: "name" | "value";
  readonly message: string;
}

const isEmpty = ({ name, value }: TypedHeader) => name.trim() === "" && value === "";
const sameName = (name: string) => name.trim().toLowerCase();

/** Values by name, without lines that are empty. */
export function byName(headers: readonly TypedHeader[]): Record<string, string> {
  return Object.fromEntries(headers.filter((one) => !isEmpty(one)).map(({ name, value }) => [name.trim(), value]));
}

/** The first header that cannot be sent as it stands. */
export function headerProblem(headers: readonly TypedHeader[]): FieldProblem | null {
  const text = COLLECTORS.form;
  const seen = new Set<string>();
  for (const header of headers) {
    if (isEmpty(header)) continue;
    const field = header.id;
    if (header.name.trim() === "") return { field, part: "name", message: text.nameMissing };
    if (seen.has(sameName(header.name))) return { field, part: "name", message: text.twice };
    if (header.value.trim() === "") return { field, part: "value", message: text.valueMissing };
    seen.add(sameName(header.name));
  }
  return null;
}

/** Whether a collector takes everything that it is sent. */
export const takesAll = (sink: SinkDto) => sink.signals.every((signal) => signal.trouble === null);

/** A message without the field of the call that it begins with. */
export const withoutField = (message: string) => message.replace(/^`\w+`: /, "");

/** Where an error of `audit.addSink` belongs. */
export function coreProblem({ message, hint }: ApiError, headers: readonly TypedHeader[]): FieldProblem {
  const said = sentence(withoutField(message));
  const named = /the header `([^`]*)` (?:has a|has no) (name|value)|the header `([^`]*)`/.exec(message);
  const name = named?.[1] ?? named?.[3];
  const header = name === undefined ? undefined : headers.find((one) => sameName(one.name) === sameName(name));
  if (header) return { field: header.id, part: named?.[2] === "value" ? "value" : "name", message: said };
  const field = (["url", "headers"] as const).find((one) => message.startsWith(`\`${one}\`: `));
  return field ? { field, part: "name", message: said } : { field: null, part: "name", message: `${said} ${hint}` };
}
