// @vitest-environment jsdom
import { expect, it } from "vitest";
import type { EscalateTask, ServerDto, TaskDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { detail, makeServer } from "$lib/fake-core/entities";
import { show, until } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import { fakeEscalation } from "$lib/fake-core/tasks/escalation";
import { isNotObeyed, offeredSteps } from "./next-steps";
import NextSteps from "./NextSteps.svelte";

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

const server = { figures: { open: 3 }, address: { kind: "stdio" } } as unknown as ServerDto;

it("the steps that the core offers are shown while the cancel is not obeyed, without the cancel itself", () => {
  const numbers = (given: TaskDto) =>
    offeredSteps(given, fakeEscalation(given, server, []), NOW).map((step) => step.number);
  expect(numbers(task({}))).toEqual([2, 3, 4, 5]);
  expect(numbers(task({}, { at: at(-3), sentAt: at(-3) })), "it is given time").toEqual([]);
  expect(numbers(task({ agent: null })), "no agent has it").toEqual([5]);
});

it("a step that ends more than the task names what ends and is taken only after a person confirmed it", async () => {
  const row = { ...makeRow(1, "cancelling", NOW), agent: "order-bot", server: "files" };
  const others = [2, 3].map((number) => ({ ...makeRow(number, "running", NOW), server: "files" }));
  const backend = fake({ tasks: [row, ...others], servers: [makeServer("files", 0, NOW)] });
  const stubborn = task({ id: row.id, server: "files" });
  backend.state.details.set(row.id, stubborn);
  document.body.append(document.createElement("main"));
  const shown = show(NextSteps, { task: stubborn, now: NOW, ontask: () => undefined }, backend);
  const button = async (label: string) => shown.find<HTMLButtonElement>("button", label);
  (await button("Hold its result")).click();
  await until("the step is listed with its evidence", () =>
    (document.body.textContent ?? "").includes("The result is held before its agent gets it."),
  );
  (await button("Shut down files")).click();
  await until("it asks first", () => document.querySelector("[role=dialog]") !== null);
  expect(document.querySelector("[role=dialog]")?.textContent).toContain("3 open tasks end, of order-bot.");
  expect(document.querySelector("[role=dialog]")?.textContent).toContain("48211 (node)");
  expect(asked(backend), "only the first step was taken").toEqual([{ step: 2, told: 1 }]);
  document.querySelector<HTMLButtonElement>("[role=dialog] button[type=submit]")?.click();
  await until("the step is taken", () => asked(backend).length === 2);
  expect(asked(backend)[1], "with what the person was told").toEqual({ step: 5, told: 3 });
  await shown.close();
});

function asked(backend: ReturnType<typeof fake>) {
  return backend.called.flatMap(({ name, input }) => {
    if (name !== "tasks.escalate") return [];
    const { step, toldTasks } = input as EscalateTask;
    return [{ step, told: toldTasks }];
  });
}
