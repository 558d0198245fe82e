import { expect, it } from "vitest";
import type { TaskDto } from "$lib/bindings";
import { detail } from "$lib/fake-core/entities";
import { makeRow } from "$lib/fake-core/rows";
import { isNotObeyed, nextSteps } from "./next-steps";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();
const task = (change: Partial<TaskDto>, intent: Partial<NonNullable<TaskDto["intent"]>> = {}): TaskDto => ({
  ...detail(makeRow(1, "cancelling", NOW), [], NOW),
  agent: "order-bot",
  over: false,
  held: null,
  endedAt: null,
  intent: {
    kind: "cancel",
    at: at(-64),
    by: "Mara",
    reason: null,
    state: "asked",
    refusedWhy: null,
    sentAt: at(-64),
    acknowledgedAt: null,
    ...intent,
  },
  ...change,
});

it("a cancel is given time before it counts as not obeyed", () => {
  expect(isNotObeyed(task({}, { at: at(-3), sentAt: at(-3) }), NOW), "three seconds").toBe(false);
  expect(isNotObeyed(task({}), NOW), "a minute").toBe(true);
  expect(isNotObeyed(task({}, { state: "refused", at: at(-1), sentAt: at(-1) }), NOW), "a refusal is clear").toBe(true);
  expect(isNotObeyed(task({ over: true }), NOW), "it is over").toBe(false);
  expect(isNotObeyed(task({ intent: null }), NOW), "nobody asked").toBe(false);
});

it("only what still can be done is offered, the mildest first", () => {
  expect(nextSteps(task({}), NOW, false)).toEqual(["hold", "revoke"]);
  expect(nextSteps(task({}), NOW, true), "its server runs here").toEqual(["hold", "revoke", "end"]);
  expect(nextSteps(task({ agent: null }), NOW, true), "a person's own task").toEqual(["end"]);
  expect(nextSteps(task({}, { kind: "revoked" }), NOW, false), "revoked already").toEqual([]);
});
