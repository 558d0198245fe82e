// @vitest-environment jsdom
/* The façade over a core that comes and goes. Time is vitest's. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { Feed } from "./feed.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the feed", () => {
  it("is_live_after_the_first_snapshot", async () => {
    const feed = new Feed(fake());
    const stop = feed.start();
    expect([feed.connection, feed.state], "nothing is known yet").toEqual(["connecting", null]);
    await vi.advanceTimersByTimeAsync(20);
    expect([feed.connection, feed.servers?.size], "the snapshot has six servers").toEqual(["live", 6]);
    stop();
  });
  it("keeps_the_last_rows_when_the_core_is_lost", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    const inbox = feed.inbox;
    backend.lose();
    expect([feed.connection, feed.stale, feed.inbox === inbox], "stale, never empty").toEqual(["lost", true, true]);
    stop();
  });
  it("comes_back_by_itself", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    backend.lose();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(feed.connection, "still away").toBe("lost");
    backend.find();
    await vi.advanceTimersByTimeAsync(9_000);
    expect([feed.connection, feed.why], "within the longest back-off").toEqual(["live", null]);
    stop();
  });
  it("does_not_ask_a_lost_core_more_and_more_often", async () => {
    const backend = fake({ connection: "lost" });
    const subscribe = vi.spyOn(backend, "subscribe");
    const stop = new Feed(backend).start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(subscribe.mock.calls.length, "0.25, 0.5, 1, 2, 4 s, then each 8 s").toBeLessThanOrEqual(13);
    stop();
  });
  it("tells_the_core_what_is_on_screen_once_it_rests", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    for (let at = 0; at < 20; at += 1) feed.focus({ ids: [`hdl_${at}`] });
    feed.focus({ task: "hdl_19" });
    await vi.advanceTimersByTimeAsync(150);
    expect(backend.called, "one call for a whole scroll").toEqual([
      { name: "feed.focus", input: { feed: "feed-1", query: null, ids: ["hdl_19"], task: "hdl_19", visible: true } },
    ]);
    stop();
  });
  it("draws_frames_that_come_together_once", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    const before = feed.state;
    for (let at = 0; at < 50; at += 1) backend.state.stir(100);
    expect(feed.state === before, "nothing is drawn in between").toBe(true);
    await vi.advanceTimersByTimeAsync(20);
    expect(feed.state?.changes, "and nothing is lost").toBe(5_000);
    stop();
  });
  it("begins_anew_after_a_gap_without_a_word", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    const stop = feed.start();
    await vi.advanceTimersByTimeAsync(20);
    backend.state.upto += 5;
    backend.state.send({ changes: 1 });
    await vi.advanceTimersByTimeAsync(20);
    expect([feed.connection, feed.state?.upto], "a fresh snapshot").toEqual(["live", backend.state.upto]);
    stop();
  });
  it("ends_quietly_when_the_page_goes", async () => {
    const backend = fake();
    const feed = new Feed(backend);
    feed.start()();
    backend.lose();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(feed.connection, "no retry after the end").toBe("connecting");
  });
});
