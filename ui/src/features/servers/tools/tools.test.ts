import { expect, test } from "vitest";
import { changeCounts } from "./tools";

test("changed tools are counted by how they changed", () => {
  const tools = [
    { name: "a", change: "added" },
    { name: "b", change: "changed" },
    { name: "c", change: "added" },
  ] as const;
  expect(changeCounts(tools)).toEqual({ added: 2, changed: 1, removed: 0 });
  expect(changeCounts([])).toEqual({ added: 0, changed: 0, removed: 0 });
});
