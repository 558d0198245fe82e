import { expect, it } from "vitest";
import { HOSTILE, LINK, LOST, QUESTION, TOO_LARGE } from "../inbox.example";
import { filtered, NO_FILTER } from "./filter";

const rows = [QUESTION.row, LINK.row, LOST.row, TOO_LARGE.row];
const found = (text: string, kinds: "all" | "questions" | "results" | "problems" = "all") =>
  filtered(rows, { text, kinds }).map((row) => row.kind);

it("every word must stand in the question, its server, tool, agent or calls", () => {
  expect(found("roll out ci-server")).toEqual(["form"]);
  expect(found("NIGHTLY")).toEqual(["url", "lost"]);
  expect(found("nothing like it")).toEqual([]);
  const cause = {
    ...LOST.row,
    callCount: 2,
    calls: [{ task: "hdl_1", tool: "rsync", agent: null, destructive: false }],
  };
  expect(filtered([cause], { text: "rsync", kinds: "all" })).toEqual([cause]);
});

it("kinds are what a person does about them", () => {
  expect(found("", "questions")).toEqual(["form", "url"]);
  expect(found("", "results")).toEqual(["held"]);
  expect(found("", "problems")).toEqual(["lost"]);
});

it("without a filter it is the same list, and hostile text finds and breaks nothing", () => {
  expect(filtered(rows, NO_FILTER)).toBe(rows);
  expect(filtered([HOSTILE.row], { text: "(.*[", kinds: "all" })).toEqual([]);
});
