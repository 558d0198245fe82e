/* Text of the export of the audit log. What a finished file proves is said by the core. */
import { count, plural } from "$lib/format/count";

export const exportText = {
  open: "Export…",
  title: "Export the audit log",
  all: (rows: number) => `All ${plural(rows, "row")} of the log.`,
  filtered: "The rows that match the filter of this screen.",
  format: "Format",
  formats: { stubs: "JSON Lines with a proof", hashes: "JSON Lines, matching rows only", csv: "CSV" },
  notes: {
    stubs: "other rows of the range are in it without their notes",
    hashes: "with matching calls, without other rows",
    csv: "a table for a spreadsheet",
    /** Of the first, without a filter. */
    all: "one JSON object on each line",
  },
  proves: "What it proves",
  proof: {
    whole: "Each row is genuine and in its place, and no matching row was left out.",
    words: "Each row is genuine and in its place. A filter for words of a note cannot prove that no row was left out.",
    hashes:
      "Each row and each receipt of a call is genuine. It does not prove that no matching row or call was left out.",
    csv: "Nothing. This is a copy to read. Choose JSON Lines for a file that can be checked.",
  },
  verify: "To check the file, with or without Taskwarden",
  recorded: "The export itself becomes a row of the log.",
  tooLarge: (most: number) =>
    `This page exports up to ${plural(most, "row")} and as many calls. For more, run this in a terminal:`,
  command: "Command",
  reading: (done: number, of: number) => `Reading, ${count(done)} of ${plural(of, "row")}`,
  go: "Export",
  back: "Back",
  close: "Close",
  done: (rows: number, stubs: number, file: string) =>
    `Saved ${plural(rows, "row")}${stubs > 0 ? ` and ${count(stubs)} without their notes` : ""} as ${file}.`,
  broken: (row: number) =>
    `Row ${count(row)} does not match its hash: it was changed. The file is evidence of that and proves nothing else.`,
  /** In a file that proves nothing. */
  changed: (row: number) => `Row ${count(row)} does not match its hash: it was changed.`,
  key: "Export the rows",
} as const;
