/* Words of storage, limits and the state of recording. */
import { bytes } from "$lib/format/bytes";
import { count, listed, plural } from "$lib/format/count";

export const STORAGE = {
  title: "Storage",
  failed: "What is stored could not be read.",
  again: "Try again",
  used: (used: number, most: number) => `${bytes(used)} of ${bytes(most)} for arguments, answers and results`,
  kinds: {
    tasks: "Tasks",
    payloads: "Arguments, answers, results",
    keptPayloads: "of them still needed",
    rawMessages: "Raw messages",
    statusLines: "Status lines",
    changes: "Changes",
    audit: "Audit rows",
  },
  neededNote: "Their task is open, held, unanswered or not delivered. No limit removes them.",
  columns: { kind: "What", rows: "Rows", bytes: "Size" },
  file: (file: number, free: number) =>
    `The registry is ${bytes(file)} on disk${free > 0 ? `, ${bytes(free)} of it free` : ""}.`,
  oldest: (when: string) => `The oldest task is from ${when}.`,
  reserve: (held: number) => `${bytes(held)} are reserved, so that your decisions can be recorded on a full disk.`,
  reserveUsed: "The reserve is in use: make room on this disk.",
  removed: (segments: number) =>
    `${plural(segments, "segment", "segments")} of the audit log ${segments === 1 ? "was" : "were"} removed, each with a signed record of it.`,
  limits: {
    title: "How long it is kept",
    note: "Arguments, answers and results go first, tasks later, audit rows last. What is still needed stays.",
    payloadAge: "Arguments, answers, results",
    payloadBytes: "Their size, in all",
    agentPayloadBytes: "Their size, one agent",
    serverPayloadBytes: "Their size, one server",
    taskAge: "Tasks",
    auditAge: "Audit rows",
    days: "days",
    size: "GB",
    bad: "Give a number above zero.",
    save: "Save limits",
    builtIn: "Use the built-in limits",
    saved: "Limits saved.",
    savedDue: (what: string) => `Limits saved. The next clean-up, within an hour, removes ${what}.`,
  },
  clean: {
    title: "Clean-up",
    nothing: "Nothing is over its limit.",
    due: (what: string) => `Over the limits now: ${what}. This is removed automatically within an hour.`,
    ask: "Clean up now…",
    dialog: "Remove what is over its limits?",
    effect: (what: string) => `This removes ${what}. It cannot be brought back.`,
    compact: "Give the free space back to the disk",
    compactNote: "The registry is rewritten. Changes wait until that is done, a few seconds for each gigabyte.",
    keep: "Keep everything",
    go: "Remove",
    done: (what: string) => `Removed ${what}.`,
    doneNothing: "Nothing was left to remove.",
  },
  audit: {
    title: "Audit log",
    hint: "Each row is chained to the one before, so that later changes can be detected.",
    verify: "Check it now",
    whole: (first: number, last: number) =>
      last === 0 ? "There are no rows yet." : `Rows ${count(first)} to ${count(last)} fit together.`,
    partly: (upto: number, last: number) =>
      `Rows up to ${count(upto)} of ${count(last)} fit together; check again for the rest.`,
    broken: (row: number) => `Row ${count(row)} of the audit log does not fit.`,
    brokenHow:
      "Somebody changed it, or the disk did. Keep a copy of the data folder before anything else, and compare it with a backup.",
  },
} as const;

/** "the contents of 12 tasks (340 MB), 3 tasks and 4,096 audit rows"; empty for nothing. */
export function removal(what: {
  payloadTasks: number;
  payloadBytes: number;
  tasks: number;
  auditRows: number;
}): string {
  const parts = [
    ...(what.payloadTasks > 0
      ? [`the contents of ${plural(what.payloadTasks, "task", "tasks")} (${bytes(what.payloadBytes)})`]
      : []),
    ...(what.tasks > 0 ? [plural(what.tasks, "whole task", "whole tasks")] : []),
    ...(what.auditRows > 0 ? [plural(what.auditRows, "audit row", "audit rows")] : []),
  ];
  return listed(parts);
}

export const LIMITS = {
  title: "Limits",
  note: "How much servers and agents use of what is limited. A part of each is reserved for others and for you.",
  failed: "The limits could not be read.",
  again: "Try again",
  of: (used: string, most: string) => `${used} of ${most}`,
  all: (n: number) => `Show all ${count(n)}`,
  nearly: "nearly used up",
  none: "Nothing that is limited is in use.",
} as const;

export const RECORDING = {
  title: {
    diskFull: "Not recording: disk full",
    readOnly: "Not recording: read-only",
    damaged: "Not recording: registry damaged",
    slowDisk: "Not recording: slow disk",
    locked: "Not recording: registry in use",
    failing: "Not recording",
  },
  banner: {
    diskFull: "The disk is full.",
    readOnly: "The registry cannot be written.",
    damaged: "The registry is damaged.",
    slowDisk: "The disk is too slow.",
    locked: "Another program holds the registry.",
    failing: "The registry cannot be written.",
  },
  effect: "Calls of agents are refused before they are sent.",
  calls: (n: number) => `${plural(n, "call", "calls")} sent before ${n === 1 ? "is" : "are"} not recorded yet.`,
  storage: "Storage",
  registry: "Registry needs care",
} as const;
