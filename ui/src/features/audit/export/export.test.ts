// @vitest-environment jsdom
/* The export of the audit log as a person gets it, and the command that stands in its place. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { clock } from "$lib/clock.svelte";
import { fake, type FakeBackend } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { NO_FILTER } from "../audit-filter";
import ExportDialog from "./ExportDialog.svelte";
import { commandOf, MOST_ROWS, mostRows, readExport } from "./export-file";

clock.freeze(STORY_NOW);
let saved: Blob[] = [];
let page: Shown | null = null;
beforeEach(() => {
  saved = [];
  vi.stubGlobal("URL", {
    ...URL,
    createObjectURL: (blob: Blob) => (saved.push(blob), "blob:x"),
    revokeObjectURL: vi.fn(),
  });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
});
afterEach(async () => {
  await page?.close();
  page = null;
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});
const called = (core: FakeBackend) => core.called.map(({ name }) => name).filter((name) => name.startsWith("audit."));
function open(core: FakeBackend, filter = NO_FILTER): Shown {
  const { first, last } = core.state.audit;
  const isFiltered = filter !== NO_FILTER;
  page = show(ExportDialog, { filter, isFiltered, first, last, onclose: () => undefined }, core);
  return page;
}

it("an_export_is_saved_whole_and_says_what_the_core_says_it_proves", async () => {
  const core = fake({ now: STORY_NOW, audit: 2_500 });
  const shown = open(core);
  await shown.find("p", "no matching row was left out");
  expect(called(core), "opening the dialog exports nothing").toEqual([]);
  await shown.press("button", "Export");
  await shown.find("p", "Saved 2,500 rows as audit-2026-11-21-14-31-36.jsonl.");
  expect(shown.text()).toContain("no row of 1 to 2500 that matches was left out");
  expect(called(core), "it begins once, and is read in parts").toEqual([
    "audit.export",
    ...Array<string>(3).fill("audit.exportRows"),
  ]);
  const [file] = saved;
  const lines = (await file?.text())?.trimEnd().split("\n") ?? [];
  expect([lines.length, lines.at(-1)], "first line, rows, last line").toEqual([
    2_502,
    '{"trailer":{"rows":2500,"stubs":0}}',
  ]);
});

it("a_table_for_a_spreadsheet_has_the_rows_that_match_and_is_said_to_prove_nothing", async () => {
  const core = fake({ now: STORY_NOW, audit: 300 });
  const shown = open(core);
  await shown.press("input[value=csv]");
  await shown.find("p", "What it proves: Nothing. This is a copy to read.");
  await shown.press("button", "Export");
  await shown.find("p", "Saved 300 rows as audit-2026-11-21-14-31-36.csv.");
  await shown.find("p", "What it proves: Nothing. This is a copy to read.");
  expect(shown.text(), "there is nothing to check").not.toContain("taskwarden-verify");
  expect(shown.text(), "no option of the command line").not.toContain("--format");
  const [file] = saved;
  expect((await file?.text())?.split("\r\n").length, "a head, the rows, and the end of the last line").toBe(302);
  const filter = { ...NO_FILTER, actor: "person" };
  const part = await readExport(core, filter, "csv", () => undefined);
  expect([(part?.rows ?? 0) > 0, (part?.rows ?? 0) < 300, part?.stubs], "no row without its note").toEqual([
    true,
    true,
    0,
  ]);
  expect(commandOf(filter, "csv", "a.csv")).toBe("taskwarden audit export --actor=person --format=csv --output=a.csv");
});

it("a_log_that_is_too_large_for_the_page_is_exported_by_a_command_and_nothing_is_asked", async () => {
  const core = fake({ now: STORY_NOW, audit: MOST_ROWS + 1 });
  const shown = open(core);
  await shown.find("figure", "taskwarden audit export --output=audit-2026-11-21-14-31-36.jsonl");
  expect([...document.querySelectorAll("button")].map((one) => one.textContent.trim())).not.toContain("Export");
  expect(called(core)).toEqual([]);
});

it("what_matches_nothing_is_refused_by_the_core_and_saved_by_nobody", async () => {
  const shown = open(fake({ now: STORY_NOW, audit: 30 }), { ...NO_FILTER, text: "no note says this" });
  await shown.find("p", "cannot prove that no row was left out");
  await shown.press("button", "Export");
  await shown.find("[role=alert]", "No row matches these filters together");
  expect(saved).toEqual([]);
});

it("more_matching_rows_than_a_page_holds_are_not_read", async () => {
  const core = fake({ now: STORY_NOW, audit: MOST_ROWS + 10 });
  expect(await readExport(core, NO_FILTER, "hashes", () => undefined)).toBe(null);
  expect(called(core), "no part was asked for").toEqual(["audit.export"]);
});

it("the_export_of_a_filter_has_the_same_rows_in_the_window_and_by_the_command", async () => {
  const core = fake({ now: STORY_NOW, audit: 480 });
  const filter = { ...NO_FILTER, actor: "person", verbs: ["answerBegun", "stopBegun"], last: 300 };
  const file = await readExport(core, filter, "stubs", () => undefined);
  expect([(file?.rows ?? 0) + (file?.stubs ?? 0), (file?.rows ?? 0) > 0]).toEqual([300, true]);
  expect(mostRows(filter, 1, 480)).toBe(300);
  expect(commandOf(filter, "hashes", "a.jsonl")).toBe(
    "taskwarden audit export --last=300 --actor=person --verb=answerBegun --verb=stopBegun --gaps=hashes --output=a.jsonl",
  );
});

it("a_value_from_a_link_stays_one_word_of_the_command", () => {
  const hostile = { ...NO_FILTER, text: "x'; rm -rf ~ #\n--output=/etc/passwd", agent: "--gaps=hashes", task: "$(id)" };
  const command = commandOf(hostile, "stubs", "a.jsonl");
  expect(command).toContain("--text='x'\\''; rm -rf ~ # --output=/etc/passwd'");
  expect(command).toContain("--agent='--gaps=hashes'");
  expect(command).toContain("--task='$(id)'");
  expect(command, "one line").not.toContain("\n");
});

it("a_row_that_was_changed_is_said_and_the_file_is_kept", async () => {
  const core = fake({
    now: STORY_NOW,
    audit: 10,
    calls: {
      "audit.exportRows": () => ({ text: "{}\n", next: null, rows: 10, stubs: 0, receipts: 0, broken: 7 }),
    },
  });
  const shown = open(core);
  await shown.press("button", "Export");
  await shown.find("p.failed", "Row 7 does not match its hash");
  await until("the file is saved", () => saved.length === 1);
});
