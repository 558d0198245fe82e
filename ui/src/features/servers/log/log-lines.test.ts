import { describe, expect, it } from "vitest";
import type { ServerLogDto, ServerLogEvent, ServerLogLine } from "$lib/bindings";
import {
  asText,
  beforeLine,
  eventText,
  found,
  LINES_MAX,
  NO_LINES,
  pieces,
  toneOf,
  withEarlier,
  withPage,
} from "./log-lines";

const line = (number: number, text = `line ${number}`): ServerLogLine => ({
  number,
  at: "2026-11-21T14:29:44.000Z",
  agent: null,
  event: { kind: "line", text },
});
const page = (from: number, to: number, first = 1): ServerLogDto => ({
  lines: Array.from({ length: to - from + 1 }, (_, at) => line(from + at)),
  first,
  next: to + 1,
  keptBytes: 1,
});
const numbers = (lines: readonly ServerLogLine[]) => lines.map((one) => one.number);

describe("the lines of a log", () => {
  it("continue where they were, without a line twice", () => {
    const known = withPage(NO_LINES, page(1, 3));
    expect(numbers(withPage(known, page(3, 5)).lines)).toEqual([1, 2, 3, 4, 5]);
    expect(withPage(known, { ...page(1, 3), lines: [] }), "nothing new is nothing to draw").toBe(known);
  });

  it("that the core no longer keeps leave the page, too", () => {
    expect(numbers(withPage(withPage(NO_LINES, page(1, 3)), page(4, 5, 3)).lines)).toEqual([3, 4, 5]);
  });

  it("of a core that was started anew replace those of the earlier one", () => {
    expect(numbers(withPage(withPage(NO_LINES, page(1, 900)), page(1, 2)).lines)).toEqual([1, 2]);
  });

  it("are bounded, and earlier ones come before them", () => {
    const known = withPage(NO_LINES, page(5, 6));
    expect(numbers(withEarlier(known, page(3, 5).lines).lines)).toEqual([3, 4, 5, 6]);
    const full = withPage(withPage(NO_LINES, page(1, LINES_MAX)), page(LINES_MAX + 1, LINES_MAX + 10));
    expect(full.lines).toHaveLength(LINES_MAX);
    expect(full.lines.at(-1)?.number).toBe(LINES_MAX + 10);
  });

  it("are found in any case, ours as well, and marked in pieces", () => {
    const ended: ServerLogLine = { ...line(9), event: { kind: "ended", code: 1, signal: null, byUs: false } };
    expect(found([line(1, "Timeout"), line(2), ended], "TIMEOUT ")).toEqual([0]);
    expect(found([line(1), ended], "code 1")).toEqual([1]);
    expect(found([line(1)], "  ")).toEqual([]);
    expect(pieces("a timeout, a Timeout", "timeout").map((one) => [one.text, one.hit])).toEqual([
      ["a ", false],
      ["timeout", true],
      [", a ", false],
      ["Timeout", true],
    ]);
    expect(
      pieces("İİ x", "x")
        .map((one) => one.text)
        .join(""),
      "what grows in lower case stays whole",
    ).toBe("İİ x");
  });

  it("that are log messages are found by level, by the part that says them, and by text", () => {
    const message: ServerLogLine = {
      ...line(3),
      event: { kind: "message", level: "warning", logger: "db", text: "slow query" },
    };
    expect(["WARNING", "db:", "slow q", "error"].map((typed) => found([message], typed).length)).toEqual([1, 1, 1, 0]);
    expect(asText([{ ...message, at: null }]), "as a line of the server").toBe("warning db: slow query");
    const levels = ["debug", "warning", "error", "emergency", null] as const;
    expect(levels.map(toneOf)).toEqual(["plain", "attention", "danger", "danger", "plain"]);
  });

  it("of ours say what happened, and for whom; a copy sets them apart", () => {
    const of = (event: ServerLogEvent, agent: string | null = null) => eventText({ number: 1, at: null, agent, event });
    expect(of({ kind: "ended", code: 3, signal: null, byUs: false })).toBe("The process ended with code 3");
    expect(of({ kind: "ended", code: null, signal: 9, byUs: false })).toBe("The process was ended by signal 9");
    expect(of({ kind: "ended", code: 0, signal: null, byUs: true })).toBe("The process was ended by Taskwarden");
    expect(of({ kind: "questionRefused" })).toBe("Its question was refused: it named a task that is not open here");
    expect(of({ kind: "started", pid: 7 }, "codex")).toBe("Started as process 7 (own process of codex)");
    expect(asText([{ number: 1, at: null, agent: null, event: { kind: "started", pid: 7 } }])).toBe(
      "[Started as process 7]",
    );
  });

  it("of an agent's own process name the agent, apart from what the process wrote", () => {
    const own = { ...line(1, "listening"), agent: "codex" };
    expect(beforeLine("codex") + "listening").toBe("codex · listening");
    expect(asText([own])).toMatch(/ codex · listening$/);
    expect(asText([line(1, "listening")])).toMatch(/^\S+ \S+ listening$/);
  });
});
