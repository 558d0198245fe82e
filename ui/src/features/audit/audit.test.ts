// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import type { AuditShownDto, ListAudit } from "$lib/bindings";
import { clock } from "$lib/clock.svelte";
import { fake, type FakeBackend } from "$lib/fake-core/backend";
import { makeAudit } from "$lib/fake-core/audit/rows";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import { STORY_NOW } from "$lib/fake-core/story";
import { NO_FILTER } from "./audit-filter";
import Audit from "./Audit.svelte";
import { FAILED, growing, HOSTILE, logOf, NOT_LINKED, throws } from "./audit.example";
import { OpenRow } from "./detail/open-row.svelte";
import { rowNumber } from "./row-number";

clock.freeze(STORY_NOW);
// jsdom lays nothing out: a list draws the rows of this height.
Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, value: 1_600 });
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe(): void {
      /* never tells */
    }
    unobserve(): void {
      /* nothing to stop */
    }
    disconnect(): void {
      /* nothing to stop */
    }
  },
);

let page: Shown | null = null;
afterEach(async () => {
  await page?.close();
  page = null;
  route.open("#/inbox");
});
function open(hash: string, options: Parameters<typeof fake>[0] = {}): { core: FakeBackend; shown: Shown } {
  route.open(hash);
  const core = fake({ now: STORY_NOW, audit: 30, ...options });
  page = show(Audit, {}, core);
  return { core, shown: page };
}
/** The pages that were asked for, without the question for the newest row. */
const lists = (core: FakeBackend) =>
  core.called.filter((one) => one.name === "audit.list" && (one.input as ListAudit).limit !== 1);
const key = (name: string, at: Element | null = document.activeElement) =>
  (at ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const numbers = () =>
  [...document.querySelectorAll('[role="grid"] [role="row"][data-at]')].map((row) =>
    Number(row.querySelector('[role="gridcell"]')?.textContent.replace(/\D/g, "")),
  );

it("the newest row comes first and the head says which rows the log has", async () => {
  const { shown } = open("#/audit");
  await shown.find(".count", "30 rows");
  expect(numbers()).toEqual(Array.from({ length: 30 }, (_, at) => 30 - at));
});

it("a row that the list has not loaded is read by its number", async () => {
  const { shown, core } = open("#/audit/12000", { audit: 18_204 });
  await shown.find("aside", "Place in the chain");
  expect(shown.text()).toContain("Row 12,000");
  expect(numbers(), "the list stays with the newest").not.toContain(12_000);
  expect(core.called.filter((one) => one.name === "audit.show").map((one) => one.input)).toEqual([{ number: 12_000 }]);
});

it("escape closes the row and gives the focus back to it", async () => {
  const { shown } = open("#/audit");
  const row = await shown.find('[role="row"][data-at="3"]', "27");
  row.click();
  await shown.find("aside", "Row 27");
  (await shown.find<HTMLElement>("aside .body")).focus();
  key("Escape");
  await until("the row is closed", () => document.querySelector("aside") === null);
  await until(
    "the focus is back",
    () => document.activeElement?.getAttribute("data-at") ?? "",
    (at) => at === "3",
  );
  expect(location.hash).toBe("#/audit");
});

it("j and k go through the rows, and the open one goes along", async () => {
  const { shown } = open("#/audit");
  await shown.find('[role="row"][data-at="0"]', "30");
  key("j", document.body);
  await until(
    "the first row has the focus",
    () => document.activeElement?.getAttribute("data-at"),
    (at) => at === "0",
  );
  key("Enter");
  await shown.find("aside", "Row 30");
  key("j");
  await shown.find("aside", "Row 29");
  expect(location.hash).toBe("#/audit/29");
  key("k");
  await shown.find("aside", "Row 30");
});

it("a neighbour in the chain is opened by its link", async () => {
  const { shown } = open("#/audit/12?actor=person");
  const links = await until(
    "both neighbours",
    () => [...document.querySelectorAll<HTMLAnchorElement>("aside ol a")].map((one) => one.getAttribute("href")),
    (found) => found.length === 2,
  );
  expect(links, "the filter stays").toEqual(["#/audit/11?actor=person", "#/audit/13?actor=person"]);
  expect(shown.text()).toContain("Each of these rows has the hash of the row before it.");
});

it("a row that was changed says so with a word in the list and in the chain, and says nothing of links", async () => {
  const { shown } = open("#/audit/24", { audit: logOf(1, 30, { 24: { fits: false } }) });
  await shown.find("aside ol li[aria-current]", "changed");
  await shown.find('[role="row"][aria-current="true"]', "changed");
  expect(document.querySelectorAll('[role="grid"] .tag'), "no other row").toHaveLength(1);
  expect(shown.text()).toContain("Its fields do not give its hash");
});

it("rows that do not link say so, although the fields of each give its hash", async () => {
  const { shown } = open("#/audit/24", { calls: { "audit.show": () => NOT_LINKED } });
  await shown.find("aside [data-ink=danger]", "do not fit together");
  expect([...document.querySelectorAll("aside .tag")].map((tag) => tag.textContent.trim())).toEqual([
    "matches",
    "matches",
    "matches",
  ]);
});

it("text of rows stays text", async () => {
  const { shown } = open("#/audit/30", { audit: logOf(1, 30, HOSTILE) });
  await shown.find("aside dl", "<script>alert(1)</script>");
  await shown.find('[role="grid"]', "<img src=x onerror=alert(1)>");
  expect(document.querySelectorAll("img, script, aside b, [role=grid] b"), "nothing of it is markup").toHaveLength(0);
  expect(shown.text(), "no escape sequence and no change of direction").not.toMatch(/[\u001b\u202e]/);
});

it("a row that is not in the log shows what the core says, and an address without a number opens none", async () => {
  const { shown } = open("#/audit/99999");
  await shown.find("aside", "The log has rows 1 to 30.");
  expect([rowNumber("12"), rowNumber("0"), rowNumber("-1"), rowNumber("1e3"), rowNumber("x"), rowNumber(null)]).toEqual(
    [12, null, null, null, null, null],
  );
});

it("a log that cannot be read says why and what to do", async () => {
  const { shown } = open("#/audit", { calls: { "audit.list": throws(FAILED) } });
  await shown.find(".empty", "The registry cannot be read: disk I/O error.");
  await shown.find(".empty code", "taskwarden doctor");
});

it("the answer about an earlier row counts for nothing", async () => {
  let release: (shown: AuditShownDto) => void = () => undefined;
  const slow = new Promise<AuditShownDto>((done) => (release = done));
  const core = fake({
    audit: 30,
    now: STORY_NOW,
    calls: {
      "audit.show": ({ number }) => (number === 24 ? slow : { ...NOT_LINKED, row: { ...NOT_LINKED.row, number } }),
    },
  });
  const row = new OpenRow(core);
  const late = row.read(24);
  await row.read(7);
  release(NOT_LINKED);
  await late;
  expect(row.shown?.row.number).toBe(7);
});

it("the filter of the address is asked for, a change of it is a step that goes back, and rows of the old one go", async () => {
  const { shown, core } = open("#/audit?actor=person&nonsense=1");
  await shown.find(".count", "rows match");
  expect(new Set(numbers().map((number) => number % 24)), "rows of people").not.toContain(1);
  const asked = lists(core).map((one) => one.input);
  expect(asked, "once, for this filter").toEqual([
    { filter: { ...NO_FILTER, actor: "person" }, before: null, limit: 100 },
  ]);
  await shown.press(".filters .cross");
  await shown.find(".count", "30 rows");
  expect(location.hash).toBe("#/audit");
});

it("a filter is chosen with the keyboard and stands in the address", async () => {
  const { shown } = open("#/audit");
  await shown.find(".count", "30 rows");
  key("/", document.body);
  const kinds = await shown.find<HTMLSelectElement>("[role=dialog] select");
  kinds.value = "verbs";
  kinds.dispatchEvent(new Event("change", { bubbles: true }));
  await shown.type("[role=dialog] input[type=search]", "halted");
  await until(
    "one action is left",
    () => document.querySelectorAll("[role=dialog] input[type=checkbox]").length,
    (left) => left === 1,
  );
  await shown.press("[role=dialog] input[type=checkbox]");
  await until(
    "the address",
    () => location.hash,
    (hash) => hash === "#/audit?verb=halted",
  );
  await shown.find(".count", "1 row matches");
});

it("a wrong value of the address shows what the core says and can be cleared", async () => {
  const { shown } = open("#/audit?actor=martian");
  await shown.find(".empty", "unknown kind");
  await shown.press(".empty button", "Clear the filter");
  await shown.find(".count", "30 rows");
});

it("no match so far is not said to be no match", async () => {
  const { shown, core } = open("#/audit?text=rare", { audit: 200_000 });
  await shown.find(".empty", "No match down to row 140,001");
  await shown.press(".empty button", "Look further back");
  await shown.find(".empty", "No match down to row 80,001");
  expect(lists(core)).toHaveLength(6);
  expect(shown.text()).not.toContain("No row matches");
});

it("the detail leads to all rows of its task and all rows by who acted", async () => {
  const { shown } = open("#/audit/10");
  const links = await until(
    "the links",
    () => [...document.querySelectorAll<HTMLAnchorElement>("aside .links a")].map((one) => one.hash),
    (found) => found.length === 2,
  );
  expect(links[0]).toMatch(/^#\/audit\/10\?task=hdl_/);
  expect(links[1]).toBe("#/audit/10?actor=person%3Adana");
  expect(shown.text()).toContain("All rows by Dana Okafor");
});

it("escape closes the filter that lies over the page and leaves the row open", async () => {
  const { shown } = open("#/audit/12");
  await shown.find("aside", "Place in the chain");
  key("/", document.body);
  const field = await shown.find("[role=dialog] select");
  key("Escape", field);
  await until("the filter is closed", () => document.querySelector("[role=dialog]") === null);
  expect(location.hash).toBe("#/audit/12");
});

it("rows that were written meanwhile come when they are asked for, and none moves before", async () => {
  let last = 30;
  const { shown, core } = open("#/audit");
  const list = core.call.bind(core);
  await shown.find(".count", "30 rows");
  const offered = [...document.querySelectorAll(".head button")].map((one) => one.textContent);
  expect(
    offered.filter((one) => one.includes("newer")),
    "nothing to show",
  ).toEqual([]);
  await shown.close();
  core.call = async (name, input) => {
    const answer = await list(name, input);
    if (name !== "audit.list" || !("limit" in input) || input.limit !== 1) return answer;
    return { ...answer, last: (last = 33) };
  };
  page = show(Audit, {}, core);
  const button = await page.find(".head button", "Show 3 newer rows");
  expect(numbers()[0], "the list stays").toBe(30);
  core.state.audit = makeAudit(last, STORY_NOW);
  key("n", document.body);
  await page.find(".count", "33 rows");
  expect(numbers()[0]).toBe(33);
  expect(button.isConnected, "and the button goes").toBe(false);
});

it("no number of newer rows is told while a filter is set", async () => {
  const { shown } = open("#/audit?actor=person", { calls: { "audit.list": growing() } });
  await shown.find(".head button", "Show newer rows");
  expect(shown.text()).not.toContain("12 newer");
});
