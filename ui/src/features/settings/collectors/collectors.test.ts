// @vitest-environment jsdom
import { flushSync } from "svelte";
import { afterEach, expect, it } from "vitest";
import type { Calls, SinkDto, SinkSignalDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import Collectors from "./Collectors.svelte";

let page: Shown | null = null;
afterEach(async () => {
  await page?.close();
  page = null;
});

const REFUSED: SinkSignalDto = {
  signal: "logs",
  url: "https://otlp.example/v1/logs",
  next: 18_001,
  waiting: 204,
  taken: "2026-11-20T08:00:00.000Z",
  trouble: "answered 401: credentials are missing or wrong (JSON of 52 bytes from 203.0.113.7:443)",
  since: "2026-11-20T08:01:00.000Z",
  paused: true,
  skipped: 0,
  rejected: 0,
  rejectedSince: null,
};
const UNREACHED: SinkSignalDto = {
  ...REFUSED,
  url: "https://logs.example/v1/logs",
  waiting: 4_210,
  trouble: "cannot be reached: the connection was refused",
  paused: false,
  skipped: 320,
};
const PAUSED: SinkDto = { id: 3, url: "https://otlp.example", headers: ["Authorization"], signals: [REFUSED] };
const FAILING: SinkDto = { id: 4, url: "https://logs.example", headers: [], signals: [UNREACHED] };

/** Enter in a field sends its form, as in a browser. */
function enter(field: HTMLInputElement): void {
  field.focus();
  field.form?.requestSubmit();
  flushSync();
}
/** Every value that stands in a field of the page. */
const typed = () => [...document.querySelectorAll("input")].map((field) => field.value);
const URL_FIELD = "form[aria-labelledby] input";

it("a collector is added with a header, and its value leaves the page", async () => {
  const sent: Calls["audit.addSink"][0][] = [];
  const made = fake();
  const core = fake({
    calls: {
      "audit.sinks": () => made.call("audit.sinks", {}),
      "audit.addSink": (input) => {
        sent.push(structuredClone(input));
        return made.call("audit.addSink", input);
      },
    },
  });
  const shown = (page = show(Collectors, {}, core));
  await shown.type(URL_FIELD, "https://collector.example:4318");
  await shown.press("form button", "Add header");
  await until("the new header has focus", () => document.activeElement?.getAttribute("aria-label") === "Header name");
  await shown.type("input[aria-label='Header name']", "Authorization");
  await shown.type("input[type=password]", "Bearer hush");
  await shown.press("label", "Both");
  await shown.press("label", "All that is kept");
  enter(await shown.find<HTMLInputElement>("input[type=password]"));
  const row = await shown.find("li", "https://collector.example:4318");
  expect(row.textContent).toContain("Tasks: Sent those that ended up to row 18,204");
  expect(sent).toEqual([
    {
      url: "https://collector.example:4318",
      signals: ["logs", "traces"],
      headers: { Authorization: "Bearer hush" },
      first: 1,
    },
  ]);
  await until("the form is ready for the next one", () => document.activeElement === document.querySelector(URL_FIELD));
  expect(typed().filter((value) => value.includes("hush") || value.includes("collector"))).toEqual([]);
});

it("a refused address is told beside its field, and the value of the header has to be typed again", async () => {
  const shown = (page = show(Collectors, {}, fake()));
  await shown.type(URL_FIELD, "http://collector.example");
  await shown.press("form button", "Add header");
  await shown.type("input[aria-label='Header name']", "X-Key");
  await shown.type("input[type=password]", "hush");
  enter(await shown.find<HTMLInputElement>(URL_FIELD));
  await shown.find(".err", "is another machine, and http is not encrypted");
  const field = await shown.find<HTMLInputElement>(URL_FIELD);
  await until("the address has focus", () => document.activeElement === field);
  expect([field.value, field.getAttribute("aria-invalid")]).toEqual(["http://collector.example", "true"]);
  expect(typed()).not.toContain("hush");
  await shown.type(URL_FIELD, "https://collector.example");
  enter(field);
  await shown.find(".err", "Enter the value");
  expect((await shown.find("input[type=password]")).getAttribute("aria-invalid")).toBe("true");
});

it("a header that the core refuses is told beside that header", async () => {
  const shown = (page = show(Collectors, {}, fake()));
  await shown.type(URL_FIELD, "https://collector.example");
  await shown.press("form button", "Add header");
  await shown.type("input[aria-label='Header name']", "X Key");
  await shown.type("input[type=password]", "hush");
  enter(await shown.find<HTMLInputElement>(URL_FIELD));
  await shown.find(".header .err", "has a name that HTTP does not allow");
  const name = await shown.find("input[aria-label='Header name']");
  await until("its name has focus", () => document.activeElement === name);
  expect(name.getAttribute("aria-invalid")).toBe("true");
});

it("a collector in trouble says why, since when and how many rows wait, and is sent to again", async () => {
  const shown = (page = show(Collectors, {}, fake({ sinks: [FAILING] })));
  const row = await shown.find("li", "cannot be reached: the connection was refused");
  const text = row.textContent.replace(/\s+/g, " ");
  for (const words of [
    "First failed",
    "4,210 rows wait",
    "tried again automatically",
    "320 rows were removed as too old",
  ])
    expect(text).toContain(words);
  await shown.press("li button", "Send again");
  await until("it takes rows", () => !shown.text().includes("connection was refused"));
  expect(shown.text()).toContain("Sent up to row 18,204");
  expect(shown.text(), "rows that are gone stay told").toContain("320 rows were removed");
});

it("a paused collector stays paused with the value it refused, and takes rows with a new one", async () => {
  const shown = (page = show(Collectors, {}, fake({ sinks: [PAUSED] })));
  await shown.find("li", "Paused: nothing is sent until");
  await shown.press("li button", "Send again");
  await until("it was tried", () => document.querySelector("li [aria-busy]") === null);
  await shown.find("li", "answered 401");
  await shown.type("li input[type=password]", "Bearer hush");
  enter(await shown.find<HTMLInputElement>("li input[type=password]"));
  await until("it takes rows", () => !shown.text().includes("401"));
  expect(typed()).not.toContain("Bearer hush");
  await until("focus stays in its row", () => document.activeElement?.matches("li button") === true);
});

it("rows that a collector rejected are told with their first time, and it does not look well", async () => {
  const rejecting = { ...UNREACHED, trouble: null, since: null, waiting: 0, rejected: 2 };
  const sinks = [{ ...FAILING, signals: [{ ...rejecting, rejectedSince: REFUSED.taken }] }];
  const shown = (page = show(Collectors, {}, fake({ sinks })));
  const row = await shown.find("li", "It rejected 2 rows, first");
  expect(row.textContent).toContain("they are not there and not sent again");
  expect([row.querySelector("[data-ink=success]"), row.querySelector("[data-ink=attention]") !== null]).toEqual([
    null,
    true,
  ]);
});

it("a new value that cannot be sent is told beside its field and leaves it", async () => {
  const shown = (page = show(Collectors, {}, fake({ sinks: [PAUSED] })));
  await shown.type("li input[type=password]", "Bearer “hush”");
  enter(await shown.find<HTMLInputElement>("li input[type=password]"));
  await shown.find("li .err", "has a value that HTTP does not allow");
  const field = await shown.find<HTMLInputElement>("li input[type=password]");
  expect([field.value, field.getAttribute("aria-invalid")]).toEqual(["", "true"]);
});

it("removal says what is lost, changes nothing until it is confirmed, and leaves focus in the section", async () => {
  const core = fake({ sinks: [PAUSED] });
  const shown = (page = show(Collectors, {}, core));
  await shown.press("li button", "Remove");
  const dialog = await shown.find("[role=dialog]", "204 rows wait and will not be sent");
  expect(dialog.textContent).toContain("Its stored headers are deleted: Authorization.");
  await until("the way out has focus", () => document.activeElement?.textContent.trim() === "Keep it");
  await shown.press("[role=dialog] button", "Keep it");
  await until("the question is gone", () => document.querySelector("[role=dialog]") === null);
  expect(shown.page.querySelector("li")).not.toBeNull();
  await shown.press("li button", "Remove");
  await shown.press("[role=dialog] button[data-variant=danger]", "Remove");
  await until("it is gone", () => shown.page.querySelector("li") === null);
  await until("focus is at the title", () => document.activeElement?.textContent === "Collectors");
});
