import { expect, it } from "vitest";
import { CHECK } from "$lib/text/help/check";
import { byGrade, reportText } from "./report-text";

const findings = [
  { area: "data", grade: "fine" as const, message: "`/home/a` is private", cure: null },
  { area: "limits", grade: "note" as const, message: "open calls: 900 of 1000", cure: "Wait." },
  { area: "disk", grade: "broken" as const, message: "the disk is full", cure: "Free some space." },
];

it("trouble stands first", () => expect(byGrade(findings).map((one) => one.area)).toEqual(["disk", "limits", "data"]));

it("a report to copy has every finding with its cure", () => {
  const text = reportText({ findings, broken: 1, kept: [], keptMs: 600_000 }, "0.1.0");
  expect(text).toContain("broken disk: the disk is full\n       → Free some space.");
  expect(text.split("\n")[0]).toBe("Taskwarden 0.1.0");
});

it("the summary counts what matters most", () => {
  expect([CHECK.summary(2, 1), CHECK.summary(0, 1), CHECK.summary(0, 0)]).toEqual([
    "2 problems found",
    "No problems, 1 note",
    "No problems found",
  ]);
});
