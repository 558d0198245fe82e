import { expect, it } from "vitest";
import { badFields, isAmount, isCurrency } from "./price-draft";

it("an amount is what the core reads: digits with a point, never a comma or a sign", () => {
  for (const good of ["3", "0.075", ".5", "15.0000000", "1000000"]) expect(isAmount(good), good).toBe(true);
  for (const bad of ["", ".", "3,50", "-1", "1e3", "0.0000001", "1000000.01", "Infinity", "0x10"])
    expect(isAmount(bad), bad).toBe(false);
});

it("a currency is three letters", () => {
  expect(["usd", "EUR", "US", "USDT", "€", "U1D"].map(isCurrency)).toEqual([true, true, false, false, false, false]);
});

it("fields to correct come in the order of the form", () => {
  expect(badFields({ model: "gpt-5", input: "x", output: "", currency: "dollars" })).toEqual([
    "input",
    "output",
    "currency",
  ]);
  expect(badFields({ model: "gpt-5", input: "1.25", output: "10", currency: "USD" })).toEqual([]);
});
