/* What an answer says, in the words of its form: shown once more before it goes to a destructive call. Secrets stay
   hidden, and long values are cut. Pure. */
import { singleLine } from "$lib/design/text/plain-text";
import { titleOf } from "$lib/form/field-text";
import { own, type Json } from "$lib/form/json";
import type { Draft } from "$lib/form/draft";
import type { Field, Model } from "$lib/form/schema";
import { inboxText } from "$lib/text/inbox";

export interface AnswerLine {
  readonly label: string;
  readonly value: string;
}

/** Judgement: as many as are read before a decision; a longer form says how many there are besides. */
export const LINES_SHOWN = 8;
const VALUE_CAP = 120;
const words = inboxText.confirm;

/** One line for each value that would be sent. */
export function answerLines(model: Model, draft: Draft): readonly AnswerLine[] {
  const known = model.fields.flatMap((field): AnswerLine[] => {
    const value = own(draft.values, field.name);
    return value === undefined ? [] : [{ label: titleOf(field), value: said(field, value) }];
  });
  const names = new Set(model.fields.map((field) => field.name));
  const others = Object.entries(draft.values).filter(([name]) => !names.has(name));
  return [...known, ...others.map(([name, value]) => ({ label: singleLine(name, VALUE_CAP), value: plain(value) }))];
}

function said(field: Field, value: Json): string {
  const { control } = field;
  if (field.secret) return words.hidden;
  if (typeof value === "boolean") return value ? inboxText.act.yes : inboxText.act.no;
  if (control.kind === "one") return titled(control.options, value);
  if (control.kind === "many" && Array.isArray(value))
    return value.length === 0
      ? words.nothing
      : singleLine(value.map((one) => titled(control.options, one)).join(", "), VALUE_CAP);
  return plain(value);
}

function titled(options: readonly { readonly value: Json; readonly title: string }[], value: Json): string {
  const option = options.find((one) => one.value === value);
  return option === undefined ? plain(value) : singleLine(option.title, VALUE_CAP);
}

function plain(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return singleLine(text, VALUE_CAP) || words.nothing;
}
