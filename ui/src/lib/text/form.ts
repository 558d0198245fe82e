/* The words of forms made from a server's schema. Names, titles and descriptions in them are the server's. */
import { count, plural } from "$lib/format/count";

export const formText = {
  view: "How you answer",
  form: "Form",
  json: "JSON",
  optional: "Optional",
  yes: "Yes",
  no: "No",
  choose: "Choose one",
  clear: "Clear",
  noValue: "No value",
  jsonHint: "Any JSON value",
  jsonLabel: "The answer as JSON",
  noFields: "There is nothing to fill in.",
  shapeless: "There is no list of fields; write the answer as JSON.",
  secret: "Looks like a secret",
  secretBanner: (server: string) =>
    `${server} asks for something that looks like a secret. Servers must not ask for secrets in a form.`,
  secretWhat: "Decline if you are not sure. What you type in it is not shown, kept as a draft or logged.",
  inJson: "Secrets stay out of the JSON view.",
  toCorrect: (n: number) => `${plural(n, "field")} to correct`,
  jsonBroken: (line: number, column: number) => `This is not JSON: look at line ${line}, column ${column}.`,
  notObject: "The answer is one JSON object with a value for each field.",
  problemsAt: "What does not fit",

  problem: {
    missing: "Needs an answer.",
    unknown: "The form has no such field.",
    null: "Needs a value, not null.",
    text: "Must be text.",
    shorter: (n: number) => `Needs at least ${plural(n, "character")}.`,
    longer: (n: number, over: number) => `Takes at most ${plural(n, "character")}; these are ${count(over)} too many.`,
    email: "Needs an e-mail address, such as name@example.org.",
    uri: "Needs an address with its scheme, such as https://example.org.",
    date: "Needs a date, such as 2026-11-21.",
    dateTime: "Needs a date and a time with its zone, such as 2026-11-21T03:25:00Z.",
    number: "Is not a number. Write it with a point, such as 1.5.",
    whole: "Needs a whole number.",
    unsafe: "Is too large to be sent exactly.",
    least: (n: number) => `Must be ${n} or more.`,
    most: (n: number) => `Must be ${n} or less.`,
    above: (n: number) => `Must be more than ${n}.`,
    below: (n: number) => `Must be less than ${n}.`,
    boolean: "Must be true or false.",
    one: "Must be one of the choices.",
    list: "Must be a list.",
    ofMany: "Holds something that is none of the choices.",
    fewer: (n: number) => `Choose at least ${n}.`,
    moreThan: (n: number) => `Choose at most ${n}.`,
    json: (line: number, column: number) => `Is not JSON: look at line ${line}, column ${column}.`,
    types: (words: string) => `Must be ${words}.`,
  },
  typeWord: (word: string) =>
    ({
      object: "an object",
      array: "a list",
      string: "text",
      number: "a number",
      integer: "a whole number",
      boolean: "true or false",
    })[word] ?? word,
  range: (min: number | null, max: number | null) =>
    min !== null && max !== null
      ? `${min} to ${max}`
      : min !== null
        ? `${min} or more`
        : max !== null
          ? `Up to ${max}`
          : null,
  length: (max: number) => `Up to ${plural(max, "character")}`,
  moreFields: (n: number) => `Show ${plural(n, "more field")}`,
  listed: (n: number, of: number) =>
    `The first ${count(n)} of ${count(of)}; any other can be written in the JSON view.`,
  showAll: (n: number, isAll: boolean) => (isAll ? "Show fewer" : `Show all ${count(n)} choices`),
  dateTimeHint: "In your time zone",
} as const;
