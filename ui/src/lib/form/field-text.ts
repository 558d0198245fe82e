/* Text beside a control: the server's words, cut so that the form stays usable, and ours. */
import { singleLine, plainText } from "$lib/design";
import { formText } from "$lib/text/form";
import type { Field } from "./schema";

const TITLE_CAP = 160;
const DESCRIPTION_CAP = 1_000;

export function titleOf(field: Field): string {
  return singleLine(field.title, TITLE_CAP) || singleLine(field.name, TITLE_CAP) || formText.noValue;
}

export function hintOf(field: Field): string | null {
  const said = field.description === null ? "" : plainText(field.description.slice(0, DESCRIPTION_CAP)).trim();
  const { control } = field;
  // The server's own words often name the range already.
  const range =
    said !== ""
      ? null
      : control.kind === "number"
        ? formText.range(control.min, control.max)
        : control.kind === "text" && control.max !== null
          ? formText.length(control.max)
          : null;
  const kind =
    control.kind === "json"
      ? formText.jsonHint
      : control.kind === "text" && control.format === "date-time"
        ? formText.dateTimeHint
        : null;
  const parts = [said, range, kind, field.required ? null : formText.optional, field.secret ? formText.secret : null];
  return parts.filter((part) => part !== null && part !== "").join(" · ") || null;
}
