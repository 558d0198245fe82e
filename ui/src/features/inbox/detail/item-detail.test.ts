// @vitest-environment jsdom
/* What an opened item says of its task agrees with what the list of tasks says of it. */
import { beforeEach, expect, it, vi } from "vitest";
import { clock } from "$lib/clock.svelte";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { route } from "$lib/route.svelte";
import Inbox from "../Inbox.svelte";
import { LOST, OVERDUE, QUESTION, TOO_LARGE, type Item } from "../inbox.example";
import { SAME_CALL } from "../alarm.example";
import { PAST_TIME_LIMIT } from "../time-limit.example";

const nothing = () => undefined;
// jsdom lays nothing out; the list asks for it all the same.
Object.assign(globalThis, {
  ResizeObserver: class {
    observe = nothing;
    disconnect = nothing;
  },
  matchMedia: () => ({ matches: false, addEventListener: nothing, removeEventListener: nothing }),
});

beforeEach(() => {
  clock.freeze(STORY_NOW);
  document.body.replaceChildren(document.createElement("main"));
});

function open(item: Item) {
  route.go("inbox", item.row.id);
  const backend = fake({ now: STORY_NOW, tasks: [item.taskRow], inbox: [item.row], details: [item.task] });
  return show(Inbox, {}, backend);
}

it("a_task_that_is_late_by_experience_is_not_called_later_than_agreed", async () => {
  const shown = open(OVERDUE);
  await shown.find("header", "Later than usual");
  expect(shown.text()).not.toContain("Later than agreed");
  await shown.close();
});

it("until_when_a_server_had_agreed_to_keep_a_lost_task_is_a_time_of_day", async () => {
  const shown = open(LOST);
  await shown.find("section", "The server had agreed to keep it until 21 Nov,");
  await shown.close();
});

it("a_lost_task_says_what_happened_and_not_more_than_is_known", async () => {
  for (const last of ["the process that ran it ended: killed by signal 9", "the server no longer knows the task"]) {
    const contact = { ...LOST.task.contact, kind: "gone" as const, last };
    const shown = open({ ...LOST, task: { ...LOST.task, contact } });
    await shown.find("header .status-line", `${last.charAt(0).toUpperCase()}${last.slice(1)}`);
    await shown.find("header", " was lost on warehouse");
    expect(shown.text()).not.toContain("unknown task");
    await shown.close();
  }
});

it("only_a_question_was_asked_and_everything_else_is_in_the_inbox_since", async () => {
  for (const [item, term] of [
    [QUESTION, "Asked"],
    [PAST_TIME_LIMIT, "In the inbox since"],
  ] as const) {
    const shown = open(item);
    await shown.find("dt", term);
    const terms = [...document.querySelectorAll("dt")].map((one) => one.textContent.trim());
    expect(terms.filter((one) => one === "Asked" || one === "In the inbox since")).toEqual([term]);
    await shown.close();
  }
});

it("the_tasks_of_an_agent_in_a_loop_are_cancelled_after_their_number_is_agreed_to", async () => {
  route.go("inbox", SAME_CALL.row.id);
  const rows = [1, 2].map((at) => ({ ...SAME_CALL.taskRow, id: `hdl_${at}`, phase: "running" as const, over: false }));
  const backend = fake({ now: STORY_NOW, tasks: rows, inbox: [SAME_CALL.row] });
  const shown = show(Inbox, {}, backend);
  await shown.find("h2", "order-bot made the same call 12 times in 4 min");
  expect(shown.text()).toContain("search of memorygraph");
  await shown.press("footer button", "Cancel its tasks");
  await shown.find("h2", "Ask to cancel 2 open tasks of order-bot?");
  expect(
    backend.called.some(({ name }) => name === "plans.run"),
    "nothing was asked yet",
  ).toBe(false);
  const went = vi.spyOn(route, "go");
  await shown.press('[role="dialog"] button', "Cancel its tasks");
  const shows = [["tasks", null, "q=agent%3Aorder-bot+tool%3Asearch&plan=pln_1"]];
  await until("the list shows the results", () => JSON.stringify(went.mock.calls) === JSON.stringify(shows));
  went.mockRestore();
  await shown.close();
});

it("a_finished_task_has_no_percentage", async () => {
  const shown = open({ ...TOO_LARGE, task: { ...TOO_LARGE.task, progress: { done: 38, total: 100, message: null } } });
  await shown.find("header", "completed");
  expect((await shown.find("header .status-line")).textContent).not.toContain("38 %");
  await shown.close();
});
