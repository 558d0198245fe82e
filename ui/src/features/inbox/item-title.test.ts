import { expect, it } from "vitest";
import type { AlarmDto, AuditVerb, BudgetDto, HistoryEvent } from "$lib/bindings";
import { budgetOf } from "$lib/budget/window-fill";
import { makeBudgets } from "$lib/fake-core/budgets";
import { makeAgents } from "$lib/fake-core/entities";
import { STORY_NOW } from "$lib/fake-core/story";
import { usualRange } from "$lib/format/time";
import { firstSentence } from "$lib/task/first-sentence";
import { SAME_CALL } from "./alarm.example";
import { historyLines } from "./detail/history-lines";
import { DOES_NOT_FIT, OVER_LIMIT, QUESTION, RESULT_HELD, sharedAmong, TOO_LARGE } from "./inbox.example";
import { iconOf, isShared, isSized, titleOf, windowText } from "./item-title";

it.each([
  ["Build 8841 is green. How should v4.12.0 roll out? I roll back by myself.", "How should v4.12.0 roll out?"],
  ["Name the reviewer for this release.", "Name the reviewer for this release"],
  ["Tidy `/home/mara/Downloads`? Files that would go: 3 Images.", "Tidy `/home/mara/Downloads`?"],
  ["Build 8841 is green. Choose how to release it. I roll back by myself.", "Choose how to release it"],
  ["The import is ready. Please enter the ticket. How is it named?", "How is it named?"],
  ["Typing is slow. Names differ.", "Typing is slow"],
  ["no stop at all", "no stop at all"],
  ["", ""],
  ["...", "..."],
  ["Line one\nline two. Rest", "Line one line two"],
  ["\u001b[31mRed\u001b[0m alert. More", "Red alert"],
])("%j is named %j", (message, title) => {
  expect(firstSentence(message)).toBe(title);
});

it("a line of 100 kB is named in a moment, and shortly", () => {
  const began = performance.now();
  for (const long of [
    "a".repeat(100_000),
    "a.".repeat(50_000),
    "?".repeat(100_000),
    "a b ".repeat(25_000),
    ".".repeat(100_000),
  ])
    expect(firstSentence(long).length).toBeLessThanOrEqual(140);
  expect(performance.now() - began, "hostile text costs no time").toBeLessThan(500);
});

it("an alarm is named by what its agent does, and how often", () => {
  const { row } = SAME_CALL;
  const alarm = (more: Partial<AlarmDto>) => titleOf({ ...row, alarm: { ...(row.alarm as AlarmDto), ...more } });
  expect([titleOf(row), iconOf(row)]).toEqual(["order-bot made the same call 12 times in 4 min", "refresh"]);
  expect(alarm({ kind: "alternating", count: 20 })).toBe("order-bot made two calls in turn, 20 in 4 min");
  expect(alarm({ kind: "callRate", count: 1_200 })).toBe("order-bot made 1,200 calls in a minute");
  expect(alarm({ agent: "a\u202eb\n" }), "on one line, as it is written").not.toMatch(/[\n\u202e]/);
});

it("a result that a person wants to see is named by its tool, whatever its size", () => {
  const { row } = RESULT_HELD;
  expect(row.tokens, "it was counted").not.toBeNull();
  expect([isSized(row), iconOf(row), titleOf(row)]).toEqual([false, "hand", "The result of quarter_report is held"]);
});

it("a result that is held for its size is told by it, with a limit of one result or of the window", () => {
  for (const { row } of [TOO_LARGE, DOES_NOT_FIT]) expect([isSized(row), iconOf(row)]).toEqual([true, "gauge"]);
  expect(titleOf(DOES_NOT_FIT.row)).toBe("A result of 61k tokens is held");
  expect(isSized(OVER_LIMIT.row), "a task past its limit has no result yet").toBe(false);
});

it("the window of an agent is told with the mark of its figures, and by its limit where that comes first", () => {
  const budgets = makeBudgets(makeAgents(5, STORY_NOW), null, STORY_NOW);
  const of = (agent: string, change: Partial<BudgetDto> = {}) => {
    const found = budgetOf(budgets, agent);
    if (found === null) throw new Error(agent);
    return windowText({ ...found, ...change });
  };
  expect(of("research-7")).toBe("200k, 81 % full");
  expect(of("claude-code")).toBe("200k, ≈ 59 % full");
  expect(of("research-7", { limit: { tokens: 170_000, at: "hold" } })).toBe("up to 170k, 96 % full");
  expect(
    [of("research-7", { now: null }), of("research-7", { windowTokens: null, limit: null })],
    "what is not known is not said",
  ).toEqual(["200k", "size unknown"]);
});

it("a usual length names its unit once when it can", () => {
  expect(usualRange({ medianMs: 9 * 60_000, p95Ms: 14 * 60_000 })).toBe("9 to 14 min");
  expect(usualRange({ medianMs: 40_000, p95Ms: 120_000 })).toBe("40 s to 2 min");
  expect(usualRange({ medianMs: 60_000, p95Ms: 60_000 })).toBe("1 min");
});

const event = (verb: string, second: number, more: Partial<HistoryEvent> = {}): HistoryEvent => ({
  at: `2026-11-21T14:00:${String(second).padStart(2, "0")}.000Z`,
  lane: "server",
  actor: "server",
  verb: verb as AuditVerb,
  who: "ci",
  key: null,
  note: "",
  ...more,
});

it("what led here is in the order of time, with the server's words among it", () => {
  const lines = historyLines(
    {
      events: [event("asked", 9), event("admitted", 1, { actor: "agent", who: "claude-code" })],
      log: [{ at: event("", 5).at, status: "working", text: "Canary <b>pushed</b>" }],
    },
    { server: "ci", agent: "claude-code", tool: "deploy", me: null },
  );
  expect(lines.map((one) => one.text)).toEqual([
    "claude-code called deploy on ci",
    "Canary <b>pushed</b>",
    "ci asked a question",
  ]);
});

it("a long history shows how it began and what came last; a strange verb says that there are no words for it", () => {
  const events = Array.from({ length: 40 }, (_, at) => event(at === 39 ? "constructor" : "asked", at));
  const lines = historyLines({ events, log: [] }, { server: "ci", agent: null, tool: null, me: null });
  expect(lines).toHaveLength(8);
  expect(lines.at(-1)?.text).toBe("An event that this version cannot describe");
});

it("a question is shared only when several calls may be asking it", () => {
  expect([
    isShared(sharedAmong(2).item.row),
    isShared(QUESTION.row),
    isShared({ ...OVER_LIMIT.row, oneOf: ["hdl_1", "hdl_2"] }),
  ]).toEqual([true, false, false]);
});
