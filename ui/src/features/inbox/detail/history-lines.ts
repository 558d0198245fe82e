/* What led to a question, as a few lines: what was done by whom, and the last words of the server. */
import type { HistoryEvent } from "$lib/bindings";
import { line, type IconName, type Tone } from "$lib/design";
import { eventLook, type EventOf } from "$lib/task/event";

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

export function ledLines(
  history: { events: readonly HistoryEvent[]; log: readonly { at: string; status: string; text: string }[] },
  of: EventOf,
): readonly LedLine[] {
  const events = history.events.map((event, at): LedLine => {
    const { icon, tone, text, words } = eventLook(event, of);
    return { key: `e${at}`, at: event.at, icon, tone, text, note: words };
  });
  const said = history.log
    .filter((one) => one.text.trim() !== "")
    .map((one, at): LedLine => ({
      key: `l${at}`,
      at: one.at,
      icon: "ring",
      tone: "running",
      text: line(one.text, 160),
      note: null,
    }));
  const all = [...events, ...said].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return all.length <= FIRST + LAST ? all : [...all.slice(0, FIRST), ...all.slice(-LAST)];
}
