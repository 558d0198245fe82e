/* The arguments of an earlier call in one line. Pure; values may be anybody's text. */
import { singleLine } from "$lib/design/text/plain-text";

/** Longest value and longest line: what a menu shows. */
const VALUE_CAP = 40;
const LINE_CAP = 110;

export function argumentsLine(values: object): string {
  const parts = Object.entries(values).map(([name, value]) => `${singleLine(name, VALUE_CAP)}: ${valueText(value)}`);
  return singleLine(parts.join(", "), LINE_CAP);
}

function valueText(value: unknown): string {
  return singleLine(typeof value === "string" ? value : JSON.stringify(value), VALUE_CAP);
}
