// @vitest-environment jsdom
/* The search field and what is offered beside it, by keyboard alone. */
import { flushSync } from "svelte";
import { expect, it, vi } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { parseFilter } from "$lib/task-filter";
import FilterBar from "./FilterBar.svelte";

vi.setConfig({ testTimeout: 60_000 });

it("what_is_offered_stays_while_tab_goes_through_it_and_leaves_with_the_focus", async () => {
  const backend = fake({ tasks: 3 });
  // Menus are laid over the content of the page.
  document.body.append(document.createElement("main"));
  const nothing = () => undefined;
  const { filter } = parseFilter("");
  const props = { backend, filter, servers: ["docs"], rows: new Map(), found: null, onchange: nothing };
  const shown = show(FilterBar, { ...props, onleave: nothing }, backend);
  const field = await shown.find("input[role=searchbox]");
  const offers = () => [...shown.page.querySelectorAll<HTMLElement>("[data-offer]")];
  field.focus();
  flushSync();
  await until("something is offered", () => offers().length > 0);
  const first = offers()[0];
  first?.focus();
  flushSync();
  expect(document.activeElement, "it is still there").toBe(first);
  first?.blur();
  flushSync();
  expect(offers(), "nobody is in the search").toEqual([]);
  await shown.close();
});
