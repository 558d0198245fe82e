import { expect, it } from "vitest";
import type { InboxRow } from "$lib/bindings";
import { arrivedAbove, groups, neighbour, inInboxOrder, OWN_GROUP_OVER, splitSnoozed } from "./item-order";

const NOW = Date.parse("2026-11-21T14:00:00.000Z");
const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();
function row(id: string, more: Partial<InboxRow> = {}): InboxRow {
  return {
    id,
    kind: "form",
    task: `hdl_${id}`,
    key: "k",
    server: "ci",
    tool: null,
    agent: null,
    message: null,
    host: null,
    openedAt: at(-5),
    deadline: null,
    snoozedUntil: null,
    changedAt: at(-5),
    answeredBy: null,
    destructive: false,
    tokens: null,
    limit: null,
    exactness: null,
    why: null,
    ...more,
  };
}
const names = (rows: readonly InboxRow[]) => rows.map((one) => one.id).join(" ");

it("a deadline comes first, the soonest first; then the oldest", () => {
  expect(
    names(
      inInboxOrder([
        row("new", { openedAt: at(-1) }),
        row("old", { openedAt: at(-60) }),
        row("later", { deadline: at(30) }),
        row("soon", { deadline: at(5) }),
      ]),
    ),
  ).toBe("soon later old new");
});

it("a server that asks a lot gets a group of its own, after the others", () => {
  const loud = Array.from({ length: OWN_GROUP_OVER + 1 }, (_, n) => row(`n${n}`, { server: "noisy" }));
  const made = groups(inInboxOrder([...loud, row("quiet"), row("due", { deadline: at(5), server: "noisy" })]));
  expect(made.map((group) => [group.key, group.rows.length])).toEqual([
    ["deadline", 1],
    ["rest", 1],
    ["server/noisy", OWN_GROUP_OVER + 1],
  ]);
  expect(
    groups(loud.slice(1)).map((group) => group.key),
    "twenty are not a lot",
  ).toEqual(["rest"]);
  expect(groups([])).toEqual([]);
});

it("what is hidden sleeps until its time has come", () => {
  const rows = [row("a", { snoozedUntil: at(1) }), row("b", { snoozedUntil: at(-1) }), row("c")];
  expect(names(splitSnoozed(rows, NOW).awake)).toBe("b c");
  expect(names(splitSnoozed(rows, NOW).asleep)).toBe("a");
});

it("what comes in above the open item waits until the person moves", () => {
  const rows = [row("urgent"), row("open"), row("below")];
  expect([...arrivedAbove(rows, "open", new Set(["open"]))]).toEqual(["urgent"]);
  expect([...arrivedAbove(rows, "open", new Set(["open", "urgent"]))]).toEqual([]);
  expect([...arrivedAbove(rows, null, new Set())], "nothing is open, nothing can be pushed").toEqual([]);
  expect([...arrivedAbove(rows, "open", null)], "the first rows are there at once").toEqual([]);
});

it("after an answer comes the next item, at the end the one before", () => {
  const there = (ids: string) => (id: string) => ids.split(" ").includes(id);
  expect(neighbour(["a", "b", "c"], "b", there("a c"))).toBe("c");
  expect(neighbour(["a", "b", "c"], "b", there("a"))).toBe("a");
  expect(neighbour(["a"], "a", there(""))).toBeNull();
  expect(neighbour(["a", "b"], "gone", there("a b")), "one that is not in the list leads to the first").toBe("a");
});

it("an item that is hidden until it changes stays hidden whatever the time", () => {
  const rows = [row("a", { snoozedUntilChange: true }), row("b")];
  const parts = splitSnoozed(rows, NOW + 365 * 86_400_000);
  expect(parts.asleep.map((one) => one.id)).toEqual(["a"]);
});
