// @vitest-environment jsdom
/* The drawer while the core does not answer: what it shows stays, and nothing in it can be pressed that needs the core. */
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { detail } from "$lib/fake-core/entities";
import TaskDrawer from "./TaskDrawer.svelte";

it("the_drawer_of_a_held_result_offers_nothing_while_the_core_is_gone", async () => {
  const backend = fake({ tasks: 30 });
  const row = [...backend.state.rows.values()].find((one) => one.phase === "running" && one.agent !== null);
  if (!row) throw new Error("no running task of an agent");
  const whole = detail(row, [], Date.now());
  backend.state.details.set(row.id, {
    ...whole,
    held: {
      at: row.createdAt,
      by: "a limit",
      why: "tooLarge",
      tokens: 73_677,
      limit: 20_000,
      program: null,
      free: null,
      verdict: null,
    },
  });
  // Menus are laid over the content of the page.
  document.body.append(document.createElement("main"));
  const shown = show(TaskDrawer, { id: row.id, close: () => undefined }, backend);
  const release = await shown.find<HTMLButtonElement>("button", "parts");
  expect(release.getAttribute("aria-disabled"), "it can be pressed").toBe(null);
  backend.lose();
  await until("the buttons are off", () => release.getAttribute("aria-disabled") === "true");
  const off = [...document.body.querySelectorAll<HTMLButtonElement>("aside button[aria-disabled=true]")].map(
    (button) => button.title,
  );
  expect(off.length, "those of the result and of the footer").toBeGreaterThanOrEqual(5);
  expect(new Set(off), "each says why").toEqual(new Set(["Not possible now: the core does not answer."]));
  const before = backend.called.length;
  release.click();
  expect(backend.called.length, "a press asks nothing").toBe(before);
  await shown.close();
});
