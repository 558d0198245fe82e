import { expect, it } from "vitest";
import { decisionOf, firstDelivery, firstTrim, slicesOf, trimProblem } from "./delivery";
import { releaseInput, releasedMessage } from "./release";

const held = {
  at: "",
  by: "limit",
  verdict: null,
  why: "tooLarge" as const,
  tokens: 61_402,
  limit: 20_000,
  program: null,
  free: null,
};

it("a held result is delivered in parts unless a person says otherwise", () => {
  expect(decisionOf(firstDelivery(held))).toEqual({ form: "slices" });
  expect(decisionOf({ form: "whole", trim: "what?" }), "what is not chosen is not read").toEqual({ form: "whole" });
});

it("a trim needs a number, and takes it with thousands", () => {
  expect(decisionOf({ form: "trimmed", trim: "5,000" })).toEqual({ form: "trimmed", tokens: 5_000 });
  expect(decisionOf({ form: "trimmed", trim: "soon" })).toBeNull();
  expect([trimProblem(""), trimProblem("5k")]).toEqual(["Enter a whole number of tokens, such as 5,000 or 5k.", null]);
});

it("slices are as many as the core cuts, whatever its policy says of their size", () => {
  expect(slicesOf(61_402, 8_000, 0)).toBe(8);
  expect(slicesOf(61_402, 2_000, 0)).toBe(31);
  expect(slicesOf(63_500, 8_000, 4), "the error of an estimate is on top").toBe(9);
  expect([slicesOf(10, 8_000, 0), slicesOf(0, 8_000, 0), slicesOf(10, null, 0), slicesOf(10, 0, 0)]).toEqual([
    1,
    1,
    null,
    null,
  ]);
});

it("the first suggestion is never more than a slice or what is free", () => {
  expect(firstDelivery(held).trim).toBe("8,000");
  expect([firstTrim(300), firstTrim(0), firstTrim(null)]).toEqual(["300", "1", "8,000"]);
});

it("what a person decides is told to the core and back in one set of words", () => {
  expect(releaseInput("hdl_1", { form: "asItCame" })).toEqual({ id: "hdl_1", deliver: true });
  expect(releaseInput("hdl_1", { form: "trimmed", tokens: 5_000 })).toEqual({
    id: "hdl_1",
    deliver: true,
    form: "trimmed",
    trimTokens: 5_000,
  });
  expect(releaseInput("hdl_1", { form: "withheld", reason: "  " }), "no reason is none").toEqual({
    id: "hdl_1",
    deliver: false,
    reason: null,
  });
  expect(releasedMessage({ form: "trimmed", tokens: 5_000 }, "order-bot")).toBe(
    "Delivered to order-bot, trimmed to about 5,000 tokens.",
  );
});
