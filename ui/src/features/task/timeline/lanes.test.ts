import { expect, it } from "vitest";
import type { HistoryEvent, TaskDto } from "$lib/bindings";
import { detail } from "$lib/fake-core/entities";
import { makeRow } from "$lib/fake-core/rows";
import { TASK } from "$lib/text/task";
import { timelineEvents } from "./events";
import { lanes } from "./lanes";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();
const task = (from: number, to: number | null): TaskDto => ({
  ...detail(makeRow(1, "done", NOW), [], NOW),
  createdAt: at(from),
  endedAt: to === null ? null : at(to),
  over: to !== null,
});
const event = (lane: HistoryEvent["lane"], seconds: number, verb: HistoryEvent["verb"], note = ""): HistoryEvent => ({
  at: at(seconds),
  lane,
  key: null,
  verb,
  note,
  actor: lane === "server" ? "server" : lane === "agent" ? "agent" : "person",
  who: "x",
});
const draw = (one: TaskDto, events: readonly HistoryEvent[]) =>
  lanes(one, timelineEvents(events, { server: "ci", agent: null, tool: "build", me: null }), [], NOW);

it("only those who took part have a lane, and the others are named", () => {
  const picture = draw(task(-60, -1), [event("person", -60, "admitted"), event("server", -50, "accepted")]);
  expect(picture.shown).toEqual(["server", "person"]);
  expect(TASK.lanes.absent(picture.absent)).toBe("No agent or rule took part.");
});

it("a task that was over at once has a list and no picture", () => {
  expect(draw(task(-4, -1), []).isShort, "three seconds").toBe(true);
  expect(draw(task(-9, -1), []).isShort, "eight seconds").toBe(false);
  expect(draw(task(-1, null), []).isShort, "it still runs and will be longer").toBe(false);
});

it("no tick stands at a failure or at a cancel", () => {
  const marks = timelineEvents(
    [
      event("server", -9, "ended", "working -> failed"),
      event("server", -8, "stopEnded"),
      event("server", -7, "ended", "working -> cancelled"),
    ],
    { server: "ci", agent: null, tool: "build", me: null },
  );
  expect(marks.map((mark) => mark.icon)).not.toContain("check");
});
