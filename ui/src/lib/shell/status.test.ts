import { expect, it } from "vitest";
import { makeServers } from "$lib/fake-core/entities";
import { aNeededSignIn } from "$lib/fake-core/servers/sign-in-calls";
import { aPause } from "$lib/pause/pause.example";
import { serverCounts } from "./status";

it("servers_are_counted_by_how_they_are", () => {
  expect(serverCounts(makeServers(8, 0)), "one of each trouble").toEqual({
    up: 5,
    trouble: 1,
    signIn: 1,
    connecting: 1,
    frozen: 0,
    all: 8,
  });
});

it("a_server_that_a_person_ended_is_not_in_trouble", () => {
  const [up] = makeServers(1, 0);
  if (up === undefined) throw new Error("no server was made");
  const ended = { ...up, health: { ...up.health, kind: "ended" as const, why: "a person ended its process" } };
  expect(serverCounts([up, ended])).toMatchObject({ up: 1, trouble: 0, all: 2 });
});

it("a_server_whose_processes_stand_still_is_not_counted_as_connected", () => {
  const [up] = makeServers(1, 0);
  if (up === undefined) throw new Error("no server was made");
  const frozen = { ...up, frozen: aPause({ server: up.name }) };
  expect(serverCounts([up, frozen])).toMatchObject({ up: 1, frozen: 1, all: 2 });
});

it("a_server_that_is_up_and_asks_for_a_sign_in_is_counted_as_the_list_says_it", () => {
  const [up] = makeServers(1, 0);
  if (up === undefined) throw new Error("no server was made");
  const address = { kind: "http" as const, url: "https://mcp.linear.app/mcp", secretHeaders: [] };
  const asking = { ...up, address, signIn: aNeededSignIn() };
  expect(serverCounts([up, asking])).toMatchObject({ up: 1, signIn: 1, all: 2 });
  expect(serverCounts([{ ...asking, agreed: false }]), "nobody allowed it yet").toMatchObject({ up: 0, signIn: 0 });
});
