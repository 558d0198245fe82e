/* A sentence for every event of the audit log. It uses names, never ids or the log's stored words. What a person wrote
   (a reason, a note) is not part of the sentence. */
import type { ActorDto, AuditVerb } from "$lib/bindings";

export interface EventNames {
  /** Who acted, as a name at the beginning of a sentence. */
  readonly who: string;
  /** `control`: a program with a control token. */
  readonly actor: ActorDto | "control";
  readonly server: string;
  readonly agent: string;
  readonly tool: string;
}

type Sentence = (names: EventNames, note: string) => string;

const ANSWERS: Readonly<Record<string, string>> = {
  accept: "answered",
  decline: "declined to answer",
  dismiss: "dismissed the question",
  forwarded: "answered",
};
/** What somebody did to a question, by the word of the answer's action. */
export const answerSaid = (action: string): string => ANSWERS[action] ?? "answered";
const FORMS: Readonly<Record<string, string>> = { whole: "whole", "in slices": "in parts" };
const ARRIVALS: Readonly<Record<string, (server: string) => string>> = {
  acknowledged: (server) => `${server} has the answer`,
  refused: (server) => `${server} refused the answer`,
  "does not fit": (server) => `The answer did not fit the form, so ${server} did not get it`,
  "too late": (server) => `The answer came too late for ${server}`,
  "no longer asked": (server) => `${server} no longer asked when the answer came`,
};
const ENDS: Readonly<Record<string, (server: string) => string>> = {
  completed: (server) => `${server} finished it`,
  failed: (server) => `${server} reported that it failed`,
  cancelled: (server) => `${server} reported that it was cancelled`,
  refused: (server) => `${server} answered with an error`,
  "not sent": () => "Nothing was sent",
  "asked to wait": (server) => `${server} asked to wait`,
  "sign-in refused": (server) => `${server} refused the sign-in`,
};

/** A person ended the process of a server, and the task was lost with it. */
const SERVER_ENDED: Readonly<Record<string, (who: string, server: string) => string>> = {
  "its server was ended": (who, server) => `${who} ended the process of ${server}, and it was lost with that`,
  "its server was restarted": (who, server) => `${who} restarted ${server}, and it was lost with that`,
  "its server was changed": (who, server) => `${who} changed ${server}, and it was lost with that`,
};

/** "a, the limit is b" of the log, behind a colon; nothing where the log has none. */
const amount = (note: string) => (/^[^:]*\d[^:]*(the limit is|are free|, allowed )/.test(note) ? `: ${note}` : "");
const end = (note: string) => note.split("->").at(-1)?.trim() ?? "";
/** "whole: because" of the log: how, and whether more follows. */
const form = (note: string) => {
  const how = note.split(":", 1)[0]?.trim() ?? "";
  return FORMS[how] ?? (/^trimmed to \d+ tokens$/.test(how) ? how : "");
};

const SENTENCES: Readonly<Record<AuditVerb, Sentence>> = {
  admitted: ({ who, server, tool }) => `${who} called ${tool} on ${server}`,
  accepted: ({ server }) => `${server} accepted it as a task`,
  discovered: ({ server }, note) => (note === "" ? `Found in the list of ${server}` : `${server} knows the task again`),
  adopted: ({ who }) => `${who} added it by its id`,
  unconfirmed: ({ server }) => `The reply from ${server} is lost`,
  ended: ({ server }, note) => ENDS[end(note)]?.(server) ?? `${server} ended it`,
  contradiction: ({ server }) => `${server} contradicted its earlier report`,
  asked: ({ server }) => `${server} asked a question`,
  withdrawn: ({ server, actor }) =>
    actor === "server" ? `${server} withdrew its question` : "A question was withdrawn",
  answerBegun: ({ who }, note) => {
    const [, what, version] = /^(\w+) by rule \S+ version (\d+)$/.exec(note) ?? [];
    return what === undefined ? `${who} ${answerSaid(note)}` : `A rule (version ${version ?? ""}) ${answerSaid(what)}`;
  },
  answerEnded: ({ server }, note) => ARRIVALS[note]?.(server) ?? `The answer to ${server} was settled`,
  answerUndone: ({ who }) => `${who} took the answer back`,
  stopBegun: ({ who, server, actor, agent }, note) =>
    actor === "limit"
      ? `A limit asked ${server} to cancel it${amount(note)}`
      : note === "revoked"
        ? `${server} was asked to cancel it because ${agent} lost access`
        : `${who} asked ${server} to cancel`,
  stopEnded: ({ server }, note) =>
    note === "refused"
      ? `${server} refused to cancel it`
      : note === "notSent"
        ? `The cancel could not be sent to ${server}`
        : note === "sent"
          ? `The cancel was sent to ${server}, which answers to none`
          : `${server} acknowledged the cancel`,
  revoked: ({ who, agent }) => `${who} revoked it from ${agent}`,
  unwatched: ({ who }) => `${who} stopped watching`,
  lost: ({ server, who }, note) =>
    SERVER_ENDED[note]?.(who, server) ??
    (note === "its time on the server ran out"
      ? `Its time on ${server} ran out`
      : note === "the process that ran it ended"
        ? `The process of ${server} that ran it ended`
        : note === "its server was removed"
          ? `${server} was removed`
          : note === "its server shows another task under the same id"
            ? `${server} shows another task in its place`
            : `${server} no longer knows it`),
  serverAdded: ({ who, server }) => `${who} added ${server}`,
  serverAllowed: ({ who, server }) => `${who} allowed contact with ${server}`,
  serverRemoved: ({ who, server }) => `${who} removed ${server}`,
  processStarted: ({ server }, note) =>
    note.endsWith("taken over")
      ? `A process of ${server} from an earlier run was taken over`
      : `A process of ${server} was started`,
  processEnded: ({ who, server, actor }) =>
    actor === "person"
      ? `${who} ended the process of ${server}`
      : `A process of ${server} from an earlier run was ended`,
  agentAdded: ({ who, agent }) => `${who} added ${agent}`,
  agentTokenReplaced: ({ who, agent }) => `${who} made a new token for ${agent}`,
  halted: ({ who, actor }) =>
    actor === "person" || actor === "control" ? `${who} halted work` : "The file HALT halted all calls",
  bulkBegun: ({ who }) => `${who} asked to cancel many tasks`,
  bulkEnded: ({ who }) => `All tasks that ${who} asked to end were asked`,
  controlTokenAdded: ({ who }) => `${who} made a control token`,
  controlTokenRevoked: ({ who }) => `${who} revoked a control token`,
  controlLimited: ({ who }) => `${who} asked to end more tasks than it may`,
  clientFileChanged: ({ who, agent }) => `${who} changed how the program of ${agent} reaches its servers`,
  checkpointed: ({ who }) => `${who} signed the audit log`,
  exported: ({ who }) => `${who} exported rows of the audit log`,
  signingKeyReplaced: () => "A new key signs the audit log",
  anchorAdded: () => "Checkpoints are copied to one more place",
  anchorRemoved: () => "Checkpoints are copied to a place no longer",
  signInBegun: ({ who, server }) => `${who} began to sign in to ${server}`,
  signedIn: ({ who, server }) => `${who} signed in to ${server}`,
  signInFailed: ({ who, server }) => `${who} could not sign in to ${server}`,
  signedOut: ({ who, server }) => `${who} signed out of ${server}`,
  alarmRaised: ({ agent }) => `${agent} did the same again and again`,
  alarmEnded: ({ agent }) => `${agent} stopped doing the same again and again`,
  alarmDismissed: ({ who }) => `${who} dismissed an alarm`,
  called: () => "Receipts of calls were stored",
  receiptsMissing: () => "Some calls may have no receipt",
  pauseBegun: ({ who, agent, server }, note) =>
    note.startsWith("processes") ? `${who} froze ${server}` : `${who} paused new calls of ${agent}`,
  pauseEnded: ({ who }) => `${who} ended a pause`,
  sinkAdded: () => "Rows of the audit log are sent to one more collector",
  sinkRemoved: () => "Rows of the audit log are sent to a collector no longer",
  sinkResumed: () => "Rows of the audit log are sent to a collector again",
  toolsChanged: ({ server }) => `${server} changed its tools`,
  toolsSeen: ({ who, server }) => `${who} marked the tools of ${server} as seen`,
  epochBegun: ({ who }) => `${who} let the audit log go on from an older copy`,
  resumed: ({ who }) => `${who} let halted work begin again`,
  escalated: ({ who }) => `${who} took a further step to end it`,
  agentRevoked: ({ who, agent }) => `${who} revoked ${agent}`,
  ruleChanged: ({ who }) => `${who} changed a rule`,
  given: ({ agent }) => `${agent} was given the task`,
  orphaned: ({ agent }) => `${agent} is gone; nobody is waiting for the result`,
  resultHeld: ({ who, actor, agent }, note) =>
    actor === "limit"
      ? `A limit held the result back from ${agent}${amount(note)}`
      : `${who} held the result back from ${agent}`,
  resultReleased: ({ who, agent }, note) => `${who} delivered the result to ${agent} ${form(note)}`.trim(),
  resultWithheld: ({ who, agent }) => `${who} withheld the result from ${agent}`,
  overLimit: (_, note) =>
    note.includes(", allowed ") ? `It reached its time limit: ${note}` : `It exceeded its token limit${amount(note)}`,
  limitLifted: ({ who }) => `${who} let it continue above its limit`,
  budgetChanged: ({ who, agent }) => `${who} changed how the tokens of ${agent} are counted`,
  storageCleaned: () => "Taskwarden removed old tasks or results",
  storageChanged: ({ who }) => `${who} changed how long tasks are kept`,
  segmentRemoved: () => "Taskwarden removed old records and left a signed record in their place",
  sessionRevoked: ({ who }) => `${who} signed out a browser`,
  serverChanged: ({ who, server }) => `${who} changed how ${server} is reached`,
  serverRestarted: ({ who, server }) => `${who} restarted ${server}`,
  serverActEnded: ({ server }) => `The outcome for ${server} was recorded`,
};

export const EVENTS = {
  you: "You",
  limit: "A limit",
  taskwarden: "Taskwarden",
  controlToken: (name: string) => `Control token ${name}`,
  somebody: "Someone",
  itsAgent: "its agent",
  aTool: "a tool",
  /** Of a core that is newer than this page. */
  unknown: "An event that this version cannot describe",
  sentence: (verb: string, names: EventNames, note: string): string => {
    const say = Object.hasOwn(SENTENCES, verb) ? SENTENCES[verb as AuditVerb] : undefined;
    const text = say?.(names, note) ?? EVENTS.unknown;
    // A name stays as it is written.
    return text.startsWith(EVENTS.itsAgent) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  },
} as const;

/** Verbs whose note is what a person wrote. */
const OWN_WORDS: readonly string[] = ["stopBegun", "revoked", "unwatched", "resultWithheld", "limitLifted"];

/** What a person wrote about it; null for none. */
export function ownWords(verb: string, actor: ActorDto, note: string): string | null {
  if (actor !== "person") return null;
  if (verb === "resultReleased") return note.split(/: (.*)/s, 2)[1] ?? (form(note) === "" && note !== "" ? note : null);
  return OWN_WORDS.includes(verb) && note !== "" && !(verb === "stopBegun" && note === "revoked") ? note : null;
}
