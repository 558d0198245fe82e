/* Text of the Audit screen. What was done is in verbs.ts. */
import { count, plural } from "$lib/format/count";

export const auditText = {
  title: "Audit",
  list: "Audit log",
  columns: {
    number: "Row",
    time: "Time",
    who: "Who",
    did: "Did",
    about: "About",
    note: "Note",
    hash: "Hash",
  },
  kinds: {
    person: "Person",
    agent: "Agent",
    control: "Program with a control token",
    server: "Server",
    system: "Taskwarden",
  },
  /** The subject of a row that is about Taskwarden as a whole. */
  registry: "Taskwarden",
  erased: "erased",
  erasedWhy: "The note was erased. The hash of the row still covers it.",
  changed: "changed",
  changedWhy: "Its fields do not give its hash: the row was changed after it was written, or the disk is damaged.",
  range: (first: number, last: number) =>
    first === last
      ? `Row ${count(first)}`
      : first === 1
        ? plural(last, "row")
        : `Rows ${count(first)} to ${count(last)}`,
  loaded: (rows: number) => `${plural(rows, "row")} loaded, more may match`,
  matches: (rows: number) => `${plural(rows, "row")} ${rows === 1 ? "matches" : "match"}`,
  check: "Check the log",
  back: "Back to the list",
  asOf: "as of",
  today: "Today",
  noDay: "Unknown day",
  newer: (rows: number | null) => (rows === null ? "Show newer rows" : `Show ${plural(rows, "newer row")}`),
  newerSaid: "Newer rows were written.",
  lookedTo: (row: number) => `No further match down to row ${count(row)}`,
  noneTo: (row: number) => `No match down to row ${count(row)}`,
  none: "No row matches",
  lookBack: "Look further back",
  lookBackWhy: "Older rows have not been searched yet.",
  failed: "The audit log could not be read",
  moreFailed: "The rows before could not be read.",
  again: "Try again",
  empty: {
    title: "The audit log is empty",
    body: "A row is written for every call, answer, cancel and change of a setting.",
  },
  keys: {
    group: "Audit",
    down: "Next row",
    up: "Previous row",
    filter: "Filter the rows",
    close: "Close the row",
    newer: "Show newer rows",
  },
} as const;
