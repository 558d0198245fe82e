/* Text of storage, limits and the state of recording. */
import type { StorageDto } from "$lib/bindings";
import { bytes } from "$lib/format/bytes";
import { count, listed, plural } from "$lib/format/count";

export const STORAGE = {
  title: "Storage",
  failed: "The storage figures could not be loaded.",
  again: "Try again",
  used: (used: number, most: number) =>
    `${bytes(used)} of ${bytes(most)} for what tasks hold: arguments, answers, results, messages, questions`,
  kinds: {
    tasks: "Tasks",
    payloads: "Arguments, answers, results",
    keptPayloads: "of these still needed",
    keptTasks: "of these still needed",
    rawMessages: "Messages as they were sent",
    questions: "Questions",
    statusLines: "Status messages of servers",
    changes: "Changes of tasks and settings",
    receipts: "Receipts of agents’ calls",
    audit: "Audit rows",
  },
  neededNote: "Their task is open, held, unanswered or not delivered. Limits do not remove them.",
  columns: { kind: "What", rows: "Rows", bytes: "Size" },
  file: (file: number, free: number) =>
    `The file that holds all of it, the registry, takes ${bytes(file)} on disk${free > 0 ? `, ${bytes(free)} of it free` : ""}.`,
  oldest: (when: string) => `The oldest task is from ${when}.`,
  reserve: (held: number) =>
    `${bytes(held)} are reserved so that your decisions can be recorded when the disk is full.`,
  reserveUsed: "The space reserved for your decisions is in use: free some space on this disk.",
  removed: (segments: number) =>
    `${plural(segments, "old part")} of the audit log ${segments === 1 ? "was" : "were"} removed. A signed record of each stays.`,
  limits: {
    title: "How long things are kept",
    note: "Arguments, answers and results are removed first, then tasks, then receipts of calls, then audit rows. What is still needed stays.",
    payloadAge: "Arguments, answers, results",
    payloadBytes: "Total size with messages and questions",
    agentPayloadBytes: "That size per agent",
    serverPayloadBytes: "That size per server",
    taskAge: "Tasks",
    tasks: "Number of tasks",
    agentTasks: "Number per agent",
    serverTasks: "Number per server",
    receiptAge: "Receipts of agents’ calls",
    receipts: "Number of receipts",
    auditAge: "Audit rows",
    days: "days",
    size: "GB",
    count: "tasks",
    calls: "calls",
    bad: "Enter a number above zero.",
    save: "Save limits",
    builtIn: "Use the built-in limits",
    saved: "Limits saved.",
    savedDue: (what: string) => `Limits saved. The next clean-up, within an hour, removes ${what}.`,
    savedWaits: (what: string, time: string) =>
      `Limits saved. Nothing is removed because of them before ${time}. After that, ${what} will be removed.`,
  },
  clean: {
    title: "Clean-up",
    nothing: "Nothing exceeds its limit.",
    due: (what: string) => `Above the limits now: ${what}. This is removed automatically within an hour.`,
    waits: (what: string, time: string) =>
      `Above the limits now: ${what}. Nothing is removed because of the lower limits before ${time}. Set the earlier limits by then to keep it.`,
    ask: "Clean up now…",
    dialog: "Remove what exceeds its limits?",
    effect: (what: string) => `This removes ${what}. It cannot be undone.`,
    compact: "Return free space to the disk",
    compactNote: "This rewrites the registry. Changes wait until it is done, a few seconds per gigabyte.",
    keep: "Keep everything",
    go: "Remove",
    done: (what: string) => `Removed ${what}.`,
    doneNothing: "There was nothing to remove.",
  },
  audit: {
    title: "Audit log",
    hint: "Each row holds a fingerprint of the row before, so that a later change is found.",
    verify: "Check now",
    whole: (first: number, last: number) =>
      last === 0
        ? "There are no rows yet."
        : first === last
          ? `Row ${count(last)} is intact.`
          : `Rows ${count(first)} to ${count(last)} are intact.`,
    partly: (upto: number, last: number) =>
      `Intact up to row ${count(upto)} of ${count(last)}. Check again for the rest.`,
    broken: (row: number) => `Row ${count(row)} of the audit log is not intact.`,
    brokenHow: "It was changed, or the disk is damaged. Copy the data folder first, then compare it with a backup.",
    erased: (rows: number, first: number) =>
      rows === 1
        ? `The text of row ${count(first)} was erased.`
        : `The text of ${plural(rows, "row")} was erased; the first is row ${count(first)}.`,
    erasedHow: "No row of the log says who erased it.",
    showRow: "Show the row",
    calls: (receipts: number) => `${plural(receipts, "receipt of a call", "receipts of calls")} intact.`,
    checkpoints: (compared: number, epoch: number) =>
      `${plural(compared, "checkpoint")} compared, and the rows agree.` +
      (epoch > 1 ? " The log was continued from an older copy of the registry." : ""),
    checkpointBroken: (row: number) => `The checkpoint of row ${count(row)} does not hold.`,
    callBroken: (receipt: number) => `Receipt ${count(receipt)} of a call is not intact.`,
  },
} as const;

/** "the contents of 12 tasks (340 MB), 3 tasks and 4,096 audit rows"; empty for nothing. */
export function removal(what: {
  payloadTasks: number;
  payloadBytes: number;
  tasks: number;
  receipts: number;
  auditRows: number;
}): string {
  const parts = [
    ...(what.payloadTasks > 0
      ? [`the contents of ${plural(what.payloadTasks, "task", "tasks")} (${bytes(what.payloadBytes)})`]
      : []),
    ...(what.tasks > 0 ? [plural(what.tasks, "whole task", "whole tasks")] : []),
    ...(what.receipts > 0 ? [plural(what.receipts, "receipt of a call", "receipts of calls")] : []),
    ...(what.auditRows > 0 ? [plural(what.auditRows, "audit row", "audit rows")] : []),
  ];
  return listed(parts);
}

/** What exceeds a limit and stays because no limit removes it, in the words of `doctor`; empty for nothing. */
export function stuck({ stored: { keptTasks }, limits }: Pick<StorageDto, "stored" | "limits">): string {
  const size = keptTasks.bytes ?? 0;
  const what =
    size > limits.payloadBytes
      ? `${bytes(size)} of contents of tasks, of at most ${bytes(limits.payloadBytes)},`
      : keptTasks.rows > limits.tasks
        ? `${plural(keptTasks.rows, "task")} of at most ${count(limits.tasks)}`
        : "";
  return what === ""
    ? ""
    : `Above the limits now: ${what} cannot be removed while the tasks are open, held, unanswered or undelivered. Answer, release or cancel what is open, or raise the limit.`;
}

/** Names of the core that would need an explanation. */
const LIMIT_NAMES: Readonly<Record<string, string>> = {
  "bodies of requests": "contents of requests",
  "open subscriptions": "agents that wait for changes",
};

export const LIMITS = {
  title: "Limits",
  note: "How much of each limit servers and agents use. Part of each limit is reserved for others and for you.",
  failed: "The limits could not be loaded.",
  again: "Try again",
  of: (used: string, most: string) => `${used} of ${most}`,
  all: (n: number) => `Show all ${count(n)}`,
  name: (core: string): string => (Object.hasOwn(LIMIT_NAMES, core) ? (LIMIT_NAMES[core] ?? core) : core),
  nearly: "nearly used up",
  none: "No limit is in use.",
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
  effect: "Agents’ calls are refused before they are sent.",
  calls: (n: number) => `${plural(n, "earlier call")} ${n === 1 ? "is" : "are"} not recorded yet.`,
  storage: "Storage",
  registry: "Registry needs attention",
} as const;
