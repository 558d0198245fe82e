/* New items are announced once, together. Call it while the screen is created. */
import { getAnnouncer } from "$lib/actions";
import type { InboxRow } from "$lib/bindings";
import { inboxText } from "$lib/text/inbox";
import { sourceOf } from "../item-title";

export function announceArrivals(awake: () => readonly InboxRow[]): void {
  const announcer = getAnnouncer();
  let known: ReadonlySet<string> | null = null;
  $effect(() => {
    const rows = awake();
    const fresh = known === null ? [] : rows.filter((row) => !known?.has(row.id));
    const [first] = fresh;
    if (first)
      announcer.say(fresh.length === 1 ? inboxText.said.one(sourceOf(first)) : inboxText.said.some(fresh.length));
    known = new Set(rows.map((row) => row.id));
  });
}
