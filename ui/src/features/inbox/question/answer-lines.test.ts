import { describe, expect, it } from "vitest";
import { FormState } from "$lib/form";
import { answerLines } from "./answer-lines";

const schema = {
  type: "object",
  properties: {
    go: { type: "boolean", title: "Go ahead" },
    clash: { type: "string", title: "When a name is taken", oneOf: [{ const: "skip", title: "Leave the file" }] },
    kinds: { type: "array", title: "Kinds", items: { anyOf: [{ const: "Images", title: "Images (3)" }] } },
    at_most: { type: "integer", title: "Files at most" },
    api_key: { type: "string", title: "API key" },
    note: { type: "string", title: "Note\u202e" },
  },
};
const lines = (values: Record<string, never> | Record<string, unknown>) => {
  const form = new FormState(schema, { kind: "question", secretFields: ["api_key"] });
  return answerLines(form.model, { values: values as never, typed: {} }).map((one) => `${one.label}: ${one.value}`);
};

describe("an answer to a destructive call", () => {
  it("is said in the words of its form, not in values", () => {
    expect(lines({ go: true, clash: "skip", kinds: ["Images"], at_most: 8 })).toEqual([
      "Go ahead: Yes",
      "When a name is taken: Leave the file",
      "Kinds: Images (3)",
      "Files at most: 8",
    ]);
  });

  it("hides secrets, cuts what is long, and turns nothing around", () => {
    const [secret, note] = lines({ api_key: "sk-1234567890", note: `a\u202e\n${"x".repeat(5_000)}` });
    expect(secret).not.toContain("1234");
    expect(note?.length).toBeLessThan(200);
    expect(note).not.toContain("\u202e");
  });

  it("names what stands beside the fields of the form, too", () => {
    expect(lines({ go: false, force: { all: true } })).toEqual(["Go ahead: No", 'force: {"all":true}']);
  });
});
