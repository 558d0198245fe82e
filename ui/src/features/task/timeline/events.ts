/* What happened to a task, oldest first, for its timeline. Words, icons and tones are lib/task/event's. Pure. */
import type { HistoryEvent } from "$lib/bindings";
import { eventText, type EventText, type EventContext } from "$lib/task/event";
import { TASK } from "$lib/text/task";

export interface TimelineEvent extends EventText {
  readonly key: string;
  readonly at: string;
  readonly lane: HistoryEvent["lane"];
}

export function timelineEvents(events: readonly HistoryEvent[], of: EventContext): TimelineEvent[] {
  return events.map((event, at) => ({
    key: `${at}/${event.at}`,
    at: event.at,
    lane: event.lane,
    ...withDoor(event, of),
  }));
}

/** Through which door a person decided stands behind what they did. */
function withDoor(event: HistoryEvent, of: EventContext): EventText {
  const look = eventText(event, of);
  return event.origin ? { ...look, text: `${look.text}, ${TASK.doors[event.origin.door]}` } : look;
}
