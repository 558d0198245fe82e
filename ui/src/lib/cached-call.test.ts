// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { clock } from "./clock.svelte";
import { CachedCall, MIN_INTERVAL_MS, REFRESH_MS } from "./cached-call.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("what nobody tells of is read again in each round, for as long as it is due", async () => {
  let isDue = true;
  const read = vi.fn(() => Promise.resolve(1));
  const stop = new CachedCall(read).start(REFRESH_MS, () => isDue);
  await vi.advanceTimersByTimeAsync(2 * REFRESH_MS + MIN_INTERVAL_MS);
  expect(read).toHaveBeenCalledTimes(3);
  isDue = false;
  await vi.advanceTimersByTimeAsync(REFRESH_MS + MIN_INTERVAL_MS);
  expect(read, "not while it is told").toHaveBeenCalledTimes(3);
  stop();
  isDue = true;
  await vi.advanceTimersByTimeAsync(2 * REFRESH_MS);
  expect(read, "nor when it is over").toHaveBeenCalledTimes(3);
});

it("the last value stays with its time when it cannot be read again", async () => {
  const answers = [Promise.resolve("old"), Promise.reject(new Error("no"))];
  const kept = new CachedCall(() => answers.shift() ?? Promise.resolve("new"));
  clock.now = 1_000;
  await kept.now();
  clock.now = 9_000;
  await kept.now();
  expect([kept.value, kept.at, kept.error !== null]).toEqual(["old", 1_000, true]);
  await kept.now();
  expect([kept.value, kept.at, kept.error]).toEqual(["new", 9_000, null]);
});

it("what was to be read again is not when that is taken back, and changes in a row do not put it off", async () => {
  const read = vi.fn(() => Promise.resolve(1));
  const kept = new CachedCall(read);
  const stop = kept.start();
  await vi.advanceTimersByTimeAsync(0);
  kept.again()();
  await vi.advanceTimersByTimeAsync(2 * MIN_INTERVAL_MS);
  expect(read).toHaveBeenCalledTimes(1);
  await kept.now();
  for (let at = 0; at < 6; at += 1) {
    kept.again();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(read, "after the rest of the first change").toHaveBeenCalledTimes(3);
  stop();
});
