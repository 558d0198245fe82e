import { describe, expect, test } from "vitest";
import type { BulkTask, HeldDto, TaskRow, VerdictDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { makeRow } from "$lib/fake-core/rows";
import { parseFilter } from "$lib/task-filter";
import { endableQuery, isEndable, rowOf } from "./selection/bulk-target";
import { resultText, tally, troubleFirst, verdict } from "./selection/plan-results";
import {
  compact,
  doneShare,
  doneText,
  elapsedText,
  messageText,
  startedText,
  tokensText,
  tokensTitle,
  tookText,
} from "./list/cell-text";
import { gridOf, nextSort, shownColumns, sortedBy } from "./list/columns";
import { exportTasks } from "./selection/export";
import { chipValue } from "./filter/chip-text";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const MINUTE = 60_000;

describe("columns", () => {
  test("a_narrow_window_leaves_out_what_matters_least_and_a_person_the_rest", () => {
    expect(shownColumns([], "small")).toEqual(["phase", "task", "progress", "took"]);
    expect(shownColumns(["agent", "phase", "nothing"], "narrow"), "phase stays").toEqual([
      "phase",
      "task",
      "progress",
      "took",
      "message",
    ]);
    expect(gridOf(["phase", "task", "took"]), "without the last message the task takes the rest").toBe(
      "var(--l-select) var(--l-phase) minmax(0, 1fr) var(--l-took)",
    );
  });

  test("a_press_sorts_a_second_turns_it_round_and_a_third_gives_the_newest_first", () => {
    const first = nextSort("server", { sort: "newest", reversed: false });
    expect(first).toEqual({ sort: "server", reversed: false });
    const second = nextSort("server", first ?? { sort: "newest", reversed: false });
    expect(second).toEqual({ sort: "server", reversed: true });
    expect(nextSort("server", second ?? { sort: "newest", reversed: false })).toEqual({
      sort: "newest",
      reversed: false,
    });
    expect(sortedBy("started", { sort: "oldest", reversed: false })).toBe("ascending");
    expect(nextSort("tokens", { sort: "newest", reversed: false }), "what cannot be exact is not sorted").toBeNull();
  });
});

describe("an export", () => {
  const row = { ...makeRow(1, "done", NOW), tool: '=cmd|"x"', says: "a, b\nc" };
  test("holds_the_filter_and_no_formula", () => {
    const { text, name } = exportTasks([row], "csv", "server:docs", NOW);
    expect(name).toBe("tasks-2026-11-21-14-31-36.csv");
    expect(text.split("\r\n")[0]).toBe("# exported 2026-11-21T14:31:36.000Z; filter server:docs; count 1");
    expect(text, "a text of a server is no formula").toContain(`"'=cmd|""x"""`);
    expect(text).toContain('"a, b\nc"');
  });
  test("as_json_is_read_back", () => {
    const { text } = exportTasks([row], "json", "", NOW);
    expect(JSON.parse(text)).toMatchObject({ filter: "", count: 1, tasks: [{ id: row.id, says: "a, b\nc" }] });
  });
});

describe("the cells of a row", () => {
  test("progress_is_a_percentage_or_a_count_and_never_overflows", () => {
    const of = (done: number | null, total: number | null) => doneText({ done, total, message: null });
    expect([
      of(38, 100),
      of(3, 8),
      of(500, 100),
      of(-4, 100),
      of(212, null),
      of(1_204_000, null),
      of(1, 0),
      of(null, 9),
      doneText(null),
    ]).toEqual(["38 %", "37 %", "100 %", "0 %", "212 done", "1.2M done", "1 done", "", ""]);
    for (const value of [1e3, 99_999, 1e9, 1e300, Infinity, NaN])
      expect(of(value, null).length, `${value} fits its column`).toBeLessThanOrEqual(10);
    expect(compact(12_345)).toBe("12k");
  });

  test("times_fit_their_columns", () => {
    expect([40_000, 25 * MINUTE, 72 * MINUTE, 23 * 60 * MINUTE, 3 * 1_440 * MINUTE].map(elapsedText)).toEqual([
      "40 s",
      "25 min",
      "1 h 12",
      "23 h 00",
      "3 d",
    ]);
    const noon = new Date(2026, 10, 21, 12, 5).getTime();
    expect([
      startedText(new Date(2026, 10, 21, 9, 2).toISOString(), noon),
      startedText(new Date(2026, 10, 20, 23, 59).toISOString(), noon),
      startedText(new Date(2025, 10, 20, 9, 2).toISOString(), noon),
    ]).toEqual(["09:02", "20 Nov", "Nov 2025"]);
  });

  test("a_task_that_waits_says_how_long_it_waits_and_no_other_does", () => {
    const paused = { phase: "waiting" as const, pausedSince: new Date(NOW - 12 * MINUTE).toISOString() };
    expect(tookText(paused, 90_000, () => NOW)).toBe("waits 12 min");
    expect(
      tookText({ ...paused, phase: "running" }, 90_000, () => NOW),
      "the wait is not its own time",
    ).toBe("1 min");
  });

  test("progress_is_empty_without_data_and_after_the_end", () => {
    const progress = { done: 3, total: 8, message: null };
    expect(doneShare({ progress, over: false })).toBe(37.5);
    expect(doneShare({ progress, over: true }), "no percentage on a finished row").toBeNull();
    expect(doneShare({ progress: null, over: false })).toBeNull();
    expect(doneShare({ progress: { ...progress, total: 0 }, over: false })).toBeNull();
    expect(doneShare({ progress: { ...progress, done: 1e300 }, over: false }), "never over the whole").toBe(100);
  });

  test("the_last_message_of_a_finished_task_is_its_result_or_error", () => {
    const done = { ...makeRow(1, "done", NOW), statusMessage: "Reading 40 of 40", says: "40 files, none failed" };
    expect(messageText(done, () => NOW)).toEqual({ text: "40 files, none failed", isServers: true });
    const asks = makeRow(1, "waiting", NOW);
    expect(
      messageText({ ...asks, says: "Build 8841 is green. How should it roll out?" }, () => NOW).text,
      "what it asks",
    ).toBe("How should it roll out?");
    const { says: _says, ...silent } = makeRow(1, "done", NOW);
    const plain = { ...silent, statusMessage: "Reading", resultBytes: 4_100 };
    expect(
      messageText(plain, () => NOW),
      "without words, its size",
    ).toEqual({
      text: "Result of 4.1 kB",
      isServers: false,
    });
  });

  test("tokens_stand_with_their_mark_whose_they_are_and_fit_their_column", () => {
    const cost = {
      handle: 312,
      keptOut: 9,
      result: 61_402,
      inWindow: 61_402,
      inWindowExactness: "exact" as const,
      delivered: 8_000,
      arguments: 204,
      family: "o200k",
      exactness: "exact" as const,
    };
    expect(tokensText(cost, null)).toBe("62k");
    expect(tokensTitle(cost, null)).toBe("61,918 in the window or pending (GPT o200k, exact)");
    expect(tokensText({ ...cost, result: null, delivered: 0, exactness: "about" }, null)).toBe("≈ 516");
    for (const result of [9, 9_999, 999_999, 1e9, Number.MAX_SAFE_INTEGER])
      expect(
        tokensText({ ...cost, result, exactness: "atMost" }, null).length,
        `${result} fits its column`,
      ).toBeLessThanOrEqual(8);
  });

  test("a_result_costs_what_its_agent_gets_of_it", () => {
    const cost = {
      handle: 300,
      keptOut: 9,
      result: 61_402,
      inWindow: 61_402,
      inWindowExactness: "exact" as const,
      delivered: 0,
      arguments: 200,
      family: "o200k",
      exactness: "exact" as const,
    };
    const decided = (change: Partial<VerdictDto>): HeldDto => ({
      at: "",
      by: "a limit",
      why: "tooLarge",
      tokens: 61_402,
      limit: 20_000,
      program: null,
      free: null,
      verdict: {
        delivered: true,
        form: "whole",
        trimTokens: null,
        by: "Mara",
        byLimit: false,
        at: "",
        reason: null,
        ...change,
      },
    });
    const shown = (held: HeldDto, delivered = 0) => tokensText({ ...cost, delivered }, held);
    expect(shown({ ...decided({}), verdict: null }), "nobody decided yet").toBe("62k");
    expect([shown(decided({})), shown(decided({ form: "slices" }), 8_000)], "all of it may come in").toEqual([
      "62k",
      "62k",
    ]);
    expect(
      [shown(decided({ delivered: false, form: null })), shown(decided({ delivered: false, form: null }), 8_000)],
      "what is withheld never comes",
    ).toEqual(["500", "8.5k"]);
    expect(
      [
        shown(decided({ form: "trimmed", trimTokens: 5_000 })),
        shown(decided({ form: "trimmed", trimTokens: 5_000 }), 4_800),
        shown(decided({ form: "trimmed", trimTokens: 90_000 })),
      ],
      "nor what is cut off",
    ).toEqual(["5.5k", "5.3k", "62k"]);
  });

  test("a_lost_task_says_when_it_was_last_seen_not_what_the_server_said", () => {
    const row: TaskRow = {
      ...makeRow(0, "lost", NOW),
      status: "working",
      statusMessage: "soon done",
      lastSeenAt: new Date(NOW - 180 * MINUTE).toISOString(),
    };
    expect(messageText(row, () => NOW)).toEqual({ text: "Last seen working 3 h ago", isServers: false });
  });

  test("a_call_that_nobody_confirms_says_so_where_its_server_said_nothing", () => {
    const row: TaskRow = {
      ...makeRow(0, "unconfirmed", NOW),
      server: "ci",
      statusMessage: null,
      progress: null,
    };
    const text = "The reply from ci is lost";
    expect(messageText(row, () => NOW)).toEqual({ text, isServers: false });
    expect(messageText({ ...row, statusMessage: "half done" }, () => NOW).text, "its last words come first").toBe(
      "half done",
    );
  });

  test("hostile_messages_are_one_capped_line", () => {
    const { text } = messageText(
      { ...makeRow(0, "running", NOW), statusMessage: `\u001b[2J<img src=x>\u202eabc\r\n${"z".repeat(100_000)}` },
      () => NOW,
    );
    expect(text.startsWith("<img src=x>abc ")).toBe(true);
    expect(text.length).toBeLessThanOrEqual(300);
  });
});

describe("chips", () => {
  test("name_one_or_two_values_and_count_more", () => {
    const { filter } = parseFilter("phase:running,waiting,failed server:a,b age>2h changed:today x");
    expect(
      (["phases", "servers", "olderThanMs", "changed", "text"] as const).map((key) => chipValue(filter, key)),
    ).toEqual(["any of 3", "a, b", "2 h", "today", "“x”"]);
  });
});

describe("ending many", () => {
  const row = (phase: TaskRow["phase"], change: Partial<TaskRow> = {}): TaskRow => ({
    ...makeRow(1, phase, NOW),
    id: `hdl_${phase}_${JSON.stringify(change).length}`,
    stopState: null,
    ...change,
  });

  test("what_was_asked_to_cancel_can_still_be_revoked_and_what_is_over_neither", () => {
    const chosen = [
      row("running"),
      row("done", { over: true }),
      row("cancelling", { stopState: "asked" }),
      row("silent", { stopState: "refused" }),
      row("revoked", { stopState: "acknowledged" }),
    ];
    const phases = (act: "cancel" | "revoke") => chosen.filter((one) => isEndable(one, act)).map((one) => one.phase);
    expect([phases("cancel"), phases("revoke")]).toEqual([
      ["running", "silent"],
      ["running", "cancelling", "silent"],
    ]);
  });

  test("a_filter_of_ended_tasks_can_end_nothing", () => {
    const query = {
      phases: ["done" as const, "failed" as const],
      servers: [],
      agents: [],
      tools: [],
      flags: [],
      text: null,
      changedWithinMs: null,
      olderThanMs: null,
      groupBy: "need" as const,
      sort: "newest" as const,
    };
    expect(endableQuery(query, "cancel")).toBeNull();
    expect(endableQuery({ ...query, phases: [] }, "cancel")?.phases).toContain("running");
    expect(endableQuery({ ...query, phases: ["cancelling"] }, "cancel"), "they were asked before").toBeNull();
    expect(endableQuery({ ...query, phases: ["cancelling"] }, "revoke")?.phases).toEqual(["cancelling"]);
  });

  test("each_task_has_its_own_result_trouble_first", () => {
    const task = (result: BulkTask["result"], why: string | null = null): BulkTask => ({
      id: `hdl_${result}`,
      result,
      server: "ci",
      agent: null,
      tool: "deploy",
      why,
    });
    const tasks = [task("stopped"), task("endedMeanwhile", "it ended meanwhile"), task("notConfirmed", "not allowed")];
    expect(troubleFirst(tasks).map(resultText)).toEqual([
      "refused: not allowed",
      "cancelled, confirmed by ci",
      "ended before it was asked",
    ]);
  });

  test("the_verdict_never_calls_a_task_ended_that_nobody_confirmed", () => {
    const none = {
      notAsked: 0,
      asked: 0,
      acknowledged: 0,
      stopped: 0,
      finishedAnyway: 0,
      notConfirmed: 0,
      endedMeanwhile: 0,
    };
    expect(verdict("cancel", { ...none, stopped: 2, endedMeanwhile: 1 })).toBe("All 3 have ended.");
    expect(verdict("cancel", { ...none, stopped: 2, notConfirmed: 1 })).toContain("1 may still run");
    expect(verdict("revoke", { ...none, notConfirmed: 3 })).toMatch(/lost access.*None is known to have ended; 3 may/);
    expect(tally({ ...none, notConfirmed: 1, stopped: 2 })).toEqual([
      { result: "stopped", count: 2 },
      { result: "notConfirmed", count: 1 },
    ]);
  });

  test("a_task_read_again_is_a_row", () => {
    const whole = fake({ tasks: 1, now: NOW });
    const id = [...whole.state.rows.keys()][0] ?? "";
    const made = whole.state.task(id);
    expect(made && rowOf(made).id).toBe(id);
  });
});
