import { expect, it } from "vitest";
import type { InboxRow } from "$lib/bindings";
import { CoreState } from "$lib/fake-core/core-state";
import { newItems } from "./announcements.svelte";

const inbox: ReadonlyMap<string, InboxRow> = new CoreState({ now: 0, tasks: 6, inbox: 3 }).inbox;
const ids = [...inbox.keys()];

it("what_waits_at_the_start_is_no_news", () =>
  expect(newItems(null, inbox), "listed, not told one by one").toEqual([]));
it("only_what_came_is_told", () =>
  expect(newItems(new Set(ids.slice(1)), inbox), "one of three").toEqual(ids.slice(0, 1)));
it("what_somebody_answered_meanwhile_is_no_news", () => {
  const answered = new Map([...inbox].map(([id, row]) => [id, { ...row, answeredBy: "Dana" }]));
  expect(newItems(new Set(), answered), "nothing to do").toEqual([]);
});
