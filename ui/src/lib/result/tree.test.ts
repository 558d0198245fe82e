import { describe, expect, it } from "vitest";
import {
  childPath,
  DEPTH_MAX,
  ExactNumber,
  firstUnfolded,
  MEMBERS_STEP,
  parseJson,
  rowsOf,
  valueAt,
  written,
  type Json,
} from "./tree";

const json = (text: string): Json => {
  const parsed = parseJson(text);
  if (parsed === null) throw new Error("the example is not JSON");
  return parsed.value;
};

describe("a JSON tree", () => {
  it("has rows only for what is unfolded", () => {
    const value = json('{"a":{"b":[1,2]},"c":"x"}');
    expect(rowsOf(value, new Map()).map((row) => row.text)).toEqual(["{a, c}"]);
    const rows = rowsOf(
      value,
      new Map([
        ["$", 100],
        ["$.a", 100],
      ]),
    );
    expect(rows.map((row) => [row.id, row.depth, row.text])).toEqual([
      ["$", 0, "{a, c}"],
      ["$.a", 1, "{b}"],
      ["$.a.b", 2, "[2]"],
      ["$.c", 1, '"x"'],
    ]);
  });

  it("shows a long list in steps", () => {
    const value = json(JSON.stringify(Array.from({ length: 1_000_000 }, () => 1)));
    const rows = rowsOf(value, new Map([["$", MEMBERS_STEP]]));
    expect(rows).toHaveLength(MEMBERS_STEP + 2);
    expect(rows.at(-1)).toMatchObject({ kind: "more", text: String(1_000_000 - MEMBERS_STEP) });
  });

  it("keeps the digits of numbers that no double holds", () => {
    const value = json('{"id":12345678901234567890,"small":1.50}');
    const held = valueAt(value, "$.id");
    // Without source text access (older engines) the number is a double, and stays one.
    if (held instanceof ExactNumber) {
      expect(rowsOf(value, new Map([["$", 9]]))[1]?.text).toBe("12345678901234567890");
      expect(written(value)).toContain('"id": 12345678901234567890');
    } else expect(held).toBe(12345678901234567890);
  });

  it("finds every value again by its path", () => {
    const value = json('{"plain":{"with space":[{"quo\\"te]":1}],"":{"__proto__":2}}}');
    const unfolded = new Map<string, number>();
    for (let turn = 0; turn < 6; turn += 1)
      for (const row of rowsOf(value, unfolded)) if (row.canOpen) unfolded.set(row.id, 9);
    const scalars = rowsOf(value, unfolded).filter((row) => row.kind === "number");
    expect(scalars.map((row) => valueAt(value, row.id))).toEqual([1, 2]);
    expect(valueAt(value, "$.constructor"), "nothing is inherited").toBeUndefined();
  });

  it("stops unfolding hostile depths", () => {
    const deep = json(`${"[".repeat(2_000)}1${"]".repeat(2_000)}`);
    const unfolded = new Map<string, number>();
    let id = "$";
    for (let depth = 0; depth <= DEPTH_MAX + 5; depth += 1) {
      unfolded.set(id, 1);
      id = childPath(id, 0);
    }
    expect(rowsOf(deep, unfolded).at(-1)).toMatchObject({ depth: DEPTH_MAX, canOpen: false });
  });

  it("opens small values by itself and only outlines large ones", () => {
    expect([...firstUnfolded(json('{"a":{"b":1}}')).keys()]).toEqual(["$", "$.a"]);
    const large = json(JSON.stringify({ rows: Array.from({ length: 500 }, (_, at) => ({ at })) }));
    expect([...firstUnfolded(large).keys()]).toEqual(["$"]);
    expect(firstUnfolded(json("3")).size).toBe(0);
  });

  it("is nothing when the text is no JSON", () => {
    expect(parseJson("{oops")).toBeNull();
  });
});
