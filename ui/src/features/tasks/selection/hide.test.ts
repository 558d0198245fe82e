// @vitest-environment jsdom
/* Hiding finished tasks: what it works for, what it says, and the way back. */
import { expect, it } from "vitest";
import { Toasts } from "$lib/actions";
import { fake } from "$lib/fake-core/backend";
import { EVERYTHING } from "$lib/fake-core/query";
import { makeRow } from "$lib/fake-core/rows";
import { TASKS } from "$lib/text/tasks";
import { countSelection } from "./bulk-target";
import { hide, unhide } from "$lib/task/hide";

const NOW = Date.parse("2026-11-21T14:00:00.000Z");
const rows = [makeRow(0, "done", NOW), makeRow(1, "failed", NOW), makeRow(2, "running", NOW), makeRow(3, "lost", NOW)];
const ids = rows.map((row) => row.id);
const total = async (backend: ReturnType<typeof fake>, flags: ("hidden" | "held")[] = []) =>
  (await backend.call("tasks.counts", { queries: [{ ...EVERYTHING, flags }] })).counts[0];
const quiet = () => new Toasts({ say: () => undefined } as unknown as ConstructorParameters<typeof Toasts>[0]);

it("works_for_tasks_that_have_ended_and_need_nobody", async () => {
  const backend = fake({ tasks: rows, inbox: [] });
  const known = (id: string) => rows.find((row) => row.id === id);
  const some = await countSelection(backend, { kind: "some", ids }, known);
  const all = await countSelection(backend, { kind: "all", query: EVERYTHING }, known);
  expect([some.hideable, all.hideable], "a lost task needs a person").toEqual([2, 2]);
});

it("says_how_many_were_hidden_and_what_stays_and_an_undo_shows_them_again", async () => {
  const backend = fake({ tasks: rows, inbox: [] });
  const toasts = quiet();
  await hide(backend, toasts, { kind: "some", ids });
  expect(toasts.list.map((toast) => toast.text)).toEqual([TASKS.hidden.done(2, 2)]);
  expect([await total(backend), await total(backend, ["hidden"])]).toEqual([2, 2]);
  expect(backend.state.totals().figures).toMatchObject({ all: 2, finished: 0, hidden: 2 });
  await toasts.undoable?.undo?.();
  expect([await total(backend), await total(backend, ["hidden"])]).toEqual([4, 0]);
});

it("says_so_when_nothing_can_be_hidden", async () => {
  const toasts = quiet();
  await hide(fake({ tasks: rows, inbox: [] }), toasts, { kind: "some", ids: ids.slice(2) });
  expect(toasts.list.map((toast) => toast.text)).toEqual([TASKS.hidden.none]);
  expect(toasts.undoable, "there is nothing to take back").toBe(null);
});

it("all_hidden_tasks_are_shown_again_at_once", async () => {
  const backend = fake({ tasks: rows, inbox: [], hidden: ids.slice(0, 2) });
  const query = { ...EVERYTHING, flags: ["hidden" as const] };
  await unhide(backend, quiet(), { kind: "all", query });
  expect(await total(backend)).toBe(4);
});
