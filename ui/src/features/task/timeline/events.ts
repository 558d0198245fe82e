/* What happened to a task, newest first, for its timeline. Words, icons and tones are lib/task/event's. Pure. */
import type { HistoryEvent } from "$lib/bindings";
import { eventLook, type EventLook, type EventOf } from "$lib/task/event";
import { TASK } from "$lib/text/task";

export interface Happening extends EventLook {
  readonly key: string;
  readonly at: string;
  readonly lane: HistoryEvent["lane"];
}

/** Newest first, as the list shows them. */
export function happenings(events: readonly HistoryEvent[], of: EventOf): Happening[] {
  return events
    .map((event, at) => ({ key: `${at}/${event.at}`, at: event.at, lane: event.lane, ...withDoor(event, of) }))
    .reverse();
}

/** Through which door a person decided stands behind what they did. */
function withDoor(event: HistoryEvent, of: EventOf): EventLook {
  const look = eventLook(event, of);
  return event.origin ? { ...look, text: `${look.text}, ${TASK.doors[event.origin.door]}` } : look;
}
