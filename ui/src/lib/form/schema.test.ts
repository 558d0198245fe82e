import { expect, it } from "vitest";
import { readSchema, type Control, type Field } from "./schema";

function field(rule: unknown, required = false): Field {
  const model = readSchema(
    { type: "object", properties: { a: rule }, required: required ? ["a"] : [] },
    { kind: "question" },
  );
  const [first] = model.fields;
  if (!first) throw new Error("the schema has one field");
  return first;
}
const control = (rule: unknown): Control => field(rule).control;

it.each([
  [{ type: "string" }, { kind: "text", format: null, min: null, max: null, long: false }],
  [
    { type: "string", minLength: 2, maxLength: 500 },
    { kind: "text", format: null, min: 2, max: 500, long: true },
  ],
  [
    { type: "string", format: "email" },
    { kind: "text", format: "email", min: null, max: null, long: false },
  ],
  [
    { type: "integer", minimum: 1, maximum: 9 },
    { kind: "number", whole: true, min: 1, max: 9, above: null, below: null },
  ],
  [{ type: ["number", "null"] }, { kind: "number", whole: false, min: null, max: null, above: null, below: null }],
  [{ type: "boolean" }, { kind: "boolean" }],
  [
    { type: "array", items: { type: "string", enum: ["x", "y"] }, minItems: 1 },
    {
      kind: "many",
      options: [
        { value: "x", title: "x" },
        { value: "y", title: "y" },
      ],
      min: 1,
      max: null,
    },
  ],
  [
    { type: "array", items: { type: "object" } },
    { kind: "json", types: ["array"] },
  ],
  [{ type: "object" }, { kind: "json", types: ["object"] }],
  [{}, { kind: "json", types: [] }],
  [{ oneOf: [{ const: "x" }, { type: "object" }] }, { kind: "json", types: [] }],
  [
    { type: "string", enum: [{ deep: 1 }] },
    { kind: "text", format: null, min: null, max: null, long: false },
  ],
])("%j is shown with its control", (rule, expected) => {
  // A list of choices that are no constants cannot be chosen from: the field falls back by its type.
  expect(control(rule)).toEqual(expected);
});

it.each([
  [
    { type: "string", enum: ["a", "b"], enumNames: ["Alpha"] },
    [
      ["a", "Alpha"],
      ["b", "b"],
    ],
  ],
  [
    { type: "string", oneOf: [{ const: "a", title: "Alpha" }, { const: "b" }] },
    [
      ["a", "Alpha"],
      ["b", "b"],
    ],
  ],
  [
    { anyOf: [{ const: 1 }, { const: 2, title: "Two" }] },
    [
      [1, "1"],
      [2, "Two"],
    ],
  ],
  [{ enum: ["a", null, "a"] }, [["a", "a"]]],
])("%j offers its choices once, with their titles", (rule, expected) => {
  const made = control(rule);
  expect(made.kind).toBe("one");
  expect(made.kind === "one" && made.options.map(({ value, title }) => [value, title])).toEqual(expected);
});

it("a nullable field is the field with null beside it", () => {
  for (const rule of [
    { type: ["string", "null"] },
    { anyOf: [{ type: "string" }, { type: "null" }] },
    { enum: ["a", null] },
    { oneOf: [{ const: "a" }, { const: null }] },
  ]) {
    expect(field(rule).nullable, JSON.stringify(rule)).toBe(true);
  }
  expect(field({ type: "string" }).nullable).toBe(false);
  expect(control({ anyOf: [{ type: "integer" }, { type: "null" }] }).kind, "the other branch makes the control").toBe(
    "number",
  );
});

it("a field that looks like a secret is never prefilled", () => {
  const model = readSchema(
    {
      properties: {
        key: { type: "string", default: "abc" },
        pass: { type: "string", format: "password", default: "abc" },
      },
    },
    { kind: "question", secretFields: ["key"] },
  );
  expect(model.fields.map(({ secret, initial }) => [secret, initial])).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
});

it("an answer is closed, arguments are open until they say no", () => {
  const schema = { properties: { a: { type: "string" } } };
  expect(readSchema(schema, { kind: "question" }).open).toBe(false);
  expect(readSchema(schema, { kind: "arguments" }).open).toBe(true);
  expect(readSchema({ ...schema, additionalProperties: false }, { kind: "arguments" }).open).toBe(false);
});

it("what is no schema is a form without fields, not a crash", () => {
  for (const schema of [
    null,
    undefined,
    7,
    "x",
    [],
    {},
    { properties: [] },
    { properties: { a: null, b: 3 } },
    { required: "a", properties: { a: { type: 9, enum: "x", oneOf: 3 } } },
  ]) {
    expect(() => readSchema(schema, { kind: "question" }), JSON.stringify(schema)).not.toThrow();
  }
  expect(
    readSchema(JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "boolean"}}}'), {
      kind: "question",
    }).fields.map((one) => one.name),
  ).toEqual(["__proto__", "constructor"]);
});

it("an argument stands on one line unless the schema says otherwise", () => {
  const long = (rule: object) => {
    const [field] = readSchema({ properties: { a: { type: "string", ...rule } } }, { kind: "arguments" }).fields;
    return field?.control.kind === "text" && field.control.long;
  };
  expect(long({ maxLength: 4_096 }), "a path").toBe(false);
  expect(long({ format: "uri" })).toBe(false);
  expect(long({ format: "multiline" })).toBe(true);
  expect(long({ contentMediaType: "text/markdown" })).toBe(true);
  expect(long({ default: "one\ntwo" })).toBe(true);
});
