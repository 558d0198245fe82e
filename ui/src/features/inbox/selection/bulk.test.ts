// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Announcer, Toasts } from "$lib/actions";
import { fake, type FakeOptions } from "$lib/fake-core/backend";
import { STORY_NOW } from "$lib/fake-core/story";
import { LOST, QUESTION } from "../inbox.example";
import { equalQuestions } from "../several.example";
import { BulkActions } from "./bulk-actions.svelte";
import { areEqual, equalTo, Selection } from "./selection.svelte";

beforeEach(() => void vi.useFakeTimers({ now: STORY_NOW }));
afterEach(() => void vi.useRealTimers());

const three = equalQuestions(3);
function begin(more: FakeOptions = {}) {
  const backend = fake({
    now: STORY_NOW,
    tasks: three.map((one) => one.taskRow),
    inbox: three.map((one) => one.row),
    details: three.map((one) => one.task),
    ...more,
  });
  const toasts = new Toasts(new Announcer());
  const done = vi.fn();
  const bulk = new BulkActions({ backend, toasts, now: () => STORY_NOW, done });
  const sent = (name: string) => backend.called.filter((one) => one.name === name).map((one) => one.input);
  return { bulk, toasts, done, sent };
}
const rows = three.map((one) => one.row);
/** When the made-up core has replied. */
async function after(work: Promise<void>): Promise<void> {
  await vi.advanceTimersByTimeAsync(100);
  await work;
}
const questions = rows.map(({ task, key }) => ({ id: task, key }));

it("equal questions get one answer in one call, and undo takes all of it back", async () => {
  const { bulk, toasts, done, sent } = begin();
  await after(bulk.answer(rows, "accept", { go: true }));
  expect(sent("inbox.answer")).toEqual([{ questions, action: "accept", content: { go: true } }]);
  expect(done).toHaveBeenCalledOnce();
  expect(toasts.undoable?.text).toContain("3 answers");
  toasts.undo();
  await vi.advanceTimersByTimeAsync(100);
  expect(sent("inbox.undoAnswer")).toEqual([{ questions }]);
});

it("what could not be answered is said, and only what was answered can be taken back", async () => {
  const { bulk, toasts } = begin({
    calls: {
      "inbox.answer": ({ questions: asked }) => ({
        done: asked.slice(0, 1),
        left: asked.slice(1).map((one) => ({ ...one, why: "already answered by dana" })),
      }),
    },
  });
  await after(bulk.answer(rows, "decline", null));
  expect(toasts.list.map((toast) => toast.text)).toEqual([
    "2 could not be answered: already answered by dana",
    expect.stringContaining("1 answer"),
  ]);
});

it("only questions of one server, tool and form are equal", () => {
  expect(areEqual(rows)).toBe(true);
  const [first, second] = rows;
  if (!first || !second) throw new Error("there are three");
  expect(areEqual([first, { ...second, form: "other" }])).toBe(false);
  expect(areEqual([first, { ...second, tool: "other" }])).toBe(false);
  const { form: _, ...without } = first;
  expect(areEqual([without, without]), "a destructive one names no form, and equals not even itself").toBe(false);
  expect(equalTo(first, [...rows, QUESTION.row, LOST.row]).length).toBe(3);
});

it("what was answered or left the list is selected no more", () => {
  let inbox = new Map(rows.map((row) => [row.id, row]));
  const selection = new Selection(() => inbox);
  selection.set(rows.map((row) => row.id));
  const [first, second] = rows;
  if (!first || !second) throw new Error("there are three");
  inbox = new Map([
    [first.id, first],
    [second.id, { ...second, answeredBy: "dana" }],
  ]);
  expect(selection.rows.map((row) => row.id)).toEqual([first.id]);
});
