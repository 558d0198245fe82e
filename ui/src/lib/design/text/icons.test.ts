import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ICONS } from "./icons";

/** Without the line breaks and spaces of the formatter. */
const read = (name: string) =>
  readFileSync(new URL(name, import.meta.url), "utf8")
    .replace(/\s+/g, " ")
    .replace(/ ?(\/?>) ?(?=<|$)/g, "$1");
const symbols = (text: string, prefix: string) =>
  new Map(
    [...text.matchAll(/<symbol id="([^"]+)"[^>]*>(.*?)<\/symbol>/g)].map((found) => [
      (found[1] ?? "").replace(prefix, ""),
      found[2],
    ]),
  );

it("sprite_names_and_drawings_are_the_same_set", () => {
  const drawn = symbols(read("./icons.svg"), "");
  expect([...drawn.keys()], "names in icons.ts").toEqual([...ICONS]);
  expect([...symbols(read("./IconSprite.svelte"), "i-")], "symbols in the page").toEqual([...drawn]);
});
