// @vitest-environment jsdom
/* A hidden task that is opened by its id says so and offers the way back; a task that is over can be hidden from its menu. */
import { expect, it } from "vitest";
import { Toasts } from "$lib/actions";
import { fake } from "$lib/fake-core/backend";
import { detail } from "$lib/fake-core/entities";
import { show, until } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import { TASK } from "$lib/text/task";
import { drawerMenu } from "../actions/drawer-menu";
import TaskDrawer from "../TaskDrawer.svelte";
import { HiddenMark } from "./hidden-mark.svelte";

const NOW = Date.parse("2026-11-21T14:00:00.000Z");
const done = { ...makeRow(0, "done", NOW), held: null };
const quotes = { ...makeRow(1, "done", NOW), says: `moved what ${done.id} found` };
const quiet = () => new Toasts({ say: () => undefined } as unknown as ConstructorParameters<typeof Toasts>[0]);
const nothing = () => undefined;
const actions = {
  isLost: false,
  copyId: nothing,
  copyLink: nothing,
  copyCommand: nothing,
  poll: nothing,
  hold: nothing,
  revoke: nothing,
  isHidden: false,
  hide: nothing,
  unhide: nothing,
};
const keys = (change: Parameters<typeof detail>[0], isHidden = false) =>
  drawerMenu(detail(change, [], NOW), { ...actions, isHidden }).map((item) => item.key);

it("the_menu_hides_what_is_over_and_needs_nobody_and_nothing_else", () => {
  expect(keys(done)).toContain("hide");
  expect(keys(makeRow(2, "failed", NOW))).toContain("hide");
  for (const phase of ["running", "waiting", "lost", "unconfirmed"] as const)
    expect(keys(makeRow(3, phase, NOW)), phase).not.toContain("hide");
  expect(keys(done, true)).toContain("unhide");
  expect(keys(done, true)).not.toContain("hide");
});

it("a_task_is_hidden_only_when_it_is_itself_and_not_when_a_hidden_one_quotes_its_id", async () => {
  const backend = fake({ tasks: [done, quotes], inbox: [], hidden: [quotes.id] });
  const mark = new HiddenMark(backend, quiet(), done.id);
  await mark.read();
  expect(mark.isHidden).toBe(false);
  await mark.hide();
  expect(mark.isHidden).toBe(true);
  await mark.unhide();
  expect(mark.isHidden).toBe(false);
});

it("a_hidden_task_opened_by_its_id_says_so_and_is_shown_again_with_one_press", async () => {
  const backend = fake({ tasks: [done], inbox: [], hidden: [done.id] });
  document.body.append(document.createElement("main"));
  const shown = show(TaskDrawer, { id: done.id, close: nothing }, backend);
  const again = await shown.find<HTMLButtonElement>("[role=note] button", TASK.hidden.unhide);
  again.click();
  await until("the mark is gone", () => document.querySelector("[role=note]") === null);
  expect(backend.state.hidden.has(done.id)).toBe(false);
  await shown.close();
});
