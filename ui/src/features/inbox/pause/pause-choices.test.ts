// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { Announcer, Toasts } from "$lib/actions";
import type { Backend } from "$lib/backend/backend";
import { fake } from "$lib/fake-core/backend";
import { STORY_NOW } from "$lib/fake-core/story";
import { InboxActions } from "../inbox-actions.svelte";
import { PauseChoices } from "./pause-choices.svelte";
import { asking } from "./pause.example";
import { calledTools, pauseTitle } from "./pause-title";

function choices(waiting: number) {
  const { item, pause } = asking({ waiting, agent: "order-bot" });
  const call = vi.fn(() => Promise.resolve({ pauses: [pause] }));
  return { row: item.row, pause, call, choices: new PauseChoices({ call } as unknown as Backend) };
}

describe("the calls that a pause asks about", () => {
  it("are_all_sent_until_some_are_unticked", () => {
    const { row, choices: of } = choices(3);
    expect(of.calls(row).map((call) => call.id)).toEqual(["hdl_wait0", "hdl_wait1", "hdl_wait2"]);
    expect(of.left(row).size).toBe(0);
    of.tick(row, "hdl_wait1", false);
    expect([...of.left(row)]).toEqual(["hdl_wait1"]);
    of.tick(row, "hdl_wait1", true);
    of.tickAll(row, false);
    expect(of.left(row).size).toBe(3);
    of.tickAll(row, true);
    expect(of.left(row).size).toBe(0);
  });
  it("count_no_call_that_was_cancelled_by_itself_meanwhile", () => {
    const { row, pause, choices: of } = choices(3);
    of.tickAll(row, false);
    const later = { ...row, pause: { ...pause, waiting: 2, calls: pause.calls?.slice(1) ?? [] } };
    expect([...of.left(later)]).toEqual(["hdl_wait1", "hdl_wait2"]);
  });
  it("are_read_whole_where_the_item_names_only_the_first", async () => {
    const { row, call, choices: of } = choices(500);
    expect([of.calls(row).length, of.isKnown(row)], "a part of an unknown list cannot be chosen").toEqual([20, false]);
    await of.load(row);
    expect([of.calls(row).length, of.isKnown(row)]).toEqual([500, true]);
    const few = choices(20);
    await few.choices.load(few.row);
    expect([call.mock.calls.length, few.call.mock.calls.length], "a whole list is not read again").toEqual([1, 0]);
  });
});

describe("a pause that a person decides", () => {
  function begin() {
    const { item } = asking({ waiting: 3, agent: "order-bot" });
    const done = { agent: "order-bot", server: null, sent: 2, leftOut: 1, stillWaiting: 0 };
    const backend = fake({ now: STORY_NOW, inbox: [item.row], calls: { "pauses.end": () => done } });
    const left: string[] = [];
    const toasts = new Toasts(new Announcer());
    const actions = new InboxActions({
      backend,
      toasts,
      now: () => STORY_NOW,
      leave: (id) => left.push(id),
      select: () => undefined,
    });
    const sent = () => backend.called.filter((one) => one.name === "pauses.end").map((one) => one.input);
    return { actions, row: item.row, left, sent };
  }
  it("sends_the_ticked_calls_and_cancels_the_others", async () => {
    const { actions, row, left, sent } = begin();
    actions.pauses.tick(row, "hdl_wait1", false);
    actions.sendCalls(row);
    await vi.waitFor(() => expect(left).toEqual([row.id]));
    expect(sent()).toEqual([{ agent: "order-bot", tasks: ["hdl_wait0", "hdl_wait2"] }]);
  });
  it("is_asked_once_more_before_it_cancels_all_of_them", async () => {
    const { actions, row, left, sent } = begin();
    actions.pauses.tickAll(row, false);
    actions.sendCalls(row);
    expect([actions.popup, sent()]).toEqual(["dropCalls", []]);
    actions.popup = null;
    actions.decline(row);
    expect(actions.popup).toBe("dropCalls");
    await actions.endPause(row, "none");
    expect([left, sent()]).toEqual([[row.id], [{ agent: "order-bot", tasks: [] }]]);
  });
});

it("a pause is named by what is paused, and its calls by where they go", () => {
  const agent = asking({ waiting: 2, agent: "order-bot" });
  expect(pauseTitle(agent.pause)).toBe("2 calls of order-bot wait for your choice");
  expect(calledTools(agent.item.row)).toBe("warehouse / backfill_orders, docs / publish_page");
  const server = asking({ waiting: 1, server: "docs\n\u202e", tool: "find" });
  expect(pauseTitle(server.pause)).toBe("1 call to docs waits for your choice");
  expect(calledTools(server.item.row), "the title has the server").toBe("find");
});
