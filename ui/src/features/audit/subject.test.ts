import { expect, it } from "vitest";
import { actorKind, shortId, subjectOf } from "./subject";

const SERVERS = new Map([["srv_1", "warehouse"]]);
const about = (subject: string, server: string | null = null, agent: string | null = null) =>
  subjectOf({ subject, server, agent }, SERVERS);

it("a_row_about_a_task_or_its_question_leads_to_the_task", () => {
  expect(about("handle:hdl_7kz").link).toEqual({ place: "tasks", id: "hdl_7kz" });
  expect(about("request:hdl_7kz:rollout").link).toEqual({ place: "tasks", id: "hdl_7kz" });
  expect(about("request:hdl_7kz:a:b:c"), "a key may have colons").toMatchObject({ task: "hdl_7kz", question: "a:b:c" });
});
it("a_server_that_was_removed_has_no_page_but_keeps_its_name", () => {
  expect(about("server:srv_1", "warehouse").link).toEqual({ place: "servers", id: "warehouse" });
  expect(about("server:srv_9", "old docs")).toMatchObject({ label: "old docs", link: null });
  expect(about("server:srv_1"), "of layout 1 the feed has the name").toMatchObject({ label: "warehouse" });
  expect(about("server:srv_9"), "and nobody that of a removed one").toMatchObject({ label: "srv_9", link: null });
});
it("an_agent_is_named_and_found_by_its_id", () =>
  expect(about("agent:agt_1", null, "order-bot")).toMatchObject({
    label: "order-bot",
    link: { place: "agents", id: "agt_1" },
  }));
it("what_this_version_does_not_know_stays_as_it_is_stored", () => {
  expect(about("store")).toMatchObject({ kind: "registry", link: null });
  expect(about("planet:mars")).toMatchObject({ kind: "other", label: "planet:mars", link: null });
  for (const odd of ["", ":", "handle:", "nothing", "<b>x</b>"])
    expect(about(odd), odd).toMatchObject({ kind: "other", label: odd, link: null });
  expect([actorKind("person:ada"), actorKind("martian:zog"), actorKind("")]).toEqual(["person", null, null]);
});
it("long_ids_are_cut_and_short_ones_are_not", () =>
  expect([shortId("hdl_7kzmda47098q0mt01dhqq5yknc"), shortId("hdl_7f3k")]).toEqual(["hdl_7kzmda…", "hdl_7f3k"]));
