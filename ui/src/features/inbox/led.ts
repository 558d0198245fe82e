/* What led to a question, as a few lines: what was done by whom, and the last words of the server. */
import type { HistoryEvent } from "$lib/bindings";
import { line, type IconName, type Tone } from "$lib/design";
import { inboxText } from "$lib/text/inbox";

export interface LedLine {
  readonly key: string;
  readonly at: string;
  readonly icon: IconName;
  readonly tone: Tone;
  readonly text: string;
  readonly note: string | null;
}

/** A short history: the beginning and what came last (judgement: what is read at a glance). */
const FIRST = 2;
const LAST = 6;

const LOOKS: Readonly<Record<string, readonly [IconName, Tone]>> = {
  admitted: ["arrow-up", "neutral"], started: ["arrow-up", "neutral"], accepted: ["check", "success"], discovered: ["search", "neutral"], adopted: ["plus", "neutral"],
  unconfirmed: ["question", "attention"], ended: ["check", "success"], contradiction: ["warn", "danger"], asked: ["speech", "attention"], withdrawn: ["undo", "neutral"],
  answerBegun: ["arrow-up", "running"], answerEnded: ["check", "success"], answerUndone: ["undo", "neutral"], stopBegun: ["ring-bar", "neutral"], stopEnded: ["bar", "neutral"],
  revoked: ["lock", "neutral"], unwatched: ["eye-bar", "neutral"], lost: ["cross-dashed", "stale"],
};

export function ledLines(history: { events: readonly HistoryEvent[]; log: readonly { at: string; status: string; text: string }[] }, tool: string | null): readonly LedLine[] {
  const events = history.events.map((event, at): LedLine => {
    const [icon, tone] = (Object.hasOwn(LOOKS, event.verb) ? LOOKS[event.verb] : undefined) ?? ["info", "neutral"];
    return { key: `e${at}`, at: event.at, icon, tone, text: textOf(event, tool), note: event.note === "" || event.note === tool ? null : line(event.note, 160) };
  });
  const said = history.log.filter((one) => one.text.trim() !== "").map((one, at): LedLine => ({ key: `l${at}`, at: one.at, icon: "ring", tone: "running", text: line(one.text, 160), note: null }));
  const all = [...events, ...said].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return all.length <= FIRST + LAST ? all : [...all.slice(0, FIRST), ...all.slice(-LAST)];
}

function textOf(event: HistoryEvent, tool: string | null): string {
  const { verb, other, taskwarden } = inboxText.led;
  const who = event.who === "" ? taskwarden : line(event.who, 60);
  const say: ((who: string, tool: string) => string) | undefined = Object.hasOwn(verb, event.verb) ? verb[event.verb as keyof typeof verb] : undefined;
  return say ? say(who, line(tool ?? inboxText.titleOf.aTask, 80)) : other(who, line(event.verb, 60));
}
