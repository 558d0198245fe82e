/* Text of forms that are generated from a server's schema. Names, titles and descriptions of fields are the server's. */
import { count, plural } from "$lib/format/count";

export const formText = {
  asForm: "Use the form",
  asJson: "Write it as JSON",
  optional: "Optional",
  yes: "Yes",
  no: "No",
  choose: "Choose one",
  clear: "Clear",
  noValue: "No value",
  jsonHint: "Any JSON value",
  jsonLabel: "The answer as JSON",
  noFields: "There is nothing to fill in.",
  shapeless: "The server lists no fields; write the answer as JSON.",
  secret: "Looks like a secret",
  secretBanner: (server: string) =>
    `${server} asks for something that looks like a secret. Servers must not ask for secrets in a form.`,
  secretWhat: "Decline if you are not sure. What you type is not shown, saved as a draft or logged.",
  inJson: "The JSON view leaves out secrets.",
  filled: (n: number, of: number) => `${count(n)} of ${count(of)} filled in`,
  nextProblem: (n: number) => `Next of ${count(n)} to correct`,
  toCorrect: (n: number) => `${plural(n, "field")} to correct`,
  jsonBroken: (line: number, column: number) => `This is not valid JSON: see line ${line}, column ${column}.`,
  notObject: "The answer must be one JSON object with a value for each field.",
  problemsAt: "Problems",

  problem: {
    missing: "This field is required.",
    unknown: "The form has no such field.",
    null: "Must not be null.",
    text: "Must be text.",
    shorter: (n: number) => `Must have at least ${plural(n, "character")}.`,
    longer: (n: number, over: number) =>
      `Must have at most ${plural(n, "character")}; this is ${count(over)} too many.`,
    email: "Must be an email address, such as name@example.org.",
    uri: "Must be an address with a scheme, such as https://example.org.",
    date: "Must be a date, such as 2026-11-21.",
    dateTime: "Must be a date and time with a zone, such as 2026-11-21T03:25:00Z.",
    number: "Must be a number with a decimal point, such as 1.5.",
    whole: "Must be a whole number.",
    unsafe: "Too large to be sent exactly.",
    least: (n: number) => `Must be ${n} or more.`,
    most: (n: number) => `Must be ${n} or less.`,
    above: (n: number) => `Must be more than ${n}.`,
    below: (n: number) => `Must be less than ${n}.`,
    boolean: "Must be true or false.",
    one: "Must be one of the choices.",
    list: "Must be a list.",
    ofMany: "Contains a value that is not one of the choices.",
    fewer: (n: number) => `Choose at least ${n}.`,
    moreThan: (n: number) => `Choose at most ${n}.`,
    json: (line: number, column: number) => `Must be valid JSON: see line ${line}, column ${column}.`,
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
    `The first ${count(n)} of ${count(of)} choices. To give another one, use the JSON view.`,
  showAll: (n: number, isAll: boolean) => (isAll ? "Show fewer" : `Show all ${count(n)} choices`),
  dateTimeHint: "In your time zone",
} as const;
