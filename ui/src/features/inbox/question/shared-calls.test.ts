import { expect, it, vi } from "vitest";
import type { InboxRow } from "$lib/bindings";
import { inboxText } from "$lib/text/inbox";
import { OVERDUE, QUESTION, sharedAmong } from "../inbox.example";
import { inboxKeys } from "../inbox-keys";
import { sharedCall } from "./shared-calls";

const {
  calls: [one],
  item,
} = sharedAmong(2);
if (!one) throw new Error("two calls");
const { task, taskRow } = one;
const later = (seconds: number) => new Date(Date.parse(task.changedAt) + seconds * 1_000).toISOString();

it("a call that may be asking is shown as it was told last", () => {
  expect(sharedCall(null, null), "nothing is known yet").toBeNull();
  expect(sharedCall(task, null)).toMatchObject({ tool: "sync_1", agent: "order-bot", mayCancel: true, cancel: null });
  const told = { ...taskRow, phase: "cancelling" as const, stopState: "acknowledged" as const, changedAt: later(4) };
  expect(sharedCall(task, told)).toMatchObject({ mayCancel: false, cancel: "acknowledged" });
  expect(
    sharedCall({ ...task, changedAt: later(9), over: true, phase: "done" }, told),
    "a newer reading",
  ).toMatchObject({ mayCancel: false, cancel: null, phase: { style: { word: "Done" } } });
});

it("a call whose cancel was refused can be cancelled again, and one that is over cannot", () => {
  expect(sharedCall(null, { ...taskRow, stopState: "refused" })?.mayCancel).toBe(true);
  expect(sharedCall(null, { ...taskRow, over: true })?.mayCancel).toBe(false);
});

it("at a question of several calls `c` leads to the list of calls, and there is no handle to copy", () => {
  const nothing = () => undefined;
  const keys = (row: InboxRow, off = false) =>
    inboxKeys({
      row,
      isCovered: false,
      mayAnswer: true,
      sized: false,
      off,
      arrived: false,
      move: nothing,
      to: nothing,
      next: nothing,
      primary: nothing,
      back: nothing,
      send: nothing,
      say: null,
      decline: nothing,
      snooze: nothing,
      snoozeMenu: nothing,
      find: nothing,
      pick: nothing,
      pickAll: nothing,
      selected: false,
      stop: vi.fn(),
      menu: nothing,
      copy: nothing,
      settle: nothing,
    });
  const at = (row: InboxRow, key: string, off = false) => {
    const found = keys(row, off).find((one) => one.key === key);
    return found?.when?.() === true ? found.label : null;
  };
  expect(at(item.row, "c")).toBe(inboxText.shared.choose);
  expect([at(item.row, "y"), at(item.row, "c", true), at(QUESTION.row, "c")]).toEqual([null, null, null]);
  expect([at(OVERDUE.row, "c"), at(OVERDUE.row, "y")]).toEqual([inboxText.cancel.ask, inboxText.act.copyHandle]);
});
