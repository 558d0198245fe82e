import { describe, expect, it } from "vitest";
import type { Frame, InboxRow } from "$lib/bindings";
import { CoreState } from "$lib/fake-core/core-state";
import { inboxOrder, needsAttention, reduce, type FeedState } from "./feed-state";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");

function begun(): { core: CoreState; state: FeedState } {
  const core = new CoreState({ now: NOW, tasks: 28, inbox: 6, servers: 5 });
  const state = reduce(null, core.snapshot());
  if (state === "resubscribe") throw new Error("a snapshot always begins");
  return { core, state };
}

function next(core: CoreState, act: () => void): Frame {
  let sent: Frame | null = null;
  core.onframe = (frame) => (sent = frame);
  act();
  if (sent === null) throw new Error("nothing was sent");
  return sent;
}

function applied(state: FeedState, frame: Frame): FeedState {
  const after = reduce(state, frame);
  if (after === "resubscribe") throw new Error("the delta did not fit");
  return after;
}

describe("frames", () => {
  it("a_delta_that_follows_is_applied", () => {
    const { core, state } = begun();
    const [server] = [...state.servers.values()];
    const after = applied(
      state,
      next(core, () => core.send({ servers: server ? [{ ...server, openTasks: 99 }] : [] })),
    );
    expect(after.servers.get(server?.name ?? "")?.openTasks, "the upsert is absolute").toBe(99);
  });
  it("a_gap_means_to_subscribe_anew", () => {
    const { core, state } = begun();
    next(core, () => core.send({ changes: 3 }));
    expect(
      reduce(
        state,
        next(core, () => core.send({})),
      ),
      "the first delta was missed",
    ).toBe("resubscribe");
  });
  it("a_delta_before_any_snapshot_means_to_subscribe_anew", () => {
    const { core } = begun();
    expect(
      reduce(
        null,
        next(core, () => core.send({})),
      ),
      "there is nothing to apply it to",
    ).toBe("resubscribe");
  });
  it("what_did_not_change_keeps_its_identity", () => {
    const { core, state } = begun();
    const after = applied(
      state,
      next(core, () => core.send({ changes: 1 })),
    );
    expect(
      [
        after.servers === state.servers,
        after.inbox === state.inbox,
        after.totals === state.totals,
        after.rows === state.rows,
      ],
      "readers are not run again",
    ).toEqual([true, true, true, true]);
  });
  it("one_changed_server_leaves_the_others_as_they_are", () => {
    const { core, state } = begun();
    const [one, other] = [...state.servers.values()];
    const after = applied(
      state,
      next(core, () => core.send({ servers: one ? [{ ...one, openTasks: 1 }] : [] })),
    );
    expect(after.servers.get(other?.name ?? "") === other, "same object").toBe(true);
  });
  it("gone_items_go_and_unknown_ones_change_nothing", () => {
    const { core, state } = begun();
    const [first] = state.inbox.keys();
    const after = applied(
      state,
      next(core, () => core.send({ goneInbox: [first ?? "", "hdl_none/x"] })),
    );
    expect(after.inbox.size, "one of six").toBe(5);
    expect(
      applied(
        after,
        next(core, () => core.send({ goneInbox: ["hdl_none/x"] })),
      ).inbox === after.inbox,
      "nothing changed",
    ).toBe(true);
  });
  it("no_change_is_lost_in_the_count", () => {
    const { core, state } = begun();
    let held = state;
    for (const count of [5, 1, 160])
      held = applied(
        held,
        next(core, () => core.stir(count)),
      );
    expect(held.changes, "every change is counted, on screen or not").toBe(166);
  });
  it("rows_out_of_focus_are_let_go_in_the_end", () => {
    const { core, state } = begun();
    const [row] = core.rows.values();
    if (!row) throw new Error("no row");
    const many = Array.from({ length: 2_500 }, (_, at) => ({ ...row, id: `hdl_${at}` }));
    const after = applied(
      state,
      next(core, () => core.send({ rows: many })),
    );
    expect([after.rows.size, after.rows.has("hdl_0"), after.rows.has("hdl_2499")], "the newest 2,000 stay").toEqual([
      2_000,
      false,
      true,
    ]);
  });
  it("a_resync_means_to_subscribe_anew", () =>
    expect(reduce(begun().state, { type: "resync", why: "behind" }), "the core says so").toBe("resubscribe"));
});

describe("budgets", () => {
  it("come_whole_and_stay_when_a_frame_has_none", () => {
    const { core, state } = begun();
    expect(state.budgets.budgets.length, "those of the snapshot").toBeGreaterThan(0);
    const same = applied(
      state,
      next(core, () => core.stir(1)),
    );
    expect(same.budgets, "nothing said of them: the same list").toBe(state.budgets);
    const [first] = state.budgets.budgets;
    const after = applied(
      same,
      next(core, () => core.budget(first?.agentId ?? "", (one) => ({ ...one, burnPerMinute: 7 }))),
    );
    expect(after.budgets.budgets[0]?.burnPerMinute).toBe(7);
  });
});

describe("the inbox", () => {
  const row = (id: string, openedAt: string, deadline: string | null): InboxRow => ({
    id,
    openedAt,
    deadline,
    kind: "form",
    task: id,
    key: "k",
    server: "s",
    tool: null,
    agent: null,
    message: null,
    host: null,
    snoozedUntil: null,
    changedAt: openedAt,
    answeredBy: null,
    destructive: false,
    tokens: null,
    limit: null,
    exactness: null,
    why: null,
  });
  it("has_deadlines_first_soonest_first_then_the_oldest", () => {
    const rows = [
      row("new", "2026-11-21T14:00:00Z", null),
      row("late", "2026-11-21T10:00:00Z", "2026-11-21T16:00:00Z"),
      row("old", "2026-11-21T09:00:00Z", null),
      row("soon", "2026-11-21T14:20:00Z", "2026-11-21T14:40:00Z"),
    ];
    expect(
      rows.sort(inboxOrder).map((one) => one.id),
      "cost of delay",
    ).toEqual(["soon", "late", "old", "new"]);
  });
  it("does_not_count_what_sleeps_or_was_answered", () => {
    const one = row("one", "2026-11-21T14:00:00Z", null);
    expect(
      [
        needsAttention(one, NOW),
        needsAttention({ ...one, snoozedUntil: "2026-11-21T15:00:00Z" }, NOW),
        needsAttention({ ...one, snoozedUntil: "2026-11-21T14:00:00Z" }, NOW),
        needsAttention({ ...one, answeredBy: "Dana" }, NOW),
      ],
      "asleep until three, awake again, answered",
    ).toEqual([true, false, true, false]);
  });
});
