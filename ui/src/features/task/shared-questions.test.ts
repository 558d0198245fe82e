import { expect, it } from "vitest";
import type { InboxRow, RequestDto } from "$lib/bindings";
import { isOnlyPossiblyAsking, sharedQuestions } from "./shared-questions";

const asked = (key: string, oneOf: readonly string[], state: RequestDto["state"] = "open"): RequestDto => ({
  key,
  kind: "form",
  message: `Question ${key}`,
  state,
  openedAt: "2026-11-21T14:00:00.000Z",
  answer: null,
  withdrawnWhy: null,
  secretFields: [],
  ...(oneOf.length > 0 ? { oneOf: [...oneOf] } : {}),
});
const task = (requests: RequestDto[], askedElsewhere: string[] = []) => ({
  id: "hdl_1",
  phase: "waiting" as const,
  requests,
  askedElsewhere,
});
const row = { id: "hdl_2/b", message: "Go on?", oneOf: ["hdl_1", "hdl_2", "hdl_3"] } as InboxRow;

it("a task names the questions that it may be asking, wherever they are stored", () => {
  const inbox = new Map([[row.id, row]]);
  expect(
    sharedQuestions(
      task(
        [asked("a", ["hdl_1", "hdl_2"]), asked("own", []), asked("old", ["hdl_1", "hdl_2"], "confirmed")],
        ["hdl_2/b", "hdl_9/c"],
      ),
      inbox,
    ),
  ).toEqual([
    { row: "hdl_1/a", calls: 2, message: "Question a", isHere: true },
    { row: "hdl_2/b", calls: 3, message: "Go on?", isHere: false },
    { row: "hdl_9/c", calls: null, message: null, isHere: false },
  ]);
});

it("a task only possibly waits when no open question is known to be its own", () => {
  expect(isOnlyPossiblyAsking(task([], ["hdl_2/b"]))).toBe(true);
  expect(isOnlyPossiblyAsking(task([asked("a", ["hdl_1", "hdl_2"])]))).toBe(true);
  expect(isOnlyPossiblyAsking(task([asked("own", [])], ["hdl_2/b"])), "it asks a question of its own").toBe(false);
  expect([
    isOnlyPossiblyAsking(task([])),
    isOnlyPossiblyAsking({ ...task([], ["hdl_2/b"]), phase: "done" as never }),
  ]).toEqual([false, false]);
});
