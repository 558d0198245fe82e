// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fake, type FakeOptions } from "$lib/fake-core/backend";
import { FailFastBackend } from "$lib/backend/fail-fast";
import { Feed } from "$lib/feed/feed.svelte";
import { ListCache } from "$lib/task-list";
import { TaskList } from "./task-list.svelte";

describe("the list over a living core", () => {
  const stops: (() => void)[] = [];
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => {
    stops.splice(0).forEach((stop) => stop());
    vi.useRealTimers();
  });

  async function open(options: FakeOptions, text = "") {
    const backend = fake({ ...options });
    const feed = new Feed(backend);
    stops.push(feed.start());
    const kept = new ListCache();
    const list = new TaskList(backend, feed, kept);
    stops.push(() => list.stop());
    await vi.advanceTimersByTimeAsync(20);
    list.heard(feed.state);
    list.ask(text);
    await vi.advanceTimersByTimeAsync(20);
    /** What the components do: hand over the sight and every state of the feed. */
    const settle = async (rounds = 6) => {
      for (let round = 0; round < rounds; round += 1) {
        list.show(list.shown.sections.map(({ count }, section) => ({ section, from: 0, to: Math.min(count, 40) })));
        await vi.advanceTimersByTimeAsync(300);
        list.heard(feed.state);
      }
    };
    await settle();
    return { backend, feed, kept, list, settle };
  }
  /** An answer, with the time it takes. */
  async function soon<T>(answer: Promise<T>): Promise<T> {
    await vi.advanceTimersByTimeAsync(500);
    return answer;
  }
  const truth = (backend: ReturnType<typeof fake>) => [...backend.state.rows.values()];

  test("counts_are_exact_and_only_what_is_seen_is_loaded", async () => {
    const { list } = await open({ tasks: 10_000 });
    expect(list.total).toBe(10_000);
    expect(list.shown.sections.reduce((sum, section) => sum + section.count, 0)).toBe(10_000);
    expect(list.rows.size, "a few pages").toBeLessThanOrEqual(1_000);
    expect(list.row(0, 0)?.group).toBe("needsYou");
  });

  test("hidden_tasks_leave_the_list_when_another_window_hides_them_and_are_a_list_of_their_own", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const ended = truth(backend).filter((row) => row.group === "finished");
    await soon(backend.call("tasks.hide", { ids: ended.map((row) => row.id) }));
    await settle();
    expect([list.total, list.shown.live.hidden, list.shown.live.all]).toEqual([
      30 - ended.length,
      ended.length,
      30 - ended.length,
    ]);
    list.ask("is:hidden");
    await settle();
    expect([list.total, list.shown.live.hidden, list.isHidden]).toEqual([ended.length, 0, true]);
  });

  test("rows_that_a_person_hides_leave_at_once_even_from_under_the_pointer", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const ended = truth(backend).filter((row) => row.group === "finished");
    list.pointAt(list.count - 1);
    await soon(backend.call("tasks.hide", { ids: ended.map((row) => row.id) }));
    list.showNext();
    await settle(1);
    expect([list.count, list.shown.pendingChanges]).toEqual([30 - ended.length, 0]);
  });

  test("a_task_that_changes_its_group_moves_when_nobody_looks_at_a_row", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const running = truth(backend).find((row) => row.phase === "running");
    backend.state.change(running?.id ?? "", { phase: "waiting", group: "needsYou" });
    await settle();
    expect(list.shown.pendingChanges).toBe(0);
    const needs = list.shown.sections.findIndex((section) => section.group === "needsYou");
    const ids = Array.from(
      { length: list.shown.sections[needs]?.count ?? 0 },
      (_, index) => list.row(needs, index)?.id,
    );
    expect(ids, "it stands among those that need you").toContain(running?.id);
  });

  test("a_section_never_counts_a_task_that_left_it_and_the_head_never_says_n_of_more", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const moving = list.shown.sections.findIndex((section) => section.group === "moving");
    list.moveTo(list.count - 1);
    const first = list.row(moving, 0);
    const before = list.countOf("moving");
    backend.state.change(first?.id ?? "", { phase: "done", group: "finished" });
    await settle();
    expect(list.countOf("moving"), "the head of the section counts what is in it by now").toBe(before - 1);
    expect([list.total, list.shown.live.all], "total and all are of one moment").toEqual([30, 30]);
  });

  test("under_a_focused_row_it_waits_until_the_person_moves", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const moving = list.shown.sections.findIndex((section) => section.group === "moving");
    const before = list.shown.sections[0]?.count ?? 0;
    list.focused(true);
    list.moveTo(before + 1);
    const focused = list.under?.id;
    const other = truth(backend).find((row) => row.group === "finished");
    backend.state.change(other?.id ?? "", { phase: "waiting", group: "needsYou", over: false });
    await settle();
    expect(list.shown.sections[0]?.count, "nothing pushed").toBe(before);
    expect(list.shown.pendingChanges, "one change waits").toBeGreaterThan(0);
    expect(list.row(moving, 1)?.id).toBe(focused);
    list.release();
    expect(list.shown.sections[0]?.count).toBe(before + 1);
    expect(list.under?.id, "the cursor stays with its row").toBe(focused);
  });

  test("no_change_is_lost_under_thousands_a_second", async () => {
    const { backend, feed, list, settle } = await open({ tasks: 2_000, changesPerSecond: 5_000 });
    await settle(10);
    backend.rest();
    await settle(10);
    const known = new Map(truth(backend).map((row) => [row.id, row]));
    const seen = list.shown.sections.flatMap(({ count }, section) =>
      Array.from({ length: Math.min(40, count) }, (_, index) => list.row(section, index)),
    );
    expect(seen.length).toBeGreaterThan(40);
    for (const row of seen)
      expect(row?.progress?.done, `${row?.id ?? "a row"} shows the last word`).toBe(
        known.get(row?.id ?? "")?.progress?.done,
      );
    expect(feed.state?.changes, "every change arrived").toBe(backend.sent);
  });

  test("a_core_that_goes_away_leaves_the_rows", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    backend.lose();
    await settle();
    expect([list.total, list.row(0, 0) !== undefined]).toEqual([30, true]);
  });

  test("a_place_that_is_opened_again_without_a_core_has_its_last_rows", async () => {
    const { backend, feed, list, kept } = await open({ tasks: 30 });
    list.stop();
    backend.lose();
    const gated = new FailFastBackend(backend, () => (feed.connection === "lost" ? feed.why : null));
    const again = new TaskList(gated, feed, kept);
    again.ask("");
    await vi.advanceTimersByTimeAsync(20);
    expect(
      [again.total, again.row(0, 0)?.id, again.loadedAt, again.error?.code],
      "as they were, and read then",
    ).toEqual([30, list.row(0, 0)?.id, list.loadedAt, "noCore"]);
    again.ask("phase:failed");
    await vi.advanceTimersByTimeAsync(20);
    expect(
      [again.shown.sections.length, again.loadedAt],
      "rows of another question are not shown for this one",
    ).toEqual([0, 0]);
    again.stop();
  });

  test("a_late_answer_to_an_old_question_is_dropped", async () => {
    const { list, settle } = await open({ tasks: 300, latencyMs: 200 });
    list.ask("phase:failed");
    list.ask("phase:running");
    await settle(10);
    expect(list.shown.sections.map((section) => section.group)).toEqual(["moving"]);
    expect(list.row(0, 0)?.phase).toBe("running");
  });

  test("a_finished_row_leaves_moving_within_two_seconds_unless_the_pointer_is_on_it", async () => {
    const { backend, list, settle } = await open({ tasks: 30 });
    const moving = list.shown.sections.findIndex((section) => section.group === "moving");
    const first = list.shown.sections[0]?.count ?? 0;
    const row = list.row(moving, 0);
    list.pointAt(first);
    backend.state.change(row?.id ?? "", { phase: "done", group: "finished", over: true });
    await settle(6);
    expect(list.row(moving, 0)?.id, "it stays under the pointer").toBe(row?.id);
    list.pointAt(-1);
    await settle(6);
    const rest = list.shown.sections[moving]?.count ?? 0;
    const ids = Array.from({ length: rest }, (_, index) => list.row(moving, index)?.id);
    expect(ids, "it left when the pointer did").not.toContain(row?.id);
    expect(list.shown.pendingChanges, "and nothing waits").toBe(0);
  });

  test("ones_own_start_is_found_and_stands_under_the_cursor", async () => {
    const { backend, list } = await open({ tasks: 500 });
    list.moveTo(0);
    const started = await soon(backend.call("tasks.start", { server: "docs", tool: "index_folder", arguments: {} }));
    const at = await soon(list.reveal(started.id));
    expect(at, "it has a place").toBeGreaterThanOrEqual(0);
    expect(list.under?.id).toBe(started.id);
    expect(list.isOutside).toBe(false);
  });

  test("a_started_task_that_the_filter_leaves_out_is_told", async () => {
    const { backend, list } = await open({ tasks: 100 }, "server:github");
    const started = await soon(backend.call("tasks.start", { server: "docs", tool: "index_folder", arguments: {} }));
    expect(await soon(list.reveal(started.id))).toBe(-1);
    expect(list.isOutside).toBe(true);
  });

  test("select_all_means_all_that_match_at_once", async () => {
    const { list } = await open({ tasks: 5_000 });
    list.selectAll();
    expect([list.selection.kind, list.selectedCount]).toEqual(["all", 5_000]);
  });

  test("folded_groups_keep_their_counts_and_their_rows_are_not_loaded", async () => {
    const { list } = await open({ tasks: 300 });
    const all = list.count;
    const first = list.shown.sections[0];
    list.fold(first?.group ?? "");
    expect(list.count).toBe(all - (first?.count ?? 0));
    expect(list.shown.sections[0]?.count, "the header still counts").toBe(first?.count);
  });
});
