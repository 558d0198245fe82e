// @vitest-environment jsdom
import type { Component } from "svelte";
import { afterEach, expect, test } from "vitest";
import { EmptyState } from "$lib/design";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { LazyPart } from "./lazy-part.svelte";
import LazyPlace from "./LazyPlace.svelte";

/** A generic component has no type of its own until it is used. */
const Place = LazyPlace as unknown as Component<Record<string, unknown>>;
let shown: Shown | null = null;
afterEach(async () => {
  await shown?.close();
  shown = null;
});
const place = (load: () => Promise<{ default: typeof EmptyState }>) => {
  const part = new LazyPart(load);
  const backend = fake({});
  shown = show(Place, { part, title: "Budgets", props: { title: "the place" } }, backend);
  return { part, shown };
};

test("the_head_stands_until_the_place_is_there_and_again_it_is_there_at_once", async () => {
  let loads = 0;
  let arrive: () => void = () => undefined;
  const { part, shown } = place(async () => {
    loads += 1;
    await new Promise<void>((done) => (arrive = done));
    return { default: EmptyState };
  });
  expect(shown.page.querySelector("h1")?.textContent).toBe("Budgets");
  expect(shown.page.querySelector("[aria-busy=true] .bones"), "lines take the room").not.toBeNull();
  arrive();
  await shown.find("h2", "the place");
  expect(shown.page.querySelector("[aria-busy]")).toBeNull();
  await part.open();
  expect(loads).toBe(1);
});

test("a_place_that_does_not_load_says_so_and_can_be_loaded_later", async () => {
  let isThere = false;
  const { part, shown } = place(() =>
    isThere ? Promise.resolve({ default: EmptyState }) : Promise.reject(new TypeError("404")),
  );
  await shown.find("h2", "could not be loaded");
  await until("the load has ended", () => part.failed);
  expect(shown.page.querySelector("h1")?.textContent, "no empty place").toBe("Budgets");
  isThere = true;
  await part.open();
  await shown.find("h2", "the place");
});
