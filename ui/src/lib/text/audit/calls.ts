/* Text of the calls on the Audit screen: what each call of an agent left behind. */
import { count } from "$lib/format/count";

const VERDICT_LABELS: Readonly<Record<string, string>> = {
  allowed: "allowed",
  halted: "refused: halted",
  noAccess: "refused: no access",
  overLimit: "refused: over a limit",
  unknownTool: "refused: no such tool",
  invalid: "refused: not readable",
  notRecorded: "refused: cannot be recorded",
};
const OUTCOME_LABELS: Readonly<Record<string, string>> = {
  result: "result",
  toolError: "error of the tool",
  error: "error",
  question: "question",
  task: "task",
  cancelled: "no answer wanted",
  lost: "reply lost",
  notSent: "not sent",
  refused: "refused",
};

/** A word that this version does not know is shown as it came. */
const label = (labels: Readonly<Record<string, string>>, word: string) =>
  Object.hasOwn(labels, word) ? (labels[word] ?? word) : word;
export const verdictLabel = (word: string): string => label(VERDICT_LABELS, word);
export const outcomeLabel = (word: string): string => label(OUTCOME_LABELS, word);

export const callsText = {
  tab: "Part of the audit",
  tabs: { log: "Log", calls: "Calls" },
  list: "Calls of agents",
  columns: {
    time: "Answered",
    agent: "Agent",
    server: "Server",
    tool: "Tool",
    verdict: "Verdict",
    outcome: "First answer",
    took: "Took",
  },
  range: (first: number, last: number) =>
    first === last ? `Call ${count(first)}` : `Calls ${count(first)} to ${count(last)}`,
  filter: "Filter",
  any: {
    agent: "Any agent",
    server: "Any server",
    verdict: "Any verdict",
    outcome: "Any answer",
  },
  tool: "Whole name of a tool",
  clear: "Clear the filter",
  refresh: "Show newer calls",
  noServer: "no server",
  ms: (took: number) => `${count(took)} ms`,
  changed: "changed",
  changedWhy: "Its fields do not give its hash: the receipt was changed after it was written, or the disk is damaged.",
  openTask: "Open the task",
  failed: "The calls could not be read",
  unreadable: "This filter cannot be used",
  moreFailed: "The calls before could not be read.",
  again: "Try again",
  lookBack: "Look further back",
  lookedTo: (call: number) => `No further match down to call ${count(call)}`,
  none: "No call matches",
  empty: {
    title: "No call yet",
    body: "Each call of an agent leaves a receipt here within about a second, also one that was quick or refused.",
  },
  keys: {
    group: "Calls",
    down: "Next call",
    up: "Previous call",
    newer: "Show newer calls",
    filter: "Filter by tool",
  },
} as const;
