/* Text of the export of the audit log. What a finished file proves is said by the core. */
import { count, plural } from "$lib/format/count";

export const exportText = {
  open: "Export…",
  title: "Export the audit log",
  all: (rows: number) => `All ${plural(rows, "row")} of the log.`,
  filtered: "The rows that match the filter of this screen.",
  format: "Format",
  /** Without a filter there is one. */
  only: "JSON Lines with a proof: one JSON object on each line.",
  formats: { stubs: "JSON Lines with a proof", hashes: "JSON Lines, matching rows only" },
  notes: {
    stubs: "other rows of the range are in it without their notes",
    hashes: "other rows are not in it",
  },
  proves: "What it proves",
  proof: {
    whole: "Each row is genuine and in its place, and no matching row was left out.",
    words: "Each row is genuine and in its place. A filter for words of a note cannot prove that no row was left out.",
    hashes: "Each row is genuine and in its place. It does not prove that no matching row was left out.",
  },
  verify: "To check the file, with or without Taskwarden",
  recorded: "The export itself becomes a row of the log.",
  tooLarge: (most: number) => `This page exports up to ${plural(most, "row")}. For more, run this in a terminal:`,
  command: "Command",
  reading: (done: number, of: number) => `Reading, ${count(done)} of ${plural(of, "row")}`,
  go: "Export",
  back: "Back",
  close: "Close",
  done: (rows: number, stubs: number, file: string) =>
    `Saved ${plural(rows, "row")}${stubs > 0 ? ` and ${count(stubs)} without their notes` : ""} as ${file}.`,
  broken: (row: number) =>
    `Row ${count(row)} does not match its hash: it was changed. The file is evidence of that and proves nothing else.`,
  key: "Export the rows",
} as const;
