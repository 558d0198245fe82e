// Waits on a level with a limit: a debug build under load takes its time, but never for ever.
const LIMIT_MS = 60_000;
const STEP_MS = 50;

/** What `look` gives once it gives something; on the limit, what it gave last. */
export async function until(what, look) {
  const end = performance.now() + LIMIT_MS;
  let last;
  while (performance.now() < end) {
    last = await look();
    if (last) return last;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  throw new Error(`waited ${LIMIT_MS} ms for ${what}; at the end it was ${JSON.stringify(last)}`);
}
