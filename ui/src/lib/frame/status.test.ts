import { expect, it } from "vitest";
import { makeServers } from "$lib/fake/things";
import { serverCounts, working } from "./status";

it("servers_are_counted_by_how_they_are", () => {
  expect(serverCounts(makeServers(8, 0)), "one of each trouble").toEqual({ up: 4, trouble: 1, signIn: 1, connecting: 1, all: 8 });
});
it("what_answers_or_stops_still_works", () => {
  expect(working({ byPhase: { running: 3, answering: 1, cancelling: 1, silent: 9 }, byGroup: { needsYou: 0, moving: 5, noNews: 9, finished: 0 }, all: 14, open: 14 }), "no news is not work").toBe(5);
});
