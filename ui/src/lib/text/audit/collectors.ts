/* Text of the collectors that get rows of the audit log and tasks that ended. */
import { count, plural } from "$lib/format/count";

const rejected = (many: string, one: boolean, since: string | null) =>
  `It rejected ${many}${since === null ? "" : `, first ${since}`}: ${one ? "it is" : "they are"} not there and not sent again.`;
const wait = (rows: number) => `${plural(rows, "row")} ${rows === 1 ? "waits" : "wait"}`;

export const COLLECTORS = {
  title: "Collectors",
  hint: "Programs that gather logs. They get rows of the log, or tasks that ended, over OpenTelemetry (OTLP). What one does not take waits here.",
  failed: "The list could not be loaded.",
  signal: {
    logs: {
      title: "Rows",
      sent: (row: number, when: string) => `Sent up to row ${count(row)}, ${when}.`,
      rejected: (rows: number, since: string | null) => rejected(plural(rows, "row"), rows === 1, since),
    },
    traces: {
      title: "Tasks",
      sent: (row: number, when: string) => `Sent those that ended up to row ${count(row)}, last ${when}.`,
      rejected: (tasks: number, since: string | null) => rejected(plural(tasks, "task"), tasks === 1, since),
    },
  },
  nothingSent: "Nothing sent yet.",
  waiting: (rows: number) => `${wait(rows)}.`,
  trouble: (why: string) => `The collector ${why}.`,
  retried: "It is tried again automatically.",
  paused: "Paused: nothing is sent until you choose Send again.",
  firstFailed: (when: string) => `First failed ${when}.`,
  skipped: (rows: number) =>
    `${plural(rows, "row")} ${rows === 1 ? "was" : "were"} removed as too old before ${rows === 1 ? "it was" : "they were"} sent.`,
  newValue: (name: string) => `New value of ${name}`,
  newValueHint: "Leave it empty to use the stored value.",
  again: "Send again",
  againOne: (url: string) => `Send again to ${url}`,
  takes: (url: string) => `${url} takes what it is sent.`,
  stillFails: (url: string) => `${url} does not take what it is sent.`,
  remove: "Remove…",
  removeOne: (url: string) => `Remove ${url}`,
  removed: (url: string) => `Nothing more is sent to ${url}.`,
  question: {
    title: "Remove this collector?",
    lost: (rows: number) =>
      rows === 0
        ? "Nothing waits for it. What is new is not sent to it."
        : `${wait(rows)} and will not be sent, and nothing new either.`,
    headers: (names: string) => `Its stored headers are deleted: ${names}.`,
    stays: "What it received stays there, and everything stays in this log.",
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
    signals: "What to send",
    signalsHint: "Tasks have the names of tools, servers and agents, how they ended, and who decided.",
    signal: { logs: "Rows", traces: "Tasks", both: "Both" },
    rows: "From when on",
    first: { new: "From now on", kept: "All that is kept" },
    add: "Add",
    added: (url: string) => `${url} is added.`,
    addedFails: (url: string) => `${url} is added, but does not take what it is sent yet.`,
  },
};
