/* Text of the calls on the Audit screen: what each call of an agent left behind. */
import { count, plural } from "$lib/format/count";
import { duration } from "$lib/format/time";

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
  toolError: "tool error",
  error: "error",
  question: "question",
  task: "task",
  cancelled: "no answer wanted",
  lost: "reply lost",
  notSent: "not sent",
  refused: "refused",
};

/** What a refusal and a first answer mean, where their words do not say it all. */
const MEANINGS: Readonly<Record<string, string>> = {
  halted: "Work was halted there. The call was not sent.",
  noAccess: "The agent has no access to this server. The call was not sent.",
  overLimit: "The agent called more often than it may.",
  toolError: "The tool ran and reported a failure.",
  error: "The server answered with an error in place of a result.",
  question: "The server asked a question first. The answer to it is a call of its own.",
  task: "The call became a task. How that ends is shown there and in the log.",
  cancelled: "The agent hung up, or the call was cancelled, before there was an answer.",
  lost: "The call was sent, and its reply was lost. The server may have done the work.",
  notSent: "The server could not be reached.",
};

/** A word that this version does not know is shown as it came. */
const label = (labels: Readonly<Record<string, string>>, word: string) =>
  Object.hasOwn(labels, word) ? (labels[word] ?? word) : word;
export const verdictLabel = (word: string): string => label(VERDICT_LABELS, word);
export const outcomeLabel = (word: string): string => label(OUTCOME_LABELS, word);

/** What it means that a call was refused or answered so; empty where the words say it all. */
export const meaning = (verdict: string, outcome: string): string =>
  [verdict, outcome].map((word) => (Object.hasOwn(MEANINGS, word) ? (MEANINGS[word] ?? "") : "")).find(Boolean) ?? "";
export const tookText = (tookMs: number): string =>
  tookMs < 1 ? "under 1 ms" : tookMs < 1000 ? `${count(tookMs)} ms` : duration(tookMs);

const range = (first: number, last: number) =>
  first === last
    ? `Call ${count(first)}`
    : first === 1
      ? plural(last, "call")
      : `Calls ${count(first)} to ${count(last)}`;

export const callsText = {
  tab: "Part of the audit",
  tabs: { log: "Log", calls: "Calls" },
  title: "Calls of agents",
  list: "Calls of agents",
  columns: {
    since: "When",
    time: "Answered",
    agent: "Agent",
    server: "Server",
    tool: "Tool",
    verdict: "Verdict",
    outcome: "First answer",
    took: "Took",
  },
  range,
  loaded: (calls: number) => `${plural(calls, "call")} loaded, more may match`,
  matches: (calls: number) => `${plural(calls, "call")} ${calls === 1 ? "matches" : "match"}`,
  newer: (calls: number | null) => (calls === null ? "Show newer calls" : `Show ${plural(calls, "newer call")}`),
  newerSaid: "There are newer calls.",
  any: {
    since: "Any time",
    agent: "Any agent",
    server: "Any server",
    verdict: "Any verdict",
    outcome: "Any answer",
  },
  chips: { until: "before", task: "task" },
  tool: "Whole name of a tool",
  noServer: "no server",
  changed: "changed",
  changedWhy: "Its fields do not give its hash: the receipt was changed after it was written, or the disk is damaged.",
  failed: "The calls could not be read",
  moreFailed: "The calls before could not be read.",
  lookedTo: (call: number) => `No further match down to call ${count(call)}`,
  noneTo: (call: number) => `No match down to call ${count(call)}`,
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
    close: "Close the call",
  },
} as const;

export const callText = {
  what: (agent: string) => [`${agent} called `, ` on `] as const,
  task: "Task",
  sent: "Arguments",
  answer: "Answer",
  mark: "Mark",
  markWhy: "Calls with equal arguments have equal marks. The arguments themselves are never part of the audit.",
  noMark: "none",
  ofAgent: (agent: string) => `All calls of ${agent}`,
  ofTool: (tool: string) => `All calls of ${tool}`,
  gone: "This call is not on record",
  goneWhy: "Receipts are removed after some time. The storage settings say when.",
  failed: "The call could not be read",
} as const;
