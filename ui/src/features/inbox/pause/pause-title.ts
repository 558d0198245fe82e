/* How the item of a pause is named, and where its calls go. Pure. */
import type { InboxRow, PauseDto } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";

export const kindOf = (pause: PauseDto): "agent" | "server" => (pause.agent === null ? "server" : "agent");

/** What is paused. */
export const nameOf = (pause: PauseDto): string => pause.agent ?? pause.server ?? "";

export function pauseTitle(pause: PauseDto): string {
  return pauseChoiceText.title[kindOf(pause)](singleLine(nameOf(pause), 60), pause.waiting);
}

/** The tools that were called, each once, as far as the item names them. */
export function calledTools({ pause }: InboxRow): string {
  const tools = (pause?.calls ?? []).map(({ server, tool }) =>
    [pause?.agent == null ? null : server, tool].filter(Boolean).join(" / "),
  );
  return [...new Set(tools)].filter(Boolean).join(", ");
}
