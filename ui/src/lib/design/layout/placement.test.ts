import { expect, it } from "vitest";
import { placed } from "./placement";

const WINDOW = { width: 900, height: 600 };
const SIZE = { width: 300, height: 200 };
const at = (left: number, top: number) => ({ left, top, width: 80, height: 32 });
const below = { side: "bottom", align: "start", gap: 8 } as const;

it("a_popover_stands_below_its_anchor_and_above_it_where_only_that_has_room", () => {
  expect(placed(at(100, 100), SIZE, WINDOW, below)).toEqual({ left: 100, top: 140 });
  expect(placed(at(100, 500), SIZE, WINDOW, below)).toEqual({ left: 100, top: 292 });
  expect(placed(at(100, 50), SIZE, WINDOW, { ...below, side: "top" }), "no room above").toEqual({ left: 100, top: 90 });
});

it("a_popover_never_leaves_the_window", () => {
  expect(placed(at(850, 100), SIZE, WINDOW, below).left, "at the right edge").toBe(592);
  expect(placed(at(10, 100), SIZE, WINDOW, { ...below, align: "end" }).left, "at the left edge").toBe(8);
  expect(placed(at(100, 300), { width: 300, height: 580 }, WINDOW, below).top, "with room on neither side").toBe(12);
});

it("a_popover_is_aligned_by_the_direction_of_the_text", () => {
  expect(placed(at(400, 100), SIZE, WINDOW, { ...below, align: "end" }).left).toBe(180);
  expect(placed(at(400, 100), SIZE, WINDOW, below, true).left, "right to left").toBe(180);
  expect(placed(at(400, 100), SIZE, WINDOW, { ...below, align: "center" }).left).toBe(290);
});
