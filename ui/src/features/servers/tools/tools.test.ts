import { expect, test } from "vitest";
import type { ToolDto } from "$lib/bindings";
import { changeCounts, notOffered, toolState, toolTitle } from "./tools";

const tool = (name: string, title: string | null): ToolDto => ({
  name,
  title,
  description: null,
  taskSupport: "optional",
  destructive: null,
  readOnly: null,
  inputSchema: {},
  callsDay: 0,
});

test("changed tools are counted by how they changed", () => {
  const tools = [
    { name: "a", change: "added" },
    { name: "b", change: "changed" },
    { name: "c", change: "added" },
  ] as const;
  expect(changeCounts(tools)).toEqual({ added: 2, changed: 1, removed: 0 });
  expect(changeCounts([])).toEqual({ added: 0, changed: 0, removed: 0 });
});

test("a tool that agents are not offered is counted, and shown with what its name hides", () => {
  const odd: ToolDto = {
    ...tool("a\u202eb", "A friendly title"),
    notOffered: { why: "invalidName", escapedName: "a\\u{202e}b" },
  };
  expect(notOffered([tool("add", null), odd])).toBe(1);
  expect([tool("add", null), tool("add", "Add"), odd].map(toolTitle)).toEqual(["add", "Add", "a\\u{202e}b"]);
});

test("a tool is said to be unchanged only where what changed is known", () => {
  const changed = [
    { name: "a", change: "changed" },
    { name: "gone", change: "removed" },
  ] as const;
  expect(toolState(tool("a", null), changed)).toEqual({ change: "changed", words: [] });
  expect(toolState({ ...tool("b", null), readOnly: true }, changed)).toEqual({
    change: null,
    words: ["unchanged", "read-only"],
  });
  expect(toolState({ ...tool("b", null), readOnly: true }, null).words).toEqual(["read-only"]);
  expect(toolState(tool("b", null), null).words, "nothing is known of it").toEqual([]);
});
