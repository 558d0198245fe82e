import { expect, it } from "vitest";
import type { AuditListDto } from "$lib/bindings";
import { auditOf, aRow, makeAudit } from "$lib/fake-core/audit/rows";
import { fake } from "$lib/fake-core/backend";
import { NO_FILTER } from "./audit-filter";
import { auditPages, type AuditPages } from "./row-pages.svelte";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const numbers = (pages: AuditPages) => pages.rows.map((row) => row.number);
const page = (rows: number[], next: number | null): AuditListDto => ({
  rows: rows.map((number) => aRow(number, 1_000, NOW)),
  next,
  first: 1,
  last: 1_000,
});

it("every_row_comes_once_from_the_newest_to_the_first", async () => {
  const pages = auditPages(fake({ audit: 250, now: NOW }), NO_FILTER);
  await pages.reset(NO_FILTER);
  expect([pages.first, pages.last, pages.next]).toEqual([1, 250, 151]);
  while (pages.next !== null) await pages.more();
  expect(numbers(pages)).toEqual(Array.from({ length: 250 }, (_, at) => 250 - at));
});

it("an_empty_page_with_more_behind_it_is_read_on", async () => {
  const answers = [page([], 700), page([650], 600)];
  const backend = fake({ calls: { "audit.list": () => answers.shift() ?? page([], null) } });
  const pages = auditPages(backend, NO_FILTER);
  await pages.reset({ ...NO_FILTER, actor: "person" });
  expect([numbers(pages), pages.next, pages.isPaused]).toEqual([[650], 600, false]);
  await pages.more();
  expect([numbers(pages), pages.next], "the end is the null").toEqual([[650], null]);
});

it("a_rare_filter_pauses_after_three_empty_pages_and_goes_on_when_asked", async () => {
  let calls = 0;
  const backend = fake({ calls: { "audit.list": () => page([], 1_000 - (calls += 1)) } });
  const pages = auditPages(backend, NO_FILTER);
  await pages.reset({ ...NO_FILTER, text: "rare" });
  expect([calls, pages.isPaused, pages.next]).toEqual([3, true, 997]);
  await pages.more();
  expect(calls, "the end in sight does not go on by itself").toBe(3);
  await pages.goOn();
  expect([calls, pages.isPaused]).toEqual([6, true]);
});

it("a_late_answer_of_an_old_filter_is_dropped", async () => {
  let release: (page: AuditListDto) => void = () => undefined;
  const slow = new Promise<AuditListDto>((done) => (release = done));
  const backend = fake({ calls: { "audit.list": ({ filter }) => (filter.actor === null ? slow : page([7], null)) } });
  const pages = auditPages(backend, NO_FILTER);
  const late = pages.reset(NO_FILTER);
  await pages.reset({ ...NO_FILTER, actor: "agent" });
  release(page([900, 899], 899));
  await late;
  expect([numbers(pages), pages.next, pages.isLoading]).toEqual([[7], null, false]);
});

it("rows_stay_while_the_newest_are_read_and_go_when_the_filter_is_another", async () => {
  const backend = fake({ audit: 3, now: NOW });
  const pages = auditPages(backend, NO_FILTER);
  await pages.reset(NO_FILTER);
  backend.state.audit = makeAudit(5, NOW);
  const reading = pages.reset(NO_FILTER);
  expect(numbers(pages), "meanwhile").toEqual([3, 2, 1]);
  await reading;
  expect(numbers(pages)).toEqual([5, 4, 3, 2, 1]);
  const other = pages.reset({ ...NO_FILTER, actor: "nobody" });
  expect([numbers(pages), pages.isRead], "rows of another filter are never shown").toEqual([[], false]);
  await other;
  expect(pages.error?.code, "and a wrong value is told").toBe("usage");
});

it("a_failed_page_keeps_what_was_read_and_can_be_tried_again", async () => {
  let fails = false;
  const log = auditOf(Array.from({ length: 150 }, (_, at) => aRow(at + 1, 150, NOW)));
  const backend = fake({ now: NOW });
  backend.state.audit = log;
  const call = backend.call.bind(backend);
  backend.call = (name, input) => (fails ? Promise.reject(new Error("the core does not answer")) : call(name, input));
  const pages = auditPages(backend, NO_FILTER);
  await pages.reset(NO_FILTER);
  fails = true;
  await pages.more();
  expect([pages.rows.length, pages.error === null]).toEqual([100, false]);
  await pages.more();
  fails = false;
  await pages.goOn();
  expect([pages.rows.length, pages.error, pages.next]).toEqual([150, null, null]);
});
