// @vitest-environment jsdom
/* Ending many tasks: asked once and confirmed first, followed to the end, and found again under the plan's address. */
import { beforeEach, expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import type { BulkTarget } from "./bulk-target";
import BulkEnd from "./BulkEnd.svelte";

const NOW = Date.parse("2026-11-21T14:00:00.000Z");
const rows = [makeRow(0, "running", NOW), makeRow(1, "running", NOW), makeRow(2, "done", NOW)];
const target: BulkTarget = { kind: "some", ids: rows.map((row) => row.id) };
const nothing = () => undefined;
const props = { onrun: nothing as (id: string) => void, onopen: nothing, onclose: nothing };

// jsdom lays nothing out; the list asks for it all the same.
Object.assign(globalThis, {
  ResizeObserver: class {
    observe = nothing;
    disconnect = nothing;
  },
});

beforeEach(() => {
  document.body.replaceChildren(document.createElement("main"));
});

it("nothing_is_asked_before_the_question_is_answered_and_who_is_left_out_is_said", async () => {
  const backend = fake({ tasks: rows, inbox: [] });
  const shown = show(BulkEnd, { ...props, backend, begin: { kind: "cancel" as const, target } }, backend);
  await shown.find("button", "Ask to cancel 2 tasks");
  expect(shown.text()).toContain("Left out: 1 selected task that has already ended.");
  expect([...backend.state.rows.values()].map((row) => row.phase)).toEqual(["running", "running", "done"]);
  await shown.close();
});

it("each_task_is_followed_until_it_has_ended_and_the_plan_is_named_before_it_is_run", async () => {
  const named: string[] = [];
  const backend = fake({ tasks: rows, inbox: [] });
  const begin = { kind: "cancel" as const, target };
  const shown = show(BulkEnd, { ...props, onrun: (id: string) => named.push(id), backend, begin }, backend);
  await shown.press("button", "Ask to cancel 2 tasks");
  expect(named, "a reload in the middle of the run finds it").toHaveLength(1);
  await until("each was asked", () => shown.text().includes("has not replied yet"));
  await until("focus is not lost", () => document.activeElement?.textContent.trim() === "Close");
  await until("all have ended", () => shown.text().includes("All 2 have ended."));
  await shown.close();

  const again = show(BulkEnd, { ...props, backend, begin: { plan: named[0] ?? "" } }, backend);
  await until("a reload shows the same", () => again.text().includes("All 2 have ended."));
  expect(again.text()).not.toContain("Ask to cancel 2 tasks");
  await again.close();
});

it("a_run_that_is_refused_asks_nothing_and_offers_to_count_again", async () => {
  const backend = fake({
    tasks: rows,
    inbox: [],
    calls: {
      "plans.run": () => {
        throw { code: "refused", message: "the plan has expired", hint: "Nothing was asked. Make a new plan." };
      },
    },
  });
  const shown = show(BulkEnd, { ...props, backend, begin: { kind: "revoke" as const, target } }, backend);
  await shown.press("button", "Revoke 2 tasks");
  await shown.find("button", "Count again");
  expect(shown.text()).toContain("The plan has expired");
  await shown.press("button", "Count again");
  await shown.find("button", "Revoke 2 tasks");
  await shown.close();
});

it("a_plan_that_was_never_run_cannot_be_run_from_its_address", async () => {
  const backend = fake({ tasks: rows, inbox: [] });
  const { planId } = await backend.call("plans.make", { kind: "cancel", ids: [rows[0]?.id ?? ""] });
  const shown = show(BulkEnd, { ...props, backend, begin: { plan: planId } }, backend);
  await until("it says so", () => shown.text().includes("nobody was asked"));
  expect([...document.querySelectorAll("[role=dialog] button")].map((one) => one.textContent.trim())).toEqual([
    "Close",
  ]);
  await shown.close();
});

it("a_plan_that_is_no_longer_kept_is_told_in_words_and_not_by_its_id", async () => {
  const backend = fake({ tasks: rows, inbox: [] });
  const shown = show(BulkEnd, { ...props, backend, begin: { plan: "pln_9" } }, backend);
  await shown.find("[role=dialog]", "no longer kept");
  expect(shown.text()).not.toContain("pln_9");
  await shown.close();
});
