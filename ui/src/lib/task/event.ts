/* An event of a task as screens show it: an icon, a tone, a sentence with names, and what a person wrote. One table for
   the inbox and the task's own page. Pure. */
import type { AuditVerb, HistoryEvent } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { controlToken } from "./control-token";
import { EVENTS, ownWords } from "$lib/text/events";

export interface EventText {
  readonly icon: IconName;
  readonly tone: Tone;
  readonly text: string;
  readonly words: string | null;
}

/** Of whose task it is. */
export interface EventContext {
  readonly server: string;
  readonly agent: string | null;
  readonly tool: string | null;
  /** The person at this desk. */
  readonly me: string | null;
}

/** Verbs without a look of their own. */
type Plain = "called" | "exported" | "ruleChanged" | "serverActEnded" | "serverChanged" | "storageChanged";

const LOOKS: Readonly<Record<Exclude<AuditVerb, Plain>, readonly [IconName, Tone]>> = {
  admitted: ["arrow-up", "neutral"],
  accepted: ["ring", "running"],
  discovered: ["search", "neutral"],
  adopted: ["plus", "neutral"],
  unconfirmed: ["question", "attention"],
  ended: ["check", "success"],
  contradiction: ["warn", "danger"],
  asked: ["speech", "attention"],
  withdrawn: ["undo", "neutral"],
  answerBegun: ["arrow-up", "running"],
  answerEnded: ["check", "success"],
  answerUndone: ["undo", "neutral"],
  stopBegun: ["ring-bar", "neutral"],
  stopEnded: ["ring-bar", "neutral"],
  revoked: ["lock", "neutral"],
  unwatched: ["eye-bar", "neutral"],
  lost: ["cross-dashed", "stale"],
  serverAdded: ["plus", "neutral"],
  serverAllowed: ["check", "neutral"],
  serverRemoved: ["trash", "neutral"],
  processStarted: ["ring", "neutral"],
  processEnded: ["bar", "neutral"],
  agentAdded: ["plus", "neutral"],
  agentTokenReplaced: ["key", "neutral"],
  agentRevoked: ["lock", "neutral"],
  halted: ["hand", "danger"],
  bulkBegun: ["hand", "attention"],
  bulkEnded: ["check", "neutral"],
  controlTokenAdded: ["key", "neutral"],
  controlTokenRevoked: ["lock", "neutral"],
  controlLimited: ["warn", "attention"],
  clientFileChanged: ["key", "neutral"],
  checkpointed: ["lock", "neutral"],
  signingKeyReplaced: ["warn", "attention"],
  anchorAdded: ["plus", "neutral"],
  anchorRemoved: ["trash", "neutral"],
  signInBegun: ["person", "neutral"],
  signedIn: ["check", "neutral"],
  signedOut: ["person", "neutral"],
  signInFailed: ["warn", "attention"],
  alarmRaised: ["warn", "attention"],
  alarmEnded: ["check", "neutral"],
  alarmDismissed: ["check", "neutral"],
  receiptsMissing: ["warn", "attention"],
  pauseBegun: ["pause", "attention"],
  pauseEnded: ["play", "neutral"],
  sinkAdded: ["plus", "neutral"],
  sinkRemoved: ["trash", "neutral"],
  sinkResumed: ["play", "neutral"],
  toolsChanged: ["warn", "attention"],
  toolsSeen: ["check", "neutral"],
  epochBegun: ["warn", "attention"],
  resumed: ["check", "neutral"],
  escalated: ["warn", "attention"],
  given: ["arrow-up", "neutral"],
  orphaned: ["ring-dashed", "stale"],
  resultHeld: ["hand", "attention"],
  resultReleased: ["check", "success"],
  resultWithheld: ["lock", "danger"],
  overLimit: ["gauge", "attention"],
  limitLifted: ["check", "success"],
  budgetChanged: ["gauge", "neutral"],
  storageCleaned: ["trash", "neutral"],
  segmentRemoved: ["trash", "neutral"],
  sessionRevoked: ["lock", "neutral"],
  serverRestarted: ["refresh", "neutral"],
};

export function eventText(event: HistoryEvent, of: EventContext): EventText {
  const note = singleLine(event.note, 200);
  const [icon, tone] = toned(event.verb, note);
  const names = {
    who: whoOf(event, of.me),
    actor: controlToken(event.who) === null ? event.actor : ("control" as const),
    server: singleLine(of.server, 80),
    agent: of.agent === null ? EVENTS.itsAgent : singleLine(of.agent, 80),
    tool: of.tool === null ? EVENTS.aTool : singleLine(of.tool, 80),
  };
  return { icon, tone, text: EVENTS.sentence(event.verb, names, note), words: ownWords(event.verb, event.actor, note) };
}

function whoOf(event: HistoryEvent, me: string | null): string {
  switch (event.actor) {
    case "limit":
      return EVENTS.limit;
    case "taskwarden": {
      // A program that held a control token acted, not Taskwarden.
      const token = controlToken(event.who);
      return token === null ? EVENTS.taskwarden : EVENTS.controlToken(singleLine(token, 80));
    }
    case "person":
    case "agent":
    case "server":
      return event.who === ""
        ? EVENTS.somebody
        : event.actor === "person" && event.who === me
          ? EVENTS.you
          : singleLine(event.who, 80);
  }
}

/** A refusal or a failure has another look than what went well. */
function toned(verb: string, note: string): readonly [IconName, Tone] {
  if (verb === "ended" && /-> (failed|not sent|refused)$/.test(note)) return ["cross", "danger"];
  if (verb === "ended" && note.endsWith("-> cancelled")) return ["bar", "neutral"];
  if ((verb === "answerEnded" || verb === "stopEnded") && (note === "refused" || note === "notSent"))
    return ["cross", "danger"];
  return Object.hasOwn(LOOKS, verb) ? LOOKS[verb as keyof typeof LOOKS] : ["info", "neutral"];
}
