/* Everything a screen may ask for, set up once: feed, backend, keys, toasts, announcer. The product, the stories and
   the tests all call `provide`, so that no screen can tell where it runs. */
import { untrack } from "svelte";
import type { Backend } from "$lib/backend/backend";
import { Announcer, setAnnouncer, setStartRequests, setToasts, StartRequests, Toasts } from "./actions";
import { FailFastBackend } from "$lib/backend/fail-fast";
import { setCoreUnavailable } from "$lib/design/controls/core-unavailable";
import { setMeanings } from "$lib/design/text/meanings";
import { Feed, setBackend, setFeed } from "$lib/feed/feed.svelte";
import { Keys, setKeys } from "./keys";
import { ListCache, setListCache } from "$lib/task-list/list-cache";
import { route } from "./route.svelte";
import { APP } from "$lib/text/app";
import { meaningOf } from "$lib/text/help/glossary";

export interface Provided {
  readonly backend: Backend;
  readonly feed: Feed;
  readonly keys: Keys;
  readonly toasts: Toasts;
  readonly announcer: Announcer;
  readonly starting: StartRequests;
}

/** Call it while the outermost component is made. */
export function provide(backend: Backend): Provided {
  const announcer = setAnnouncer(new Announcer());
  const feed = setFeed(new Feed(backend, (hash) => route.open(hash)));
  setCoreUnavailable(() => (feed.connection === "lost" ? APP.needsCore : null));
  setMeanings(meaningOf);
  setListCache(new ListCache());
  return {
    // Untracked: a screen that reads while it is drawn must not read again whenever the connection changes.
    backend: setBackend(
      new FailFastBackend(backend, () => untrack(() => (feed.connection === "lost" ? feed.why : null))),
    ),
    feed,
    keys: setKeys(new Keys()),
    toasts: setToasts(new Toasts(announcer)),
    announcer,
    starting: setStartRequests(new StartRequests()),
  };
}
