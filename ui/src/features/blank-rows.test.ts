// @vitest-environment jsdom
/* Long lists whose rows were not all loaded when the core went away: they say so once, and load the rest when it is back. */
import type { Component } from "svelte";
import { beforeEach, afterEach, expect, it, vi } from "vitest";
import type { ApiError } from "$lib/bindings";
import { fake, type FakeBackend } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import AuditLog from "./audit/AuditLog.svelte";
import Answered from "./inbox/answered/Answered.svelte";
import Tasks from "./tasks/Tasks.svelte";

const VIEW_PX = 600;
let shown: Shown | null = null;
beforeEach(() => {
  // Menus are laid over the content of the page.
  document.body.replaceChildren(document.createElement("main"));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe = vi.fn();
      disconnect = vi.fn();
    },
  );
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(VIEW_PX);
});
afterEach(async () => {
  await shown?.close();
  shown = null;
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function open<P extends Record<string, unknown>>(component: Component<P>, backend: FakeBackend): Shown {
  shown = show(component, {} as P, backend);
  return shown;
}
function scroll(rows: number): void {
  const grid = document.body.querySelector("[role=grid]");
  if (grid === null) throw new Error("no list");
  grid.scrollTop = rows * 36;
  grid.dispatchEvent(new Event("scroll"));
}
/** Pages of tasks are refused until what this returns is called. */
function refusing(core: FakeBackend, error: ApiError): () => void {
  const call = core.call.bind(core);
  let refuses = true;
  vi.spyOn(core, "call").mockImplementation((name, ...rest) =>
    refuses && name === "tasks.page" ? Promise.reject(error) : call(name, ...rest),
  );
  return () => {
    refuses = false;
  };
}
const blanks = () =>
  [...document.body.querySelectorAll("[data-at] > [role=gridcell]")].filter((cell) => cell.children.length === 0);
const said = (text: string) => (shown?.text() ?? "").split(text).length - 1;
const filled = () => document.body.querySelectorAll("[data-at] > :not(.bone)").length > 10 && blanks().length === 0;

it("the_list_of_tasks", async () => {
  const core = fake({ tasks: 3_000 });
  const list = open(Tasks, core);
  await until("rows", filled);
  core.lose();
  scroll(1_500);
  await list.find("p[role=status]", "Blank rows were not loaded before. They appear when the core answers again.");
  expect([said("Blank rows were not loaded"), said("Loading")], "once, and not as if rows would come").toEqual([1, 0]);
  expect(blanks().length).toBeGreaterThan(10);
  core.find();
  await until("the rows are loaded", filled);
  expect(said("Blank rows were not loaded")).toBe(0);
});

it("the_answers_of_the_inbox", async () => {
  const core = fake({ answered: Array.from({ length: 900 }, () => ({})) });
  const list = open(Answered, core);
  await until("rows", filled);
  core.lose();
  scroll(400);
  await list.find("p[role=status]", "Some answers could not be loaded.");
  expect([said("Some answers could not be loaded"), said("Loading")]).toEqual([1, 0]);
  core.find();
  await until("the rows are loaded", filled);
  expect(said("Some answers could not be loaded")).toBe(0);
});

it("the_audit_log", async () => {
  route.open("#/audit");
  const core = fake({ audit: 3_000 });
  const list = open(AuditLog, core);
  await until("rows", filled);
  core.lose();
  scroll(90);
  await list.find("[role=status]", "The rows before could not be read.");
  expect([said("The rows before could not be read"), said("Loading")]).toEqual([1, 0]);
  core.find();
  await until("older rows are loaded", () => said("The rows before could not be read") === 0);
});

it("a_list_that_was_asked_for_before_the_first_snapshot_comes_with_it", async () => {
  const core = fake({ tasks: 30 });
  const find = refusing(core, { code: "noCore", message: "the core does not answer", hint: "It is tried again." });
  core.lose();
  const list = open(Tasks, core);
  await list.find("*", "this list was not loaded before");
  find();
  core.find();
  await until("rows", filled);
});

it("a_page_that_the_core_refused_is_asked_for_again", async () => {
  const core = fake({ tasks: 3_000 });
  const list = open(Tasks, core);
  await until("rows", filled);
  const find = refusing(core, { code: "failed", message: "the registry is busy", hint: "Try again." });
  scroll(1_500);
  await list.find("section", "The tasks could not be loaded.");
  expect([said("The tasks could not be loaded."), said("Loading")]).toEqual([1, 0]);
  find();
  await until("the rows are loaded", () => filled() && said("The tasks could not be loaded.") === 0);
});
