import { expect, test } from "vitest";
import { APP_SIZES, PAGES, SIZES } from "./pages.mjs";
import { looksOfPage, looksOfStory, looksOfWhole } from "./turns.mjs";

const story = { name: "a story", keys: [], click: [], sizes: SIZES };
const clicked = { ...story, click: ["button"] };
const turns = Array.from({ length: 2 * 2 * APP_SIZES.length }, (_, turn) => turn);
const written = (looks) =>
  looks.map(({ theme, size, isLoaded, isAxe }) =>
    [theme, size.width, ...(isLoaded ? ["loaded"] : []), ...(isAxe ? ["axe"] : [])].join(" "),
  );

test("a_story_is_looked_at_at_both_sizes_and_in_the_other_theme_after_the_next_turn", () => {
  expect(written(looksOfStory(story, 0))).toEqual(["light 1280 loaded axe", "light 900"]);
  expect(written(looksOfStory(story, 1))).toEqual(["dark 1280 loaded axe", "dark 900"]);
  expect(written(looksOfStory(story, 2)), "the smaller comes first").toEqual(["light 900 loaded", "light 1280 axe"]);
  expect(written(looksOfStory(clicked, 0)), "it is clicked at each").toEqual([
    "light 1280 loaded axe",
    "light 900 loaded",
  ]);
});

test("every_page_is_looked_at_by_axe_in_both_themes_and_at_a_smaller_size_in_each_turn", () => {
  for (const page of PAGES) {
    for (const turn of turns) {
      const looks = looksOfPage(page, turn);
      const axe = looks.filter(({ isAxe }) => isAxe);
      expect(axe.map(({ theme, size }) => `${theme} ${size.width}`).sort(), page.name).toEqual([
        "dark 1280",
        "light 1280",
      ]);
      expect(looks[0].isLoaded, "nothing is there before the first").toBe(true);
      expect(looks.at(-1)).toMatchObject({
        isLoaded: true,
        size: { width: expect.toSatisfy((width) => width < 1280) },
      });
    }
  }
});

test("within_some_turns_every_page_is_looked_at_at_all_its_sizes_and_loaded_in_both_themes", () => {
  for (const page of PAGES) {
    const looks = turns.flatMap((turn) => looksOfPage(page, turn));
    expect(new Set(looks.map(({ size }) => size)), page.name).toEqual(new Set(page.sizes));
    for (const theme of ["light", "dark"]) {
      const loaded = looks.filter((look) => look.theme === theme && look.isLoaded).map(({ size }) => size);
      expect(new Set(loaded), page.name).toEqual(new Set(page.sizes.filter(({ isInPlace }) => !isInPlace)));
    }
  }
});

test("the_whole_loads_each_look_anew", () => {
  expect(written(looksOfWhole(story, false))).toEqual([
    "light 1280 loaded axe",
    "light 900 loaded",
    "dark 1280 loaded axe",
  ]);
});
