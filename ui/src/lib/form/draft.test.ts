import { expect, it } from "vitest";
import { validate } from "./validation";
import {
  newDraft,
  cleared,
  EMPTY,
  readDraft,
  readNumber,
  set,
  textOf,
  toggled,
  type as typed,
  withoutSecrets,
} from "./draft";
import { put, readJson } from "./json";
import { fromLocalTime, toLocalTime } from "./local-time";
import { readSchema, type Field, type Model } from "./schema";

const model: Model = readSchema(
  {
    type: "object",
    properties: {
      rollout: { type: "string", oneOf: [{ const: "canary" }, { const: "all" }], default: "canary" },
      regions: { type: "array", items: { enum: ["eu", "us", "ap"] }, minItems: 1, maxItems: 2 },
      above: { type: "number", minimum: 0, maximum: 5 },
      count: { type: "integer" },
      mail: { type: "string", format: "email" },
      day: { type: "string", format: "date" },
      note: { type: ["string", "null"], maxLength: 5 },
      deep: { type: "object" },
    },
    required: ["rollout", "above", "note"],
  },
  { kind: "question" },
);
function named(name: string): Field {
  const found = model.fields.find((one) => one.name === name);
  if (!found) throw new Error(`no field ${name}`);
  return found;
}
const said = (values: Record<string, unknown>) =>
  validate(model, {
    values: JSON.parse(JSON.stringify({ rollout: "all", above: 1, note: null, ...values })),
    typed: {},
  }).map((one) => `${one.path} ${one.message}`);

it("a form begins with the server's suggestions", () => {
  expect(newDraft(model).values).toEqual({ rollout: "canary" });
});

it("a number stays a number, and text that is none blocks with a message at its field", () => {
  const good = typed(EMPTY, named("above"), "1.50");
  expect(good.values).toEqual({ above: 1.5 });
  const bad = typed(good, named("above"), "1,5");
  expect(bad.values, "what is no number is not sent").toEqual({});
  expect(textOf(bad, named("above")), "what was typed stays in sight").toBe("1,5");
  expect(validate(model, bad).find((one) => one.field === "above")?.message).toContain("Must be a number");
  expect(typed(bad, named("above"), "2").typed, "a number that can be read forgets the bad text").toEqual({});
});

it.each([
  ["1", 1],
  ["-2.5", -2.5],
  [" 3 ", 3],
  [".5", 0.5],
  ["1e3", 1000],
  ["", null],
  ["0x10", null],
  ["1_000", null],
  ["Infinity", null],
  ["NaN", null],
  ["1,5", null],
  ["1e999", null],
])("%j is read as %j", (text, number) => {
  expect(readNumber(text)).toBe(number);
});

it("each rule is told at the place that breaks it", () => {
  expect(said({})).toEqual([]);
  expect(said({ above: 9 })).toEqual(["/above Must be 5 or less."]);
  expect(said({ above: "9" })[0]).toContain("/above Must be a number");
  expect(said({ count: 1.5 })).toEqual(["/count Must be a whole number."]);
  expect(said({ count: 2 ** 60 })).toEqual(["/count Too large to be sent exactly."]);
  expect(said({ regions: [] })).toEqual(["/regions Choose at least 1."]);
  expect(said({ regions: ["eu", "xx"] })[0]).toContain("/regions/1");
  expect(said({ regions: ["eu", "us", "ap"] })).toEqual(["/regions Choose at most 2."]);
  expect(said({ rollout: "none" })).toEqual(["/rollout Must be one of the choices."]);
  expect(said({ mail: "a b@c" })[0]).toContain("/mail");
  expect(said({ mail: "name@example.org" })).toEqual([]);
  expect(said({ day: "2026-02-30" })[0]).toContain("/day");
  expect(said({ note: "sixsix" })[0]).toContain("1 too many");
  expect(said({ note: "😀😀😀😀😀" }), "a character counts once, however it is stored").toEqual([]);
  expect(said({ deep: [] })).toEqual(["/deep Must be an object."]);
  expect(said({ "a/b": 1 }), "an answer has only the fields that were asked for").toEqual([
    "/a~1b The form has no such field.",
  ]);
  expect(validate(model, EMPTY).map((one) => one.field)).toEqual(["rollout", "above", "note"]);
});

it("clearing leaves a value out, or says null where an answer is demanded and null is one", () => {
  expect(cleared(set(EMPTY, "note", "x"), named("note")).values).toEqual({ note: null });
  expect(cleared(set(EMPTY, "day", "2026-01-01"), named("day")).values).toEqual({});
});

it("choices stand in the order of the form", () => {
  const regions = named("regions");
  const { control } = regions;
  if (control.kind !== "many") throw new Error("regions has several choices");
  const both = toggled(toggled(EMPTY, regions, control, "us", true), regions, control, "eu", true);
  expect(both.values).toEqual({ regions: ["eu", "us"] });
  expect(toggled(both, regions, control, "eu", false).values).toEqual({ regions: ["us"] });
  expect(
    toggled(toggled(EMPTY, regions, control, "us", true), regions, control, "us", false).values,
    "none chosen is no answer where none is needed",
  ).toEqual({});
});

it("a draft comes back from the desk as it was kept, and anything else is none", () => {
  const draft = typed(set(EMPTY, "day", "2026-01-01"), named("above"), "1,");
  expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft);
  for (const other of [null, 3, {}, { values: [] }, "x"]) expect(readDraft(other)).toBeNull();
});

it("secrets are not kept", () => {
  const secret = readSchema(
    { properties: { user: { type: "string" }, pin: { type: "string" } } },
    { kind: "question", secretFields: ["pin"] },
  );
  expect(withoutSecrets({ values: { user: "u", pin: "1234" }, typed: { pin: "x" } }, secret)).toEqual({
    values: { user: "u" },
    typed: {},
  });
});

it("keys of every name are only keys", () => {
  const held = put(put({}, "__proto__", 1), "constructor", 2);
  expect(Object.keys(held)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(held)).toBe(Object.prototype);
  expect(JSON.stringify(put<number>(held, "__proto__", undefined))).toBe('{"constructor":2}');
});

it.each([
  ["{", 1, 2],
  ['{"a": }', 1, 7],
  ['{"a": 1,\n "b" 2}', 2, 6],
  ["[1, 2", 1, 6],
  ["{} x", 1, 4],
  ["tru", 1, 1],
  ['"a\nb"', 1, 1],
  ["", 1, 1],
  ['{"a": 01}', 1, 7],
])("%j is broken at line %d, column %d", (text, line, column) => {
  expect(readJson(text)).toEqual({ ok: false, line, column });
});

it("a depth of 100,000 brackets is a broken text, not a broken page", () => {
  expect(readJson("[".repeat(100_000))).toEqual({ ok: false, line: 1, column: 100_001 });
});

it("times are the person's in the form and have a zone in the answer", () => {
  const iso = fromLocalTime("2026-11-21T03:25");
  expect(iso).toMatch(/^2026-11-2\dT\d{2}:\d{2}:00\.000Z$/);
  expect(toLocalTime(iso)).toBe("2026-11-21T03:25");
  expect(fromLocalTime("2026-11-21T0"), "half a time stays as it was typed").toBe("2026-11-21T0");
  expect(toLocalTime("soon")).toBe("soon");
});
