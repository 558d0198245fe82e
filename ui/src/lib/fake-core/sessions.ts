/* Made-up browsers that are signed in; the last is the one that asks. */
import type { SessionDto } from "$lib/bindings";
import { iso } from "./random";

const MINUTE_MS = 60_000;

export const SESSIONS = (now: number): SessionDto[] => [
  {
    id: "k3v9x0qa",
    browser:
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    signedInAt: iso(now - 400 * MINUTE_MS),
    usedAt: iso(now - 190 * MINUTE_MS),
    current: false,
  },
  {
    id: "c81nq5re",
    browser: "curl/8.5.0",
    signedInAt: iso(now - 45 * MINUTE_MS),
    usedAt: iso(now - 44 * MINUTE_MS),
    current: false,
  },
  {
    id: "7mw2h4tz",
    browser: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    signedInAt: iso(now - 25 * MINUTE_MS),
    usedAt: iso(now),
    current: true,
  },
];
