import { expect, it } from "vitest";
import { deliveryProblem, firstDelivery, firstLines, releaseForm, slicesOf } from "./delivery";

const held = { at: "", by: "limit", verdict: null, why: "tooLarge" as const, tokens: 61_402, limit: 20_000, free: null };

it("a held result is delivered in slices unless a person says otherwise", () => {
  expect(releaseForm(firstDelivery(held))).toEqual({ form: "slices" });
  expect(releaseForm({ form: "whole", trim: "what?" }), "what is not chosen is not read").toEqual({ form: "whole" });
});

it("a trim needs a number, and takes it with thousands", () => {
  expect(releaseForm({ form: "trimmed", trim: "5,000" })).toEqual({ form: "trimmed", trimTokens: 5_000 });
  expect(releaseForm({ form: "trimmed", trim: "soon" })).toBeNull();
  expect(deliveryProblem({ form: "trimmed", trim: "" })).not.toBeNull();
  expect(deliveryProblem({ form: "slices", trim: "" })).toBeNull();
});

it("slices are as many as the core cuts, whatever its policy says of their size", () => {
  expect(slicesOf(61_402, 8_000, 0)).toBe(8);
  expect(slicesOf(61_402, 2_000, 0)).toBe(31);
  expect(slicesOf(63_500, 8_000, 4), "the error of an estimate is on top").toBe(9);
  expect([slicesOf(10, 8_000, 0), slicesOf(0, 8_000, 0), slicesOf(10, null, 0), slicesOf(10, 0, 0)]).toEqual([1, 1, null, null]);
});

it("the first suggestion is never more than a slice or what is free", () => {
  expect(firstDelivery(held).trim).toBe("8,000");
  expect(firstDelivery({ ...held, limit: null, free: 300 }).trim).toBe("300");
  expect(firstDelivery({ ...held, limit: null, free: 0 }).trim).toBe("1");
});

it("the beginning is a few lines, however long a hostile one is", () => {
  expect(firstLines("a\nb")).toBe("a\nb");
  expect(firstLines("x".repeat(1_000_000)).length).toBeLessThan(1_000);
  expect(firstLines("l\n".repeat(1_000)).split("\n")).toHaveLength(13);
});
