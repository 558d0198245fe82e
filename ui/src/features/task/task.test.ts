import { describe, expect, test } from "vitest";
import type { AuditVerb, HistoryEvent, RequestDto, TaskDto, VerdictDto } from "$lib/bindings";
import { makeRow } from "$lib/fake-core/rows";
import { detail } from "$lib/fake-core/entities";
import { ALL_PHASES } from "$lib/task/phase";
import { timelineEvents } from "./timeline/events";
import { verdictText } from "./result/hold-verdict";
import { lanes } from "./timeline/lanes";
import { cancelSteps, cancelOutcome } from "./cancel/cancel-steps";
import { statusLine } from "./status-line";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();
const task = (change: Partial<TaskDto> = {}): TaskDto => ({
  ...detail(makeRow(1, "running", NOW), [], NOW),
  server: "warehouse",
  intent: null,
  endedAt: null,
  over: false,
  createdAt: at(-600),
  ...change,
});
const wish = (change: Partial<NonNullable<TaskDto["intent"]>> = {}): TaskDto["intent"] => ({
  kind: "cancel",
  at: at(-34),
  by: "Mara",
  reason: "wrong month",
  state: "asked",
  refusedWhy: null,
  sentAt: at(-34),
  acknowledgedAt: null,
  ...change,
});

describe("the truth line", () => {
  test("says_the_servers_word_when_it_was_heard_and_when_the_next_look_is", () => {
    const now = statusLine(
      task({
        status: "working",
        progress: { done: 38, total: 100, message: null },
        lastSeenAt: at(-8),
        nextLookAt: at(22),
        dueAt: null,
        contact: { kind: "fresh", since: at(-8), failures: 0, last: null },
      }),
      NOW,
      false,
    );
    expect(now).toEqual({
      says: "working, 38 %",
      unsaid: null,
      heard: "last heard 8 s ago",
      next: "next check in 22 s",
      then: "runs until it ends",
      isStale: false,
    });
  });

  test("a_task_that_has_ended_shows_no_percentage", () => {
    const ended = { status: "completed", over: true, progress: { done: 38, total: 100, message: null } } as const;
    expect(statusLine(task(ended), NOW, false).says).toBe("completed");
  });

  test("a_server_that_said_nothing_was_not_heard", () => {
    const called = {
      status: null,
      progress: null,
      createdAt: at(-540),
      lastSeenAt: at(-540),
      contact: { kind: "fresh", since: at(-540), failures: 0, last: null },
    } as const;
    const said = (view: string) => statusLine(task({ ...called, view }), NOW, false);
    expect([said("ownCall").unsaid, said("ownCall").heard]).toEqual([
      "warehouse has not replied yet",
      "called 9 min ago",
    ]);
    expect([said("notSent").unsaid, said("notSent").heard]).toEqual(["Nothing of it runs", "created 9 min ago"]);
    expect([said("direct").unsaid, said("direct").heard], "an answer was heard").toEqual([
      "warehouse replied without a task",
      "last heard 9 min ago",
    ]);
  });

  test("every_phase_says_what_happens_if_nobody_acts", () => {
    for (const phase of ALL_PHASES)
      expect(statusLine(task({ phase }), NOW, true).then, `\`${phase}\` has a consequence`).not.toBe("");
  });

  test("what_is_lost_because_a_person_ended_its_server_says_who_did", () => {
    const ended = task({
      phase: "lost",
      over: true,
      endedAt: at(-60),
      serverEnded: { how: "ended", by: "mara", at: at(-60) },
    });
    expect(statusLine(ended, NOW, false, "mara").then).toMatch(/^its server was ended by you at /);
    expect(statusLine(ended, NOW, false, "tom").then).toMatch(/^its server was ended by mara at /);
    expect(statusLine(ended, NOW, false).next, "and nothing is checked").toBe("no more checks");
    const asked = { ...ended, intent: wish({ state: "asked" }) };
    expect(cancelSteps(asked, NOW, null).at(-1)?.text).toBe("The process of warehouse ended");
  });

  test("what_keeps_a_task_from_going_on_is_said_unless_it_waits_for_a_person", () => {
    const trouble = "its last 3 checks failed: the server's answer could not be read: it is too large";
    expect(statusLine(task({ trouble }), NOW, false).then).toBe(trouble);
    expect(statusLine(task({ trouble, phase: "waiting" }), NOW, false).then).not.toBe(trouble);
  });

  test("silence_is_said_and_never_taken_for_news", () => {
    const now = statusLine(
      task({
        phase: "silent",
        lastSeenAt: at(-720),
        contact: { kind: "silent", since: at(-600), failures: 3, last: null },
      }),
      NOW,
      false,
    );
    expect([now.isStale, now.heard]).toEqual([true, "silent, last heard 12 min ago"]);
  });
});

describe("the steps of a stop", () => {
  const words = (one: TaskDto) => cancelSteps(one, NOW, { asked: 9, stopped: 3 }).map((step) => step.text);

  test("without_a_word_of_the_server_nothing_is_claimed", () => {
    expect(words(task({ intent: wish() }))).toEqual([
      "Asked warehouse to cancel",
      "No reply from warehouse yet",
      "Cancelled, or finished first",
    ]);
    expect(words(task({ intent: wish({ sentAt: null }) }))[0]).toBe("Recorded, being sent to the server");
  });

  test("acknowledged_is_not_stopped", () => {
    const list = cancelSteps(
      task({ intent: wish({ state: "acknowledged", acknowledgedAt: at(-33) }), nextLookAt: at(26) }),
      NOW,
      { asked: 10, stopped: 3 },
    );
    expect(list.map((step) => step.text)).toEqual([
      "Asked warehouse to cancel",
      "warehouse acknowledged",
      "Still working on warehouse",
      "Cancelled, or finished first",
    ]);
    expect(list[2]?.proof).toBe("It obeyed 3 of 9 earlier cancels. Next check in 26 s.");
    expect(list[3]?.todo, "the end is still open").toBe(true);
  });

  test("a_task_that_ended_first_says_so", () => {
    const ended = task({
      over: true,
      phase: "done",
      endedAt: at(-2),
      intent: wish({ state: "finishedAnyway" }),
      result: { bytes: 9, isError: false, state: "stored" },
    });
    expect(words(ended)).toEqual(["Asked warehouse to cancel", "Finished before it could stop"]);
    expect(cancelOutcome({ ...ended, intent: wish({ state: "asked" }) }), "also when the core has not judged yet").toBe(
      "finishedAnyway",
    );
  });

  test("a_refusal_shows_the_servers_reason_and_leaves_the_way_open", () => {
    const refused = task({ intent: wish({ state: "refused", refusedWhy: "cannot be cancelled" }) });
    expect(cancelOutcome(refused)).toBe("refused");
    expect(cancelSteps(refused, NOW, null).at(-1)).toMatchObject({
      text: "warehouse refused to cancel it",
      proof: "cannot be cancelled",
    });
    const unsent = task({
      intent: wish({ state: "refused", sentAt: null, refusedWhy: "the reply to this call is lost" }),
    });
    expect(cancelSteps(unsent, NOW, null).at(-1), "a server that was never asked has refused nothing").toMatchObject({
      text: "It could not be sent to warehouse",
    });
  });

  test("a_task_nobody_watches_has_no_stop", () => {
    expect(cancelOutcome(task({ intent: wish({ kind: "unwatched", state: null }) }))).toBe("none");
  });
});

describe("what happened", () => {
  const event = (
    verb: string,
    lane: "agent" | "server" | "person",
    seconds: number,
    note = "",
    who = "Mara",
  ): HistoryEvent => ({ at: at(seconds), lane, actor: lane, verb: verb as AuditVerb, who, key: null, note });
  const of = { server: "warehouse", agent: "order-bot", tool: "backfill", me: "Mara" };

  test("the_oldest_stands_first_and_i_am_you", () => {
    const list = timelineEvents(
      [event("admitted", "agent", -600, "", "order-bot"), event("stopBegun", "person", -34, "wrong month")],
      of,
    );
    expect(list.map((one) => one.text)).toEqual([
      "order-bot called backfill on warehouse",
      "You asked warehouse to cancel",
    ]);
    expect(list[1]?.words).toBe("wrong month");
  });

  test("a_verb_of_a_newer_core_is_not_shown_as_it_is", () => {
    expect(timelineEvents([event("resealed", "person", 0)], of)[0]?.text).toBe(
      "An event that this version cannot describe",
    );
  });

  test("words_from_outside_stay_one_line_of_text", () => {
    const hostile = `\u001b[31m<b>x</b>\u202e\n${"a".repeat(100_000)}`;
    const said = timelineEvents([event("stopBegun", "person", 0, hostile, hostile)], of)[0];
    expect(said?.words?.length, "capped").toBeLessThanOrEqual(200);
    expect(said?.text).not.toMatch(/[\n\u001b\u202e]/);
  });
});

describe("what was decided about a held result", () => {
  const decided = { agent: "research-7", who: "Mara", when: "3 min ago" };
  const verdict = (change: Partial<VerdictDto>): string =>
    verdictText(
      {
        delivered: true,
        form: "whole",
        trimTokens: null,
        by: "Mara",
        byLimit: false,
        at: at(-180),
        reason: null,
        ...change,
      },
      decided,
    );

  test("says_in_which_form_the_agent_gets_it", () => {
    expect(verdict({})).toBe("Delivered whole to research-7 by Mara 3 min ago.");
    expect(verdict({ form: "slices" })).toBe("Delivered in parts to research-7 by Mara 3 min ago.");
    expect(verdict({ form: "trimmed", trimTokens: 5_000 })).toBe(
      "Delivered to research-7 by Mara 3 min ago, trimmed to about 5,000 tokens.",
    );
  });

  test("says_that_it_does_not_or_that_a_limit_did_it", () => {
    expect(verdict({ delivered: false, form: null })).toBe("Withheld from research-7 by Mara 3 min ago.");
    expect(verdict({ form: "slices", byLimit: true })).toBe("Because of a limit, research-7 reads it in parts.");
  });
});

describe("the lanes", () => {
  const request = (from: number, to: number | null): RequestDto => ({
    key: `k${from}`,
    kind: "form",
    message: "",
    state: to === null ? "open" : "confirmed",
    openedAt: at(from),
    secretFields: [],
    withdrawnWhy: null,
    answer:
      to === null
        ? null
        : { action: "accept", by: "Mara", at: at(to), delivery: "acknowledged", refusedWhy: null, notBefore: null },
  });

  test("waiting_for_a_person_is_never_the_tasks_own_time", () => {
    const { spans } = lanes(
      task({ requests: [request(-480, -360), request(-400, -300), request(-60, null)] }),
      [],
      [],
      NOW,
    );
    expect(spans).toEqual([
      { from: 0, to: 20, kind: "working" },
      { from: 20, to: 40, kind: "asked" },
      { from: 40, to: 50, kind: "asked" },
      { from: 50, to: 90, kind: "working" },
      { from: 90, to: 100, kind: "asked" },
    ]);
  });

  test("everything_lies_on_the_axis", () => {
    const list = timelineEvents(
      [
        { at: at(-9_999), lane: "policy", actor: "taskwarden", verb: "lost", who: "", key: null, note: "" },
        {
          at: at(99),
          lane: "server",
          actor: "server",
          verb: "ended",
          who: "",
          key: null,
          note: "working -> completed",
        },
      ],
      { server: "w", agent: "order-bot", tool: "backfill", me: null },
    );
    const { pins, ticks, spans } = lanes(
      task({ requests: [request(-700, null)] }),
      list,
      [at(-99_999), at(-1), at(500)],
      NOW,
    );
    for (const place of [
      ...pins.policy.map((pin) => pin.at),
      ...pins.server.map((pin) => pin.at),
      ...ticks,
      ...spans.flatMap((span) => [span.from, span.to]),
    ]) {
      expect(place >= 0 && place <= 100, `${place} is on the axis`).toBe(true);
    }
  });

  test("a_thousand_events_stay_a_picture", () => {
    const many = Array.from({ length: 1_000 }, (_, step): HistoryEvent => ({
      at: at(-600 + step / 2),
      lane: "policy",
      actor: "taskwarden",
      verb: "lost",
      who: "",
      key: null,
      note: "",
    }));
    expect(
      lanes(task(), timelineEvents(many, { server: "w", agent: "order-bot", tool: "backfill", me: null }), [], NOW).pins
        .policy.length,
    ).toBeLessThanOrEqual(34);
  });
});
