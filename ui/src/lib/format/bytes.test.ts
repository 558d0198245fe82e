import { expect, it } from "vitest";
import { bytes } from "./bytes";
import { count } from "./count";

it("sizes_have_the_unit_people_expect", () => {
  expect([bytes(0), bytes(820), bytes(12_400), bytes(3_400_000), bytes(999_600)], "powers of ten").toEqual([
    "0 B",
    "820 B",
    "12 kB",
    "3.4 MB",
    "1.0 MB",
  ]);
});
it("counts_are_grouped_by_threes", () => expect(count(100_000), "100000 is hard to read").toBe("100,000"));
