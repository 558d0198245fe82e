import { expect, it } from "vitest";
import { ALL_PHASES, PHASES } from "./phase";

it("every_phase_is_known_by_its_word_and_its_shape_alone", () => {
  const looks = ALL_PHASES.map((phase) => PHASES[phase]);
  expect(new Set(looks.map((look) => look.word)).size, "no two phases share a word").toBe(16);
  expect(new Set(looks.map((look) => look.icon)).size, "no two phases share a shape").toBe(16);
});
