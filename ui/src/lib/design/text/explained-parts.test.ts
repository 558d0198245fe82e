import { expect, it } from "vitest";
import { explainedParts } from "./explained-parts";

const shown = (text: string, words: Record<string, string>) =>
  explainedParts(text, words).map(({ text, word }) => (word === null ? text : `[${text}=${word}]`));

it("a_word_is_explained_where_it_first_stands_and_the_text_stays_as_it_is", () => {
  const text = "Tools, over MCP. MCP is spoken by agents.";
  expect(shown(text, { agents: "Agent", MCP: "MCP" })).toEqual([
    "Tools, over ",
    "[MCP=MCP]",
    ". MCP is spoken by ",
    "[agents=Agent]",
    ".",
  ]);
  expect(
    explainedParts(text, { agents: "Agent", MCP: "MCP" })
      .map((part) => part.text)
      .join(""),
  ).toBe(text);
});
it("part_of_another_word_and_a_word_that_is_missing_are_not_explained", () => {
  expect(shown("scores and cores", { core: "Core" })).toEqual(["scores and cores"]);
  expect(shown("", { core: "Core" })).toEqual([]);
  expect(shown("core", { core: "Core" })).toEqual(["[core=Core]"]);
});
