/* Which demo task waits for the person, and when its end is to be shown: once its question was answered from the inbox
   and nothing else was chosen there. Pure; the frame of the app keeps it and follows the address. */
import type { InboxRow } from "$lib/bindings";
import type { Place } from "$lib/route";

export interface DemoRun {
  readonly task: string;
  /** Its question stood in the inbox. */
  readonly asked: boolean;
}

/** Where the person is. */
export interface Here {
  readonly place: Place;
  readonly id: string | null;
}

/** What to remember next, and whether to show the end now. */
export function follow(
  run: DemoRun,
  inbox: Iterable<InboxRow>,
  here: Here,
): { readonly run: DemoRun | null; readonly ends: boolean } {
  const rows = [...inbox].filter((row) => row.task === run.task && row.answeredBy === null);
  if (rows.length > 0) return { run: run.asked ? run : { ...run, asked: true }, ends: false };
  if (!run.asked) return { run, ends: false };
  const isHere = here.place === "inbox" && (here.id === null || here.id.startsWith(run.task));
  // Whoever is elsewhere by now is not called back; the result stands among the tasks. An answer that is taken back
  // asks again, and its end is shown again.
  return { run: isHere ? { ...run, asked: false } : null, ends: isHere };
}

/** The address of the end, below the place *start*. */
export const END = "demo/";
export const endOf = (task: string): string => `${END}${task}`;
