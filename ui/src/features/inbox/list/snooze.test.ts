import { expect, it } from "vitest";
import { QUESTION } from "../inbox.example";
import { snoozeChoices, snoozeUntil, snoozeValue } from "./snooze";

const at = (hour: number, minute = 0) => new Date(2026, 10, 21, hour, minute).getTime();
const row = (deadline: number | null) => ({
  ...QUESTION.row,
  deadline: deadline === null ? null : new Date(deadline).toISOString(),
});
const keys = (deadline: number | null, now: number) => snoozeChoices(row(deadline), now).map((choice) => choice.key);

it("an item can be hidden for a while, until this evening, until tomorrow or until it changes", () => {
  expect(keys(null, at(14))).toEqual(["tenMinutes", "hour", "evening", "tomorrow", "change"]);
  const until = Object.fromEntries(snoozeChoices(row(null), at(14)).map((choice) => [choice.key, choice.until]));
  expect(until["evening"]).toBe(at(18));
  expect(until["tomorrow"]).toBe(new Date(2026, 10, 22, 9).getTime());
  expect(until["change"]).toBeNull();
});

it("this evening is no choice when it has come, nor is what a deadline does not allow", () => {
  expect(keys(null, at(17, 30))).not.toContain("evening");
  expect(keys(at(15), at(14, 30))).toEqual(["tenMinutes", "change"]);
  expect(keys(at(14, 1), at(14)), "a short one is always there").toEqual(["tenMinutes", "change"]);
});

it("a hidden item is back a minute before its deadline", () => {
  const ten = 10 * 60_000;
  const now = at(14);
  expect(snoozeUntil(row(null), now, now + ten)).toBe(now + ten);
  expect(snoozeUntil(row(at(15)), now, now + ten)).toBe(now + ten);
  expect(snoozeUntil(row(at(14, 5)), now, now + ten)).toBe(at(14, 4));
  expect(snoozeUntil(row(at(14, 1)), now, now + ten), "never so short that it seems not to work").toBe(now + 30_000);
});

it("until it changes is kept as the state that it has now, and never beyond a deadline", () => {
  expect(snoozeValue(row(null), at(14), null)).toEqual({ changedAt: QUESTION.row.changedAt });
  expect(snoozeValue(row(at(15)), at(14), null)).toEqual({
    changedAt: QUESTION.row.changedAt,
    until: new Date(at(14, 59)).toISOString(),
  });
});
