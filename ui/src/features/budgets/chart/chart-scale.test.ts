import { expect, test } from "vitest";
import { axisOf, bands } from "./chart-scale";

test("bars_fill_the_room_between_the_edges_with_equal_gaps", () => {
  const across = bands(4, 44, 444);
  expect([across.step, across.width]).toEqual([100, 72]);
  expect([across.at(0), across.at(3) + across.width]).toEqual([58, 430]);
  expect(bands(0, 44, 444).step, "without bars nothing is divided by zero").toBe(400);
});

test("the_axis_begins_and_ends_with_round_values", () => {
  const up = axisOf(-1_830, 9_412, 190, 8, 5);
  expect(up.ticks).toEqual([-2_000, 0, 2_000, 4_000, 6_000, 8_000, 10_000]);
  expect([up.at(-2_000), up.at(10_000)]).toEqual([190, 8]);
  expect(up.at(0)).toBeCloseTo(190 - 182 / 6);
});

test("small_figures_have_whole_numbers_on_the_axis_only", () => {
  expect(axisOf(0, 1, 190, 8, 5).ticks).toEqual([0, 1]);
  expect(axisOf(0, 3, 190, 8, 5).ticks).toEqual([0, 1, 2, 3]);
});
