/* Text of one row of the audit log: its place in the chain and its fields. */
import { count } from "$lib/format/count";

export const detailText = {
  summary: "What happened",
  about: "About",
  task: "Task",
  question: "Question",
  server: "Server",
  agent: "Agent",
  note: "Note",
  ofTask: "All rows of this task",
  byActor: (who: string) => `All rows by ${who}`,
  unknown: "What this row does not show",
  noRow: "This row is not in the log",
  failed: "The row could not be read",
} as const;

export const chainText = {
  title: "Place in the chain",
  matches: "matches",
  matchesWhy: "The fields of this row give its hash.",
  start: "The log begins here",
  missing: (row: number) => `Row ${count(row)} is not in the log`,
  last: "No row after it yet",
  linked: "Each of these rows has the hash of the row before it.",
  notLinked: "These rows do not fit together: one of them was changed, or a row between them is missing.",
} as const;

export const recordText = {
  title: "Record",
  noContent:
    "The fields as they are stored, under their stored names. Arguments, answers and results are never part of the log.",
} as const;
