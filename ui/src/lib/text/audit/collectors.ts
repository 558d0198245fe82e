/* Text of the collectors that get each row of the audit log. */
import { count, plural } from "$lib/format/count";

const wait = (rows: number) => `${plural(rows, "row")} ${rows === 1 ? "waits" : "wait"}`;

export const COLLECTORS = {
  title: "Collectors",
  hint: "Each row of the log is sent to these addresses over OpenTelemetry (OTLP), soon after it was written. What a collector does not take waits here.",
  failed: "The list could not be loaded.",
  sent: (rows: number, when: string) => `Sent up to row ${count(rows)}, ${when}.`,
  nothingSent: "Nothing sent yet.",
  waiting: (rows: number) => `${wait(rows)}.`,
  trouble: (why: string) => `The collector ${why}.`,
  retried: "It is tried again automatically.",
  paused: "Paused: nothing is sent until you choose Send again.",
  firstFailed: (when: string) => `First failed ${when}.`,
  skipped: (rows: number) =>
    `${plural(rows, "row")} ${rows === 1 ? "was" : "were"} removed by retention before ${rows === 1 ? "it was" : "they were"} sent.`,
  rejected: (rows: number, since: string | null) =>
    `It rejected ${plural(rows, "row")}${since === null ? "" : `, first ${since}`}: ${rows === 1 ? "it is" : "they are"} not there and not sent again.`,
  newValue: (name: string) => `New value of ${name}`,
  newValueHint: "Leave it empty to use the stored value.",
  again: "Send again",
  againOne: (url: string) => `Send again to ${url}`,
  takes: (url: string) => `${url} takes rows.`,
  stillFails: (url: string) => `${url} does not take rows.`,
  remove: "Remove…",
  removeOne: (url: string) => `Remove ${url}`,
  removed: (url: string) => `Nothing more is sent to ${url}.`,
  question: {
    title: "Remove this collector?",
    lost: (rows: number) =>
      rows === 0
        ? "It has no rows waiting. New rows are not sent to it."
        : `${wait(rows)} and will not be sent. New rows are not sent either.`,
    headers: (names: string) => `Its stored headers are deleted: ${names}.`,
    stays: "Rows that it has stay there, and all rows stay in this log.",
    keep: "Keep it",
    go: "Remove",
  },
  form: {
    title: "Add a collector",
    url: "Address",
    urlHint: "It begins with https://, or http:// on this machine. Keys belong in a header.",
    example: "https://collector.example:4318",
    headers: "Headers",
    headersHint:
      "Sent with each request, for example to sign in. The values are kept with the secrets and never shown.",
    addHeader: "Add header",
    name: "Header name",
    value: "Secret value",
    drop: (name: string) => (name === "" ? "Remove the header" : `Remove ${name}`),
    nameMissing: "Enter the name of the header.",
    valueMissing: "Enter the value. It is not kept here once it was sent.",
    twice: "This header is there already.",
    rows: "Rows to send",
    first: { new: "New rows", kept: "All rows that are kept" },
    add: "Add",
    added: (url: string) => `Rows are sent to ${url}.`,
    addedFails: (url: string) => `${url} is added, but does not take rows yet.`,
  },
};
