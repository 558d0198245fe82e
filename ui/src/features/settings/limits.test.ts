import { expect, test } from "vitest";
import type { LimitRow } from "$lib/bindings";
import { byShare, isNearlyUsed } from "./limits";

const row = (name: string, used: number, most: number): LimitRow => ({
  name,
  scope: "everyone",
  used,
  most,
  unit: "count",
});

test("what_is_nearly_used_up_stands_first_and_small_changes_move_nothing", () => {
  const names = (rows: LimitRow[]) => byShare(rows).map((one) => one.name);
  expect(names([row("calls", 10, 1_000), row("sessions", 190, 200), row("bodies", 5, 100)])).toEqual([
    "sessions",
    "bodies",
    "calls",
  ]);
  expect(names([row("calls", 90, 1_000), row("sessions", 190, 200), row("bodies", 5, 100)])).toEqual([
    "sessions",
    "bodies",
    "calls",
  ]);
});
test("from_four_fifths_on_it_asks_for_attention", () => {
  expect([
    isNearlyUsed(row("calls", 799, 1_000)),
    isNearlyUsed(row("calls", 800, 1_000)),
    isNearlyUsed(row("none", 0, 0)),
  ]).toEqual([false, true, true]);
});
