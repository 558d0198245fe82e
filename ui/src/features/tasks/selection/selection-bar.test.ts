// @vitest-environment jsdom
/* The menu of the selection bar: its button needs the core, and opens the menu as any other trigger does. */
import { flushSync } from "svelte";
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import SelectionBar from "./SelectionBar.svelte";

const nothing = () => undefined;
const bar = {
  count: 3,
  total: 30,
  isAll: false,
  counts: { cancellable: 1, revocable: 1, resolvable: 0, hideable: 0 },
  isHidden: false,
  onhide: nothing,
  busy: false,
  onall: nothing,
  onclear: nothing,
  oncancel: nothing,
  onrevoke: nothing,
  onresolve: nothing,
  oncopy: nothing,
};

/** A press of a screen reader, or of a script: a click that no pointer and no key came before. */
const press = (button: HTMLElement) => {
  button.click();
  flushSync();
};

it("a_click_on_export_opens_its_menu_and_what_is_chosen_there_is_done", async () => {
  document.body.append(document.createElement("main"));
  const chosen: string[] = [];
  const shown = show(SelectionBar, { ...bar, onexport: (format: string) => chosen.push(format) }, fake({ tasks: 3 }));
  press(await shown.find("button", "Export"));
  press(await shown.find("[role=menuitem]", "JSON"));
  expect(chosen).toEqual(["json"]);
  await shown.close();
});

it("while_the_core_is_gone_neither_click_nor_pointer_nor_key_opens_a_menu_that_needs_it", async () => {
  document.body.append(document.createElement("main"));
  const backend = fake({ tasks: 3 });
  const shown = show(SelectionBar, { ...bar, onexport: nothing }, backend);
  const button = await shown.find<HTMLButtonElement>("button", "Export");
  await until("it can be pressed", () => button.getAttribute("aria-disabled") !== "true");
  backend.lose();
  await until("it is off", () => button.getAttribute("aria-disabled") === "true");
  press(button);
  button.dispatchEvent(new MouseEvent("pointerdown", { bubbles: true, button: 0 }));
  button.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: "Enter" }));
  flushSync();
  expect(document.body.querySelector("[role=menu]")).toBe(null);
  expect(button.getAttribute("aria-expanded")).toBe("false");
  await shown.close();
});
