// @vitest-environment jsdom
/* Which control has focus after a dialog or a popover opened, once the library had its turn. */
import { createRawSnippet, flushSync } from "svelte";
import { afterEach, expect, it, vi } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import Dialog from "./Dialog.svelte";
import Popover from "./Popover.svelte";
import { focusOnOpen } from "./opening-focus";

vi.stubGlobal(
  "ResizeObserver",
  class {
    observe(): void {
      /* never tells */
    }
    disconnect(): void {
      /* nothing to stop */
    }
  },
);
const FIELD = "<input name='reason' />";
const KEEP = "<button data-keep>Keep</button>";
const WRAPPED = "<span data-keep><button>Keep</button></span>";
const ACT = "<button>Remove</button>";

let shown: Shown | null = null;
afterEach(async () => {
  await shown?.close();
  shown = null;
});

const html = (text: string) => createRawSnippet(() => ({ render: () => `<div>${text}</div>` }));
/** The library chooses in the next frame; by the one after that it has. */
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
async function focused(): Promise<string> {
  await until("something in the box has focus", () => document.activeElement?.closest("[role=dialog]") != null);
  await frames();
  flushSync();
  const at = document.activeElement;
  return at?.getAttribute("name") ?? at?.textContent ?? "";
}
const dialog = (body: string, actions: string) =>
  (shown = show(Dialog, { open: true, title: "Remove it?", children: html(body), actions: html(actions) }, fake({})));
const popover = (body: string) => {
  const anchor = document.body.appendChild(document.createElement("button"));
  shown = show(Popover, { open: true, label: "Remove it?", anchor, children: html(body) }, fake({}));
};

it("a dialog gives focus to what changes nothing, also where a field comes first", async () => {
  dialog(FIELD, ACT + KEEP);
  expect(await focused()).toBe("Keep");
});

it("the mark may stand on a wrapper", async () => {
  dialog(FIELD, ACT + WRAPPED);
  expect(await focused()).toBe("Keep");
});

it("a field that is marked comes before what changes nothing", async () => {
  dialog(`${ACT}<div data-autofocus>${FIELD}</div>`, KEEP);
  expect(await focused()).toBe("reason");
});

it("a popover gives focus to what changes nothing", async () => {
  popover(FIELD + ACT + WRAPPED);
  expect(await focused()).toBe("Keep");
});

it("the choice is left to the library without a mark, and with one that cannot have focus", () => {
  for (const content of [FIELD + ACT, `${FIELD}<button data-keep disabled>Keep</button>`]) {
    const box = document.body.appendChild(document.createElement("div"));
    box.innerHTML = content;
    const event = new Event("openAutoFocus", { cancelable: true });
    focusOnOpen(box, event);
    expect(event.defaultPrevented, content).toBe(false);
    box.remove();
  }
});
