// @vitest-environment jsdom
/* The glossary and the words that screens explain from it. */
import { flushSync } from "svelte";
import { expect, it } from "vitest";
import Term from "$lib/design/text/Term.svelte";
import { fake } from "$lib/fake-core/backend";
import { show } from "$lib/fake-core/harness";
import { GLOSSARY, meaningOf } from "./glossary";

const SCREENS = import.meta.glob<string>("/src/**/*.svelte", { query: "?raw", import: "default", eager: true });

it("every_word_that_a_screen_explains_is_in_the_glossary", () => {
  const used = Object.entries(SCREENS).flatMap(([file, source]) =>
    [...source.matchAll(/<Term\s+word="([^"]+)"/g)].map(([, word = ""]) => ({ file, word })),
  );
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter(({ word }) => meaningOf(word) === null)).toEqual([]);
});

it("the_glossary_is_sorted_and_each_meaning_is_one_sentence_with_its_full_stop", () => {
  const words = GLOSSARY.map(({ word }) => word);
  expect(words).toEqual([...words].sort((one, other) => one.localeCompare(other, "en")));
  for (const { word, means } of GLOSSARY) expect(means, word).toMatch(/^[A-Z≈].*[^.]\.$/);
});

it("a_press_on_an_explained_word_shows_its_meaning_and_another_word_stands_as_it_is", async () => {
  const plain = show(Term, { word: "Banana" }, fake({}));
  expect(plain.page.textContent.trim()).toBe("Banana");
  expect(plain.page.querySelector("button")).toBe(null);
  await plain.close();
  const explained = show(Term, { word: "Handle" }, fake({}));
  await explained.press("button", "Handle");
  flushSync();
  expect((await explained.find("[role=dialog]")).textContent).toContain("own id of a task");
  await explained.close();
});
