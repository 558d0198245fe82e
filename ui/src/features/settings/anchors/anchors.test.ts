// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import Anchors from "./Anchors.svelte";

let page: Shown | null = null;
afterEach(async () => {
  await page?.close();
  page = null;
});

it("a file is added by its path, shown with its newest row, and removed", async () => {
  const core = fake();
  const shown = (page = show(Anchors, {}, core));
  await shown.type(".row input", "/media/usb/log.notes");
  await shown.press("form button", "Add");
  await shown.find("li", "Up to row 18,204.");
  const field = await shown.find<HTMLInputElement>(".row input");
  expect(field.value, "ready for the next one").toBe("");
  await shown.press("li button", "Remove");
  await until("it is gone", () => shown.page.querySelector("li") === null);
});

it("a path that cannot be used is refused beside its field, which keeps it", async () => {
  const shown = (page = show(Anchors, {}, fake()));
  await shown.type(".row input", "log.notes");
  await shown.press("form button", "Add");
  await shown.find(".err", "is not the whole path of a file");
  const field = await shown.find<HTMLInputElement>(".row input");
  expect([field.value, field.getAttribute("aria-invalid")]).toEqual(["log.notes", "true"]);
});

it("a file that the log contradicts is kept as evidence and not said to be well", async () => {
  const trouble = "has a checkpoint of 9 rows, and the log has 5: rows were cut off";
  const base = { kind: "file" as const, remote: null, newest: 9, copied: null, isBesideRegistry: true };
  const core = fake({ anchors: [{ id: 1, path: "/media/usb/log.notes", trouble, contradicts: true, ...base }] });
  const shown = (page = show(Anchors, {}, core));
  const row = await shown.find("li", "rows were cut off");
  expect(row.textContent).toContain("evidence");
  expect(row.textContent).not.toContain("Up to row");
});

it("a repository is added with the remote that its commits are pushed to", async () => {
  const shown = (page = show(Anchors, {}, fake()));
  await shown.press('input[value="git"]');
  await shown.type('input[placeholder="origin"]', "backup");
  await shown.type('input[placeholder="/home/ada/proofs"]', "/srv/proofs");
  await shown.press("form button", "Add");
  const row = await shown.find("li", "/srv/proofs");
  expect(row.textContent).toContain("(git repository, pushed to backup)");
});

it("a collector is added by its address, and what it keeps is not claimed", async () => {
  const shown = (page = show(Anchors, {}, fake()));
  await shown.press('input[value="otlp"]');
  await shown.type('input[placeholder="https://collector.example:4318"]', "https://logs.example/tenant/key");
  await shown.press("form button", "Add");
  const row = await shown.find("li", "https://logs.example");
  expect(row.textContent).toContain("What it keeps is not read back");
  expect(row.textContent).not.toContain("key");
});
