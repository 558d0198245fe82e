import { describe, expect, it } from "vitest";
import { locate, placeSections, reveal, rows, visibleSlices } from "./visible-rows";

const placed = placeSections(
  [
    { key: "needs", count: 6 },
    { key: "folded", count: 0 },
    { key: "rest", count: 99_994 },
  ],
  30,
  28,
);

describe("a list of 100,000 rows in three groups", () => {
  it("counts_every_row", () => expect(rows(placed), "folded rows do not count").toBe(100_000));
  it("puts_only_what_is_in_sight_in_the_page", () => {
    const seen = visibleSlices(placed, 30, 28, 1_500_000, 600, 8);
    const count = seen.reduce((sum, slice) => sum + slice.to - slice.from, 0);
    expect(count, "20 rows in sight and 8 beyond each edge").toBeLessThanOrEqual(38);
    expect(count, "and no gap").toBeGreaterThanOrEqual(36);
  });
  it("shows_the_first_rows_of_every_group_at_the_top", () => {
    expect(
      visibleSlices(placed, 30, 28, 0, 600, 0).map((slice) => [slice.section.key, slice.from, slice.to]),
      "headers take their room",
    ).toEqual([
      ["needs", 0, 6],
      ["folded", 0, 0],
      ["rest", 0, 12],
    ]);
  });
  it("finds_a_row_by_its_place", () => {
    expect(locate(placed, 6)?.section.key, "the first row after the group of six").toBe("rest");
    expect(locate(placed, 100_000), "there is no such row").toBeNull();
  });
  it("does_not_scroll_to_a_row_that_is_whole_in_sight", () =>
    expect(reveal(placed, 3, 30, 28, 0, 600), "nothing moves").toBe(0));
  it("brings_a_row_below_just_in_sight", () =>
    expect(reveal(placed, 30, 30, 28, 0, 600), "its end meets the end of the window").toBe(28 * 3 + 31 * 30 - 600));
  it("never_hides_a_row_under_the_header_that_sticks", () =>
    expect(reveal(placed, 1, 30, 28, 400, 600), "one header above it").toBe(30));
});
