// @vitest-environment jsdom
/* A core that answers, goes silent on open connections, or is gone. Time is vitest's, the monotonic clock included. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApiError } from "$lib/bindings";
import { noCore } from "$lib/backend/backend";
import { fake } from "$lib/fake-core/backend";
import { Feed } from "./feed.svelte";
import { Heartbeat, HELD_UP_MS, PING_EVERY_MS, PING_LIMIT_MS } from "./heartbeat";

/** Within this a person must be told (issue 11). */
const TOLD_WITHIN_MS = 10_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a heartbeat", () => {
  function beating(answer: (signal: AbortSignal) => Promise<unknown>) {
    const told: string[] = [];
    let pings = 0;
    const heartbeat = new Heartbeat({
      ping: (signal) => {
        pings += 1;
        return answer(signal);
      },
      answered: () => void told.push("answered"),
      silent: () => void told.push("silent"),
    });
    const stop = heartbeat.start();
    return { told, heartbeat, stop, pings: () => pings };
  }
  const never = () => new Promise<never>(() => undefined);

  it("pings_every_five_seconds", async () => {
    const one = beating(() => Promise.resolve({}));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.pings(), "one at the start and twelve in a minute").toBe(13);
    expect(one.told.includes("silent")).toBe(false);
    one.stop();
  });
  it("an_error_of_the_core_is_an_answer", async () => {
    const old: ApiError = { code: "notFound", message: "there is no call `core.ping`", hint: "" };
    const one = beating(() => Promise.reject(old));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(one.told.includes("silent"), "a core of an older version is alive").toBe(false);
    one.stop();
  });
  it("a_core_that_is_gone_is_told_at_once", async () => {
    const one = beating(() => Promise.reject(noCore));
    await vi.advanceTimersByTimeAsync(1);
    expect(one.told).toEqual(["silent"]);
    one.stop();
  });
  it("a_ping_that_cannot_be_aborted_is_not_sent_again_and_again", async () => {
    const one = beating(never);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(one.pings(), "one each half minute").toBeLessThanOrEqual(5);
    one.stop();
  });
  it("a_ping_that_can_be_aborted_is_aborted_and_sent_anew", async () => {
    const one = beating(
      (signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(noCore as unknown as Error))),
    );
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.pings(), "the pace stays").toBe(13);
    one.stop();
  });
  it("a_feed_that_goes_on_is_proof_while_slow_calls_hold_every_connection", async () => {
    const one = beating(never);
    const feed = setInterval(() => one.heartbeat.heard(), 3_000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.told.includes("silent"), "the feed breathes").toBe(false);
    clearInterval(feed);
    await vi.advanceTimersByTimeAsync(TOLD_WITHIN_MS);
    expect(one.told.at(-1), "and then it does not").toBe("silent");
    one.stop();
  });
  it("a_suspended_machine_is_no_silence_of_the_core", async () => {
    let isAsleep = false;
    const one = beating(() => (isAsleep ? never() : Promise.resolve({})));
    await vi.advanceTimersByTimeAsync(12_000);
    // Suspended with a ping in the air: timers and answers stand still, and the clock goes on.
    isAsleep = true;
    await vi.advanceTimersByTimeAsync(3_500);
    const at = performance.now() + 3_600_000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => at);
    isAsleep = false;
    await vi.advanceTimersByTimeAsync(HELD_UP_MS + PING_LIMIT_MS);
    expect(one.told.includes("silent"), "it asks again before it judges").toBe(false);
    clock.mockRestore();
    one.stop();
  });
  it("a_step_of_the_wall_clock_is_no_silence", async () => {
    const one = beating(() => Promise.resolve({}));
    await vi.advanceTimersByTimeAsync(7_000);
    vi.spyOn(Date, "now").mockReturnValue(0);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(one.told.includes("silent")).toBe(false);
    one.stop();
  });
  it("says_nothing_after_its_end", async () => {
    const one = beating(never);
    one.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([one.told, one.pings()]).toEqual([[], 1]);
  });
});

describe("the feed of a core that freezes", () => {
  async function live() {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    expect(feed.connection).toBe("live");
    return { backend, feed, stop };
  }

  it("is_lost_within_ten_seconds_wherever_in_its_pace_the_core_freezes", async () => {
    for (let after = 0; after <= PING_EVERY_MS; after += 500) {
      const { backend, feed, stop } = await live();
      await vi.advanceTimersByTimeAsync(after);
      backend.freeze();
      await vi.advanceTimersByTimeAsync(TOLD_WITHIN_MS);
      expect([feed.connection, feed.why?.code], `frozen after ${after} ms`).toEqual(["lost", "noCore"]);
      stop();
    }
  });
  it("keeps_its_rows_with_the_time_of_the_last_answer", async () => {
    const { backend, feed, stop } = await live();
    await vi.advanceTimersByTimeAsync(3 * PING_EVERY_MS + 10);
    const answered = feed.heardAt;
    const inbox = feed.inbox;
    backend.freeze();
    await vi.advanceTimersByTimeAsync(180_000);
    expect([feed.connection, feed.inbox === inbox, feed.heardAt], "as they were").toEqual(["lost", true, answered]);
    expect(Date.now() - feed.heardAt, "three minutes ago, and not now").toBeGreaterThanOrEqual(180_000);
    stop();
  });
  it("begins_anew_when_the_core_goes_on", async () => {
    const { backend, feed, stop } = await live();
    backend.freeze();
    await vi.advanceTimersByTimeAsync(60_000);
    backend.state.upto += 5;
    const begun = feed.begun;
    backend.thaw();
    await vi.advanceTimersByTimeAsync(PING_EVERY_MS + 100);
    expect([feed.connection, feed.why, feed.begun, feed.state?.upto], "one fresh snapshot").toEqual([
      "live",
      null,
      begun + 1,
      backend.state.upto,
    ]);
    stop();
  });
  it("does_not_open_feed_after_feed_while_the_core_is_frozen", async () => {
    const { backend, feed, stop } = await live();
    const subscribe = vi.spyOn(backend, "subscribe");
    backend.freeze();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(subscribe.mock.calls.length, "the open one stays").toBe(0);
    feed.retry();
    backend.thaw();
    await vi.advanceTimersByTimeAsync(PING_EVERY_MS);
    expect(feed.connection, "a person's try is answered, too").toBe("live");
    stop();
  });
  it("a_page_that_is_loaded_while_the_core_is_frozen_says_so", async () => {
    const backend = fake();
    backend.freeze();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(TOLD_WITHIN_MS);
    expect([feed.connection, feed.state], "nothing is known, and that is said").toEqual(["lost", null]);
    backend.thaw();
    await vi.advanceTimersByTimeAsync(PING_EVERY_MS + 100);
    expect(feed.connection).toBe("live");
    stop();
  });
  it("a_core_that_is_killed_is_lost_at_once_and_found_again", async () => {
    const { backend, feed, stop } = await live();
    backend.lose();
    expect(feed.connection).toBe("lost");
    backend.find();
    await vi.advanceTimersByTimeAsync(9_000);
    expect(feed.connection).toBe("live");
    stop();
  });
});
