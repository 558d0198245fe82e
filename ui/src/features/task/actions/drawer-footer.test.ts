// @vitest-environment jsdom
/* What the drawer offers in the phase of its task. */
import { beforeAll, expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { detail, request } from "$lib/fake-core/entities";
import { show } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import TaskDrawer from "../TaskDrawer.svelte";

const NOW = Date.now();
// Menus are laid over the content of the page.
beforeAll(() => document.body.append(document.createElement("main")));

it("a_task_that_waits_shows_its_question_and_leads_to_the_answer", async () => {
  const backend = fake({ tasks: 1 });
  const row = { ...makeRow(1, "waiting", NOW), id: "hdl_waits" };
  const asked = request(row, "batch", "form", "How many orders may one batch hold?");
  backend.state.details.set(row.id, detail(row, [asked], NOW));
  const shown = show(TaskDrawer, { id: row.id, close: () => undefined }, backend);
  const answer = await shown.find<HTMLAnchorElement>("footer a", "Answer");
  expect(answer.getAttribute("href")).toBe(`#/inbox/${encodeURIComponent(`${row.id}/batch`)}`);
  expect((await shown.find("blockquote")).textContent).toContain("How many orders may one batch hold?");
  await shown.close();
});

it("a_task_that_ended_can_be_run_again_and_one_at_work_cannot", async () => {
  const backend = fake({ tasks: 1 });
  for (const [id, phase, over] of [
    ["hdl_done", "done", true],
    ["hdl_runs", "running", false],
  ] as const) {
    const row = { ...makeRow(1, phase, NOW), id };
    backend.state.details.set(id, { ...detail(row, [], NOW), over, tool: "index_folder" });
    const shown = show(TaskDrawer, { id, close: () => undefined }, backend);
    await shown.find("footer button", over ? "Run again" : "Stop watching");
    const labels = [...document.querySelectorAll("footer button")].map((button) => button.textContent ?? "");
    expect(
      labels.some((label) => label.includes("Run again")),
      id,
    ).toBe(over);
    await shown.close();
  }
});

it("after_a_failure_another_try_is_the_filled_button_and_after_a_success_none_is", async () => {
  const backend = fake({ tasks: 1 });
  for (const [id, phase] of [
    ["hdl_failed", "failed"],
    ["hdl_done", "done"],
  ] as const) {
    const row = { ...makeRow(1, phase, NOW), id };
    backend.state.details.set(id, { ...detail(row, [], NOW), tool: "index_folder" });
    const shown = show(TaskDrawer, { id, close: () => undefined }, backend);
    const again = await shown.find("footer button", "Run again");
    expect(again.dataset.variant, id).toBe(phase === "failed" ? "primary" : "plain");
    await shown.close();
  }
});

it("an_answer_is_seen_again_and_a_secret_is_only_named", async () => {
  const backend = fake({ tasks: 1 });
  const row = { ...makeRow(1, "running", NOW), id: "hdl_answered" };
  const at = new Date(NOW - 60_000).toISOString();
  const answered = {
    ...request(row, "batch", "form", "How many orders may one batch hold?"),
    state: "confirmed" as const,
    answer: {
      action: "accept" as const,
      by: "Mara",
      at,
      delivery: "acknowledged" as const,
      refusedWhy: null,
      notBefore: null,
    },
  };
  backend.state.details.set(row.id, detail(row, [answered], NOW));
  const shown = show(TaskDrawer, { id: row.id, close: () => undefined }, backend);
  (await shown.find("[role=tab]", "Answers")).click();
  expect((await shown.find("dd", "5,000 rows")).textContent).toContain("5,000 rows");
  expect((await shown.find("dd", "not shown")).textContent).not.toContain("rows");
  await shown.close();
});
