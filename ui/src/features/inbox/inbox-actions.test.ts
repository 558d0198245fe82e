// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Announcer, Toasts } from "$lib/actions";
import { fake, type FakeOptions } from "$lib/fake-core/backend";
import type { ApiError } from "$lib/bindings";
import { STORY_NOW } from "$lib/fake-core/story";
import { InboxActions } from "./inbox-actions.svelte";
import {
  DESTRUCTIVE,
  LINK,
  OVER_LIMIT,
  QUESTION,
  RESULT_HELD,
  SECRET,
  sharedAmong,
  TOO_LARGE,
  type Item,
} from "./inbox.example";
import { ASKING, SAME_CALL } from "./alarm.example";
import { PAST_TIME_LIMIT } from "./time-limit.example";
import { YES_NO, yesNo } from "./yes-no.example";

beforeEach(() => void vi.useFakeTimers({ now: STORY_NOW }));
afterEach(() => void vi.useRealTimers());

function begin(item: Item, more: FakeOptions = {}) {
  const backend = fake({ now: STORY_NOW, tasks: [item.taskRow], inbox: [item.row], details: [item.task], ...more });
  const toasts = new Toasts(new Announcer());
  const left: string[] = [];
  const selected: string[] = [];
  const actions = new InboxActions({
    backend,
    toasts,
    now: () => STORY_NOW,
    leave: (id) => left.push(id),
    select: (id) => selected.push(id),
  });
  const [request] = item.task.requests;
  const form = () => {
    if (!request) throw new Error("the item asks something");
    return actions.form(item.row, request);
  };
  const field = (name: string) => {
    const found = form().model.fields.find((one) => one.name === name);
    if (!found) throw new Error(`no field ${name}`);
    return found;
  };
  const sent = (name: string) => backend.called.filter((one) => one.name === name).map((one) => one.input);
  return { backend, toasts, actions, form, field, sent, left, selected, row: item.row };
}

it("an answer is held back five seconds, and the next item is selected", async () => {
  const { actions, form, sent, left, toasts, row } = begin(QUESTION);
  form();
  expect(actions.send(row, false)).toBe("sent");
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.answer")).toEqual([
    {
      id: row.task,
      key: row.key,
      action: "accept",
      content: { rollout: "canary", regions: ["eu-west-1", "us-east-1"], limit: 1.5 },
      hold: true,
    },
  ]);
  expect(left).toEqual([row.id]);
  expect(toasts.undoable?.text).toContain("Sending your answer to ci-server");
});

it("an answer that is taken back stands in its form again", async () => {
  const { actions, form, field, sent, selected, toasts, row } = begin(QUESTION);
  form().type(field("limit"), "3");
  actions.send(row, false);
  await vi.advanceTimersByTimeAsync(1_000);
  toasts.undo();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent("tasks.undoAnswer")).toEqual([{ id: row.task, key: row.key }]);
  expect(selected).toEqual([row.id]);
  expect(form().value("limit"), "nothing was lost").toBe(3);
  expect(sent("desk.put").at(-1), "the draft is kept again").toMatchObject({
    key: row.id,
    value: { values: { limit: 3 } },
  });
});

it("a form with something to correct is not sent and names its first field", async () => {
  const { actions, form, field, sent, row } = begin(QUESTION);
  form().type(field("limit"), "many");
  expect(actions.send(row, false)).toEqual({ correct: "limit" });
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.answer")).toEqual([]);
});

it("a destructive answer takes two steps", async () => {
  const { actions, form, field, sent, row } = begin(DESTRUCTIVE);
  form().set(field("sure"), true);
  expect(actions.send(row, false)).toBe("confirm");
  expect(actions.popup).toBe("confirm");
  expect(sent("tasks.answer")).toEqual([]);
  expect(actions.send(row, true)).toBe("sent");
});

it("a refusal stays with its item, and what was written stays too", async () => {
  const refused: ApiError = {
    code: "refused",
    message: "this question was already answered by Dana",
    hint: "The first answer counts.",
  };
  const { actions, form, field, left, row } = begin(QUESTION, {
    calls: {
      "tasks.answer": () => {
        throw refused;
      },
    },
  });
  form().type(field("limit"), "3");
  actions.send(row, false);
  await vi.advanceTimersByTimeAsync(10);
  expect(actions.failed.get(row.id)).toEqual(refused);
  expect(left).toEqual([]);
  expect(form().value("limit")).toBe(3);
  expect(actions.keeps(row.id), "the item does not leave with unsent words in it").toBe(true);
});

it("a draft is kept half a second after the last change, without secrets, and forgotten when sent", async () => {
  const { actions, form, field, sent, row } = begin(SECRET);
  form().type(field("user"), "dana");
  form().type(field("password"), "hunter2");
  actions.keepDraft(row.id, form());
  await vi.advanceTimersByTimeAsync(400);
  expect(sent("desk.put")).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(sent("desk.put")).toEqual([{ kind: "draft", key: row.id, value: { values: { user: "dana" }, typed: {} } }]);
  expect(JSON.stringify(sent("desk.put"))).not.toContain("hunter2");
  actions.send(row, false);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("desk.put").at(-1)).toEqual({ kind: "draft", key: row.id, value: null });
});

it("a kept draft stands in the form after a restart, and can be started over", async () => {
  const { actions, form, row } = begin(QUESTION, {
    userData: [
      {
        kind: "draft",
        key: QUESTION.row.id,
        value: { values: { rollout: "all" }, typed: { limit: "1," } },
        changedAt: "2026-11-21T14:00:00.000Z",
      },
    ],
  });
  await Promise.all([actions.load(), vi.advanceTimersByTimeAsync(10)]);
  expect(form().draft).toEqual({ values: { rollout: "all" }, typed: { limit: "1," } });
  expect(actions.restoredAt(row.id)).toBe("2026-11-21T14:00:00.000Z");
  actions.startOver(row.id);
  expect(form().value("rollout")).toBe("canary");
});

it("not now hides for ten minutes, sends nothing, and can be taken back", async () => {
  const { actions, sent, left, toasts, row } = begin(LINK);
  void actions.snooze(row);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("desk.put")).toEqual([
    { kind: "snooze", key: row.id, value: { until: new Date(STORY_NOW + 600_000).toISOString() } },
  ]);
  expect(sent("tasks.answer")).toEqual([]);
  expect(left).toEqual([row.id]);
  toasts.undo();
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("desk.put").at(-1)).toMatchObject({ value: null });
});

it("a link opens only when asked, and consent follows only when said", async () => {
  const { actions, backend, sent, row } = begin(LINK);
  const opened = vi.spyOn(backend, "openOutside");
  expect(opened).not.toHaveBeenCalled();
  void actions.openLink(row, "https://id.ledgerly.example/");
  await vi.advanceTimersByTimeAsync(10);
  expect(opened).toHaveBeenCalledTimes(1);
  expect(sent("tasks.answer"), "opening is no answer").toEqual([]);
  void actions.answer(row, "accept");
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.answer")).toEqual([{ id: row.task, key: row.key, action: "accept", content: null, hold: false }]);
});

it("with seconds left an answer leaves at once", async () => {
  const { actions, form, sent, toasts, row } = begin({
    ...QUESTION,
    row: { ...QUESTION.row, deadline: new Date(STORY_NOW + 8_000).toISOString() },
  });
  form();
  actions.send({ ...row }, false);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.answer")).toMatchObject([{ hold: false }]);
  expect(toasts.undoable).toBeNull();
});

it("a large result goes in parts, and in another form when a person says so", async () => {
  const { actions, sent, left, row } = begin(TOO_LARGE);
  expect(actions.deliver(row, TOO_LARGE.task.held)).toBe(true);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.release")).toEqual([{ id: row.task, deliver: true, form: "slices" }]);
  expect(left).toEqual([row.id]);
  actions.deliverAs(row.id, { form: "trimmed", trim: "5k" });
  actions.deliver(row, TOO_LARGE.task.held);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.release").at(-1)).toEqual({ id: row.task, deliver: true, form: "trimmed", trimTokens: 5_000 });
});

it("a held result goes to nobody before its task is heard", async () => {
  for (const held of [RESULT_HELD, TOO_LARGE]) {
    const { actions, sent, row } = begin(held);
    expect(actions.deliver(row, null), "there is nothing to correct").toBe(true);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent("tasks.release")).toEqual([]);
  }
});

it("a result that a person wanted to see goes as it came", async () => {
  const { actions, sent, row } = begin(RESULT_HELD);
  expect(actions.deliver(row, RESULT_HELD.task.held)).toBe(true);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.release")).toEqual([{ id: row.task, deliver: true }]);
});

it("a trim that is no number is not sent, and its error stands at the field", async () => {
  const { actions, sent, row } = begin(TOO_LARGE);
  actions.deliverAs(row.id, { form: "trimmed", trim: "a bit" });
  expect(actions.deliver(row, TOO_LARGE.task.held)).toBe(false);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.release")).toEqual([]);
  expect(actions.tried.has(row.id)).toBe(true);
});

it("a result that is not delivered tells its agent why", async () => {
  const { actions, sent, row } = begin(TOO_LARGE);
  void actions.release(row, { form: "withheld", reason: " too much " });
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.release")).toEqual([{ id: row.task, deliver: false, reason: "too much" }]);
});

it("a task past its limit goes on when a person lets it", async () => {
  const { actions, sent, left, row } = begin(OVER_LIMIT);
  void actions.goOn(row);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.goOn")).toEqual([{ id: row.task }]);
  expect(left).toEqual([row.id]);
});

it("a task past its time limit runs for longer, or without the limit, when a person says so", async () => {
  for (const moreMs of [1_800_000, null]) {
    const { actions, sent, left, row } = begin(PAST_TIME_LIMIT);
    void actions.allowTime(row, moreMs);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent("tasks.allowTime")).toEqual([{ id: row.task, limit: "time", moreMs }]);
    expect(left).toEqual([row.id]);
  }
});

it("an alarm is dismissed by its id, and the next item is shown", async () => {
  const { actions, sent, left, row } = begin(SAME_CALL);
  void actions.dismissAlarm(row);
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("alarms.dismiss")).toEqual([{ ids: [row.alarm?.id] }]);
  expect(left).toEqual([row.id]);
});

it("calls that wait because of an alarm are sent or cancelled, and the next item is shown", async () => {
  for (const calls of ["send", "cancel"] as const) {
    const { actions, sent, left, row } = begin(ASKING);
    void actions.decideAlarm(row, calls);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent("alarms.decide")).toEqual([{ ids: [row.alarm?.id], calls }]);
    expect(left).toEqual([row.id]);
  }
});

it("a cancel at a question of several calls aims at the chosen call, and never at the one that stores it", async () => {
  const { item, calls } = sharedAmong(5, "unsupported");
  const chosen = calls[2]?.taskRow.id ?? "";
  const { actions, sent, row } = begin(item, { tasks: [item, ...calls].map((one) => one.taskRow) });
  void actions.cancel(row, "");
  await vi.advanceTimersByTimeAsync(10);
  expect(sent("tasks.cancel"), "which call asks is not known").toEqual([]);
  const asked = actions.cancelCall(chosen);
  await vi.advanceTimersByTimeAsync(10);
  expect(await asked).toBe(true);
  expect(sent("tasks.cancel")).toEqual([{ ids: [chosen], reason: null, wait: false }]);
});

it("why a call was not asked to cancel stands beside that call", async () => {
  const { item, calls } = sharedAmong(2);
  const chosen = calls[0]?.taskRow.id ?? "";
  const { actions, row } = begin(item, {
    calls: {
      "tasks.cancel": () => ({ stops: [{ id: chosen, state: "notAsked", why: "it was over before", task: null }] }),
    },
  });
  const asked = actions.cancelCall(chosen);
  await vi.advanceTimersByTimeAsync(10);
  expect(await asked).toBe(false);
  expect([actions.failed.get(chosen)?.message, actions.failed.has(row.id)]).toEqual(["it was over before", false]);
});

it("what a server calls its tool is told in one short line", async () => {
  const { actions, toasts, row } = begin({
    ...OVER_LIMIT,
    row: { ...OVER_LIMIT.row, tool: `\u001b[31m${"x\n".repeat(10_000)}\u202e` },
  });
  void actions.goOn(row);
  await vi.advanceTimersByTimeAsync(10);
  const said = toasts.list[0]?.text ?? "";
  expect(said, "it was told").toContain("continues");
  expect(said.length).toBeLessThan(100);
  expect(said).not.toMatch(/[\n\u001b\u202e]/);
});

it("a question that asks only yes or no is answered in one step, and a destructive one in two", async () => {
  const quick = begin(YES_NO);
  quick.form();
  expect(quick.actions.choose(quick.row, false)).toBe(true);
  expect(quick.actions.send(quick.row, false)).toBe("sent");
  await vi.advanceTimersByTimeAsync(10);
  expect(quick.sent("tasks.answer")).toMatchObject([{ action: "accept", content: { publish: false }, hold: true }]);

  const careful = begin(yesNo(true));
  careful.form();
  expect(careful.actions.choose(careful.row, true)).toBe(true);
  expect(careful.actions.send(careful.row, false)).toBe("confirm");
  expect(careful.sent("tasks.answer"), "nothing is sent before the second step").toEqual([]);
});

it("a question that asks more than yes or no has no buttons for them", () => {
  const { actions, form, row } = begin(QUESTION);
  form();
  expect([form().yesNo, actions.choose(row, true)]).toEqual([null, false]);
});
