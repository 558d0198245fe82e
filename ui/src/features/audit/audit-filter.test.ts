import { expect, it } from "vitest";
import type { AuditFilterDto } from "$lib/bindings";
import { conditions, fromField, NO_FILTER, readFilter, toField, without, writeFilter } from "./audit-filter";
import { chipValue } from "./filter/chip-text";

const FULL: AuditFilterDto = {
  first: 10,
  last: 900,
  since: "2026-11-21T00:00:00Z",
  until: "2026-11-22",
  actor: "person:mara lindqvist",
  verbs: ["halted", "stopBegun"],
  subject: "handle",
  server: "ci & co",
  agent: "order-bot",
  task: "hdl_7kz",
  text: "50 % of 100 = fünfzig?",
};
const NOW = Date.parse("2026-11-21T14:31:36.000Z");

it("a_filter_comes_back_from_its_address", () => {
  expect(readFilter(writeFilter(FULL))).toEqual(FULL);
  expect(readFilter(writeFilter(NO_FILTER))).toEqual(NO_FILTER);
  expect(writeFilter(NO_FILTER), "no filter, no address").toBe("");
  expect(readFilter("actor=person&verb=halted&since=2026-11-21"), "as people write it").toEqual({
    ...NO_FILTER,
    actor: "person",
    verbs: ["halted"],
    since: "2026-11-21",
  });
});
it("names_and_numbers_that_mean_nothing_are_ignored", () => {
  for (const odd of [
    "colour=red",
    "first=-1&last=1e9",
    "first=&last=x",
    "verb=&actor=%20",
    "&&=",
    "%E0%A4%A",
    "before=3",
  ])
    expect(readFilter(odd), odd).toEqual(NO_FILTER);
  expect(readFilter("verb=halted&verb=halted").verbs, "once").toEqual(["halted"]);
  expect(readFilter("actor=martian").actor, "a wrong value is told by the core").toBe("martian");
  expect(readFilter(`text=${"x".repeat(9_000)}`).text).toHaveLength(500);
});
it("each_condition_can_be_taken_away_alone", () => {
  expect(conditions(FULL)).toHaveLength(9);
  expect(conditions(NO_FILTER)).toEqual([]);
  let left = FULL;
  for (const one of conditions(FULL)) {
    left = without(left, one);
    expect(conditions(left), one).not.toContain(one);
  }
  expect(left).toEqual(NO_FILTER);
});
it("times_of_a_field_are_the_persons_and_times_of_the_filter_are_utc", () => {
  const time = "2026-11-21T13:45:00Z";
  expect(fromField(toField(time)), "to the minute").toBe(time);
  expect([toField(null), toField("nonsense"), fromField(""), fromField("nonsense")]).toEqual(["", "", null, null]);
  expect(readFilter(writeFilter({ ...NO_FILTER, until: time })).until, "the end stays the first moment left out").toBe(
    time,
  );
});
it("chips_say_what_is_filtered_and_show_a_wrong_value_as_it_is", () => {
  const chip = (condition: Parameters<typeof chipValue>[1], change: Partial<AuditFilterDto>) =>
    chipValue({ ...NO_FILTER, ...change }, condition, NOW);
  expect(chip("actor", { actor: "person" })).toBe("people");
  expect(chip("actor", { actor: "martian" })).toBe("martian");
  expect(chip("verbs", { verbs: ["halted"] })).toBe("halted work");
  expect(chip("verbs", { verbs: ["halted", "resumed", "asked"] })).toBe("3 actions");
  expect(chip("rows", { first: 5_000 })).toBe("from 5,000");
  expect(chip("rows", { first: 1, last: 2 })).toBe("1 to 2");
  expect(chip("time", { since: "yesterday" })).toBe("since yesterday");
  expect(chip("time", { until: "2026-11-20T12:00:00.000" })).toBe("before 20 Nov, 12:00");
});
