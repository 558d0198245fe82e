import { describe, expect, it } from "vitest";
import type { WaitingCallDto } from "$lib/bindings";
import { endOf, pauseSentences } from "./pause-state";
import { aPause } from "./pause.example";

const NOW = Date.parse("2026-11-27T14:05:00.000Z");
const pause = aPause({ agent: "order-bot", since: "2026-11-27T14:02:00.000Z", waiting: 2 });
const call = (id: string): WaitingCallDto => ({ id, server: "docs", tool: "find", agent: "order-bot", since: "" });

describe("a_pause_says", () => {
  it("what_waits_and_who_wanted_it", () => {
    const said = pauseSentences({ ...pause, holdsResults: true, reason: "wrong month" }, NOW);
    expect(said).toEqual([
      "New calls of order-bot wait.",
      "Results that arrive are held.",
      "2 calls wait.",
      "Paused by mara, 3 min ago: “wrong month”.",
    ]);
  });
  it("that_a_choice_is_asked_for_and_which_control_token_wanted_it", () => {
    expect(pauseSentences({ ...pause, mustChoose: true, by: "control:ctl_7" }, NOW).slice(1)).toEqual([
      "2 calls wait.",
      "Choose which are still wanted when you end this.",
      "Paused by the control token ctl_7, 3 min ago.",
    ]);
    expect(pauseSentences({ ...pause, mustChoose: true, waiting: 0 }, NOW)).toHaveLength(2);
  });
  it("how_many_processes_are_frozen_and_which_are_not", () => {
    const frozen = { ...pause, agent: null, server: "docs", waiting: 0 };
    const said = (stopped: number, moving: number, foreign: number, ran = {}) =>
      pauseSentences({ ...frozen, processes: { stopped, moving, foreign, ...ran } }, NOW).slice(0, -1);
    expect(said(4, 0, 0)).toEqual(["4 processes of docs are frozen. They keep their memory."]);
    expect(said(1, 1, 2)).toEqual([
      "1 process of docs is frozen. It keeps its memory.",
      "1 process has not stopped yet.",
      "2 processes of somebody else were left alone.",
    ]);
    expect(said(1, 0, 0, { ranAt: pause.since })[1]).toBe("Another program let it run 3 min ago; it was frozen again.");
    expect(said(0, 0, 0)).toEqual(["No process of docs runs now."]);
    expect(said(0, 0, 0, { goneAt: pause.since })).toEqual([
      "The frozen processes of docs disappeared 3 min ago. What they had in memory is lost.",
    ]);
  });
});

it("what_is_unticked_is_not_sent", () => {
  const calls = [call("hdl_1"), call("hdl_2")];
  expect(endOf(pause, calls, new Set())).toEqual({ agent: "order-bot", all: true });
  expect(endOf(pause, calls, new Set(["hdl_1"]))).toEqual({ agent: "order-bot", tasks: ["hdl_2"] });
  expect(endOf({ ...pause, agent: null, server: "docs" }, calls, new Set(["hdl_1", "hdl_2"]))).toEqual({
    server: "docs",
    tasks: [],
  });
});
