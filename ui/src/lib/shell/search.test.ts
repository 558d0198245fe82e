import { expect, it } from "vitest";
import { search } from "./search";

const names = ["Go to Tasks", "Start a task…", "Go to Settings", "Ask to cancel", "All keys"];
const find = (typed: string) => search(names, typed, (name) => name);

it("a_few_letters_find_a_command", () => expect(find("set"), "the beginning of a word").toEqual(["Go to Settings"]));
it("every_word_typed_must_be_there", () => expect(find("go set"), "both words").toEqual(["Go to Settings"]));
it("a_beginning_counts_more_than_a_middle", () =>
  expect(find("as")[0], "`Ask` begins with it, `tasks` has it within").toBe("Ask to cancel"));
it("nothing_typed_shows_all_in_order", () => expect(find("  "), "the order of the screen").toEqual(names));
it("signs_of_patterns_are_letters", () => expect(find("task…"), "no pattern is run").toEqual(["Start a task…"]));
