import { expect, it } from "vitest";
import { firstLines } from "./first-lines";

it("the beginning is a few lines, however long a hostile one is", () => {
  expect(firstLines("a\nb")).toBe("a\nb");
  expect(firstLines("x".repeat(1_000_000)).length).toBeLessThan(1_000);
  expect(firstLines("l\n".repeat(1_000)).split("\n")).toHaveLength(13);
});
