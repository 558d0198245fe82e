// @vitest-environment jsdom
/* The keyboard after the dialog that starts a task: it is opened by a key and closed by Escape. */
import { it, vi } from "vitest";
import { FakeBackend } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import StartTask from "./StartTask.svelte";

vi.setConfig({ testTimeout: 60_000 });

it("focus is back where it was when the dialog closes, though its first field took it before the dialog could", async () => {
  const before = document.body.appendChild(document.createElement("button"));
  const shown = show(StartTask, {}, new FakeBackend({ servers: 2 }));
  before.focus();
  const key = (to: Element | null, name: string) =>
    to?.dispatchEvent(new KeyboardEvent("keydown", { key: name, code: name, bubbles: true, cancelable: true }));
  key(before, "s");
  const field = await shown.find<HTMLInputElement>("[role=dialog] input");
  await until("the field has focus", () => document.activeElement === field);
  key(field, "Escape");
  await until("it is closed", () => document.querySelector("[role=dialog]") === null);
  await until("focus is back", () => document.activeElement === before);
  before.remove();
  await shown.close();
});
