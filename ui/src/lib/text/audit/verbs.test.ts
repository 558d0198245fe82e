import { expect, it } from "vitest";
import bindings from "$lib/bindings/index.ts?raw";
import { VERB_LABELS, VERBS, verbLabel } from "./verbs";
import { callsText, tookText } from "./calls";
import { auditText } from "./log";

/** Every word of the core's audit log, read from the types it generates. */
const STORED = [...(/export type AuditVerb = ([^;]+);/.exec(bindings)?.[1]?.matchAll(/"(\w+)"/g) ?? [])].map(
  (found) => found[1] ?? "",
);

it("every_verb_of_the_log_has_a_label_of_its_own", () => {
  expect(STORED.length, "the types were read").toBeGreaterThan(30);
  expect(Object.keys(VERB_LABELS).sort()).toEqual([...STORED].sort());
  expect(new Set(Object.values(VERB_LABELS)).size, "no two verbs read the same").toBe(STORED.length);
  expect([...VERBS].sort(), "each can be chosen").toEqual([...STORED].sort());
});
it("labels_say_cancel_and_fit_their_column", () => {
  for (const label of Object.values(VERB_LABELS)) {
    expect(label, "stop is not a word of the screen").not.toMatch(/\bstop\b/);
    expect(label.length, label).toBeLessThanOrEqual(24);
  }
});
it("a person who ended a server did not lose its tasks", () => {
  expect(verbLabel("lost", "person:ada")).toBe("ended it with its server");
  expect(verbLabel("lost", "system:contact")).toBe("lost the task");
});
it("a_verb_of_a_newer_version_stays_as_it_was_stored", () => {
  expect(verbLabel("teleported")).toBe("teleported");
  expect(verbLabel("toString"), "not a property of every object").toBe("toString");
});

it("a whole log or list of calls says how many there are, and a single one its number", () => {
  expect([auditText.range(1, 18_204), auditText.range(4, 9), auditText.range(1, 1)]).toEqual([
    "18,204 rows",
    "Rows 4 to 9",
    "Row 1",
  ]);
  expect([callsText.range(1, 4_120), callsText.range(1, 1)]).toEqual(["4,120 calls", "Call 1"]);
});

it("a call that was not sent took no rounded time", () => {
  expect([tookText(0), tookText(12), tookText(41_000)]).toEqual(["under 1 ms", "12 ms", "41 s"]);
});
