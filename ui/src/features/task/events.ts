/* What happened, in words and icons, from the audit's verbs. A verb of a newer core is shown as it is. Pure. */
import type { HistoryEvent } from "$lib/bindings";
import { line, type IconName, type Tone } from "$lib/design";
import { TASK } from "$lib/text/task";

export interface Happening {
  readonly key: string;
  readonly at: string;
  readonly lane: HistoryEvent["lane"];
  readonly icon: IconName;
  readonly tone: Tone;
  readonly text: string;
  /** A person's own words (a reason, a note); null for none. */
  readonly words: string | null;
}

/** Newest first, as the list shows them. `me`: the person at this desk. */
export function happenings(events: readonly HistoryEvent[], server: string, me: string | null): Happening[] {
  const name = line(server, 80);
  return events.map((event, at) => ({ key: `${at}/${event.at}`, at: event.at, lane: event.lane, ...said(event, name, me) })).reverse();
}

type Said = Pick<Happening, "icon" | "tone" | "text" | "words">;

function said(event: HistoryEvent, server: string, me: string | null): Said {
  const name = event.who === me ? TASK.youFirst : event.who === "" ? TASK.someone : line(event.who, 80);
  const who = event.origin ? `${name} ${TASK.doors[event.origin.door]}` : name;
  const note = line(event.note, 200);
  const own = note === "" ? null : note;
  const verbs = TASK.verbs;
  const as = (icon: IconName, tone: Tone, text: string, words: string | null = null): Said => ({ icon, tone, text, words });
  switch (event.verb) {
    case "admitted": return as("arrow-up", "neutral", verbs.admitted(who, server));
    case "accepted": return as("ring", "running", verbs.accepted(server));
    case "discovered": return as("search", "neutral", verbs.discovered(server));
    case "adopted": return as("plus", "neutral", verbs.adopted(who));
    case "unconfirmed": return as("question", "attention", verbs.unconfirmed(server));
    case "ended": return as(endIcon(note), endTone(note), verbs.ended(server, note.replace("->", "→")));
    case "contradiction": return as("warn", "danger", verbs.contradiction(server), own);
    case "asked": return as("speech", "attention", verbs.asked(server));
    case "withdrawn": return as("undo", "neutral", verbs.withdrawn(server));
    case "answerBegun": return as("arrow-up", "running", verbs.answerBegun(who, how(note)));
    case "answerEnded": return as(note === "refused" ? "cross" : "check", note === "refused" ? "danger" : "success", verbs.answerEnded(server, note));
    case "answerUndone": return as("undo", "neutral", verbs.answerUndone(who));
    case "stopBegun": return as("ring-bar", "neutral", verbs.stopBegun(who, server), own);
    case "stopEnded": return as(note === "acknowledged" ? "check" : "cross", note === "acknowledged" ? "neutral" : "danger", verbs.stopEnded(server, note));
    case "revoked": return as("lock", "neutral", verbs.revoked(who), own);
    case "unwatched": return as("eye-bar", "neutral", verbs.unwatched(who), own);
    case "given": return as("arrow-up", "neutral", verbs.given(who));
    case "orphaned": return as("ring-dashed", "stale", verbs.orphaned(who));
    case "resultHeld": return as("hand", "attention", verbs.resultHeld(who), own);
    case "resultReleased": return as("check", "success", verbs.resultReleased(who), own);
    case "overLimit": return as("gauge", "attention", verbs.overLimit, own);
    case "limitLifted": return as("check", "success", verbs.limitLifted(who));
    case "resultWithheld": return as("lock", "danger", verbs.resultWithheld(who), own);
    case "lost": return as("cross-dashed", "stale", verbs.lost(server), own);
    default: return as("info", "neutral", verbs.other(who, line(event.verb, 40)), own);
  }
}

function how(note: string): string {
  return note === "decline" || note === "dismiss" ? TASK.answered[note] : TASK.answered.accept;
}

function endIcon(note: string): IconName {
  if (/-> (failed|not sent)/.test(note)) return "cross";
  return /-> cancelled/.test(note) ? "bar" : "check";
}

function endTone(note: string): Tone {
  if (/-> (failed|not sent)/.test(note)) return "danger";
  return /-> cancelled/.test(note) ? "neutral" : "success";
}
