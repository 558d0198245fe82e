/* What is announced without being asked: new items that need a person, once and together, and the core lost and back.
   The first snapshot is no news: what waits already is listed, not told one by one. */
import { untrack } from "svelte";
import type { Announcer } from "$lib/actions";
import type { InboxRow } from "$lib/bindings";
import type { Feed } from "$lib/feed/feed.svelte";
import { clock } from "$lib/clock.svelte";
import { APP } from "$lib/text/app";
import { mayTell, noticeOf, WebNotices } from "./web-notices";

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

/** Notifies in the browser of what came while nobody looks at the page. Call it as `announceChanges`. */
export function tellInBrowser(feed: Feed, open: (hash: string) => void): void {
  const notices = new WebNotices();
  let known: ReadonlySet<string> | null = null;

  $effect(() => {
    if (feed.inbox === null) return;
    const fresh = new Set(newItems(known, feed.inbox));
    known = new Set(feed.inbox.keys());
    const isSeen = document.visibilityState === "visible" && document.hasFocus();
    const { core, settings } = feed;
    if (fresh.size === 0 || isSeen || settings === null || !notices.isOn) return;
    if (
      !mayTell(
        core,
        settings,
        untrack(() => clock.now),
      )
    )
      return;
    const notice = noticeOf(
      [...feed.inbox.values()].filter((row) => fresh.has(row.id)),
      settings,
    );
    if (notice) notices.show(notice, open);
  });
}
