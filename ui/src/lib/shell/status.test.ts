import { expect, it } from "vitest";
import { makeServers } from "$lib/fake-core/entities";
import { serverCounts } from "./status";

it("servers_are_counted_by_how_they_are", () => {
  expect(serverCounts(makeServers(8, 0)), "one of each trouble").toEqual({
    up: 5,
    trouble: 1,
    signIn: 1,
    connecting: 1,
    all: 8,
  });
});
