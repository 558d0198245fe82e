import { expect, it } from "vitest";
import { aRow } from "$lib/fake-core/audit/rows";
import { daysOf } from "./days";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const row = (number: number, at: string) => aRow(number, 10, NOW, { at });

it("rows_stand_under_the_day_on_which_they_were_written", () => {
  const rows = [
    row(5, "2026-11-21T14:00:00.000"),
    row(4, "2026-11-21T00:00:00.000"),
    row(3, "2026-11-20T23:59:59.999"),
    row(2, "2025-11-20T12:00:00.000"),
  ];
  expect(daysOf(rows).map(({ from, count }) => [from, count])).toEqual([
    [0, 2],
    [2, 1],
    [3, 1],
  ]);
  expect(daysOf([])).toEqual([]);
});
it("a_day_comes_twice_where_the_clock_was_set_back_and_no_row_changes_its_place", () => {
  const days = daysOf([
    row(3, "2026-11-21T01:00:00.000"),
    row(2, "2026-11-22T01:00:00.000"),
    row(1, "2026-11-21T00:30:00.000"),
  ]);
  expect(days.map((day) => day.from)).toEqual([0, 1, 2]);
  expect(new Set(days.map((day) => day.key)).size, "each has a key of its own").toBe(3);
});
it("a_time_that_does_not_read_is_a_day_of_its_own", () =>
  expect(daysOf([row(2, "2026-11-21T01:00:00.000"), row(1, "nonsense")])).toHaveLength(2));
