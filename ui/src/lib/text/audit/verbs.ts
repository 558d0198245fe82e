/* What was done, in a few words behind the name of who acted. The stored words are in the detail of a row. */
import type { AuditVerb } from "$lib/bindings";

export const VERB_LABELS: Readonly<Record<AuditVerb, string>> = {
  admitted: "called a tool",
  accepted: "accepted the call",
  discovered: "found a task",
  adopted: "added a task by its id",
  unconfirmed: "got no reply",
  ended: "ended the task",
  contradiction: "contradicted itself",
  asked: "asked a question",
  withdrawn: "withdrew a question",
  answerBegun: "answered",
  answerEnded: "reported on the answer",
  answerUndone: "took back an answer",
  stopBegun: "asked to cancel",
  stopEnded: "reported on the cancel",
  revoked: "revoked the task",
  unwatched: "stopped watching",
  lost: "lost the task",
  serverAdded: "added a server",
  serverAllowed: "allowed a server",
  serverRemoved: "removed a server",
  processStarted: "started a process",
  processEnded: "ended a process",
  agentAdded: "added an agent",
  agentRevoked: "revoked an agent",
  ruleChanged: "changed a rule",
  given: "handed over the task",
  orphaned: "found its agent gone",
  resultHeld: "held a result",
  resultReleased: "released a result",
  resultWithheld: "withheld a result",
  overLimit: "found it over a limit",
  limitLifted: "lifted a limit",
  budgetChanged: "changed a budget",
  storageCleaned: "cleaned the storage",
  storageChanged: "changed the storage",
  segmentRemoved: "removed audit rows",
  sessionRevoked: "ended a session",
  serverChanged: "changed a server",
  serverRestarted: "restarted a server",
  agentTokenReplaced: "replaced a token",
  halted: "halted work",
  resumed: "resumed work",
  escalated: "took a further step",
  bulkBegun: "asked many tasks to end",
  bulkEnded: "finished asking them",
  controlTokenAdded: "added a control token",
  controlTokenRevoked: "revoked a control token",
  controlLimited: "exceeded its limit",
  clientFileChanged: "changed a program file",
  checkpointed: "signed the log",
  exported: "exported rows",
  signingKeyReplaced: "replaced the signing key",
  anchorAdded: "named a place for copies",
  anchorRemoved: "ended copies to a place",
  alarmRaised: "raised an alarm",
  alarmEnded: "ended an alarm",
  alarmDismissed: "dismissed an alarm",
};

/** All verbs by their labels, for choosing. */
export const VERBS: readonly AuditVerb[] = (Object.keys(VERB_LABELS) as AuditVerb[]).sort((one, other) =>
  VERB_LABELS[one].localeCompare(VERB_LABELS[other], "en"),
);

/** A word that a newer version wrote stays as it is. */
export function verbLabel(word: string): string {
  return Object.hasOwn(VERB_LABELS, word) ? VERB_LABELS[word as AuditVerb] : word;
}
