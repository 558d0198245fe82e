import { expect, it } from "vitest";
import { callPlace, callsPlace, isFiltered, NO_CALL_FILTER, readCallFilter, writeCallFilter } from "./call-filter";

it("an_address_keeps_the_filter", () => {
  const address = "since=2026-11-20&agent=order-bot&server=docs&tool=search&verdict=allowed&outcome=error&outcome=lost";
  expect(writeCallFilter(readCallFilter(address))).toBe(address);
  expect(isFiltered(readCallFilter(address))).toBe(true);
});

it("names_that_mean_nothing_are_ignored", () => {
  expect(readCallFilter("colour=red&agent=%20%20&verb=halted")).toEqual(NO_CALL_FILTER);
  expect(isFiltered(NO_CALL_FILTER)).toBe(false);
});

it("an_address_names_the_open_call_or_none", () => {
  expect([callsPlace(null), callsPlace(4_711)].map(callPlace)).toEqual([{ number: null }, { number: 4_711 }]);
  expect([null, "4711", "calls-", "calls-0", "calls-x", "callsx"].map(callPlace), "of the log, or of nothing").toEqual(
    Array.from({ length: 6 }, () => null),
  );
});
