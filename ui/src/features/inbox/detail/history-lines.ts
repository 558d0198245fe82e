/* A task's history as a few lines: events and the server's last messages. */
import type { HistoryEvent } from "$lib/bindings";
import { singleLine, type IconName, type Tone } from "$lib/design";
import { eventText, type EventContext } from "$lib/task/event";

export interface HistoryLine {
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

export function historyLines(
  history: { events: readonly HistoryEvent[]; log: readonly { at: string; status: string; text: string }[] },
  of: EventContext,
): readonly HistoryLine[] {
  const events = history.events.map((event, at): HistoryLine => {
    const { icon, tone, text, words } = eventText(event, of);
    return { key: `e${at}`, at: event.at, icon, tone, text, note: words };
  });
  const said = history.log
    .filter((one) => one.text.trim() !== "")
    .map((one, at): HistoryLine => ({
      key: `l${at}`,
      at: one.at,
      icon: "ring",
      tone: "running",
      text: singleLine(one.text, 160),
      note: null,
    }));
  const all = [...events, ...said].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  return all.length <= FIRST + LAST ? all : [...all.slice(0, FIRST), ...all.slice(-LAST)];
}
