/* What is announced without being asked: new items that need a person, once and together, and the core lost and back.
   The first snapshot is no news: what waits already is listed, not told one by one. */
import type { Announcer } from "$lib/actions";
import type { InboxRow } from "$lib/bindings";
import type { Feed } from "$lib/feed/feed.svelte";
import { APP } from "$lib/text/app";

/** Ids that were not there before. Null before: nothing is new. */
export function newItems(before: ReadonlySet<string> | null, now: ReadonlyMap<string, InboxRow>): string[] {
  if (before === null) return [];
  return [...now.values()].filter((row) => row.answeredBy === null && !before.has(row.id)).map((row) => row.id);
}

/** Call it while the outermost component is made. */
export function announceChanges(feed: Feed, announcer: Announcer): void {
  let known: ReadonlySet<string> | null = null;
  let wasLost = false;

  $effect(() => {
    if (feed.inbox === null) return;
    const fresh = newItems(known, feed.inbox).length;
    known = new Set(feed.inbox.keys());
    if (fresh > 0) announcer.say(APP.newRequests(fresh));
  });

  $effect(() => {
    if (feed.connection === "lost") announcer.interrupt(APP.lostSaid);
    else if (feed.connection === "live" && wasLost) {
      announcer.interrupt("");
      announcer.say(APP.backSaid);
    }
    wasLost = feed.connection === "lost" || (wasLost && feed.connection !== "live");
  });
}
