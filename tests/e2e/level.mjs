// Waiting on a state of things with a limit: never for a moment, never for an event that may have passed.

/** The longest any wait may take: a debug build and a browser on two slow and busy cores. */
export const LIMIT_MS = 120_000;

/** Asks until the answer is true and gives it; tells the last answer when the limit is over. */
export async function until(what, ask, limitMs = LIMIT_MS) {
  const end = Date.now() + limitMs;
  let last;
  for (;;) {
    last = await ask();
    if (last) return last;
    if (Date.now() > end) throw new Error(`not within ${limitMs} ms: ${what}; last seen: ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
