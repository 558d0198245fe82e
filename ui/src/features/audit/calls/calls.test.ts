// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { clock } from "$lib/clock.svelte";
import { fake, type FakeBackend } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { route } from "$lib/route.svelte";
import Audit from "../Audit.svelte";
import { growingCalls, HOSTILE_CALLS } from "../audit.example";

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
  const core = fake({ now: STORY_NOW, receipts: 30, ...options });
  page = show(Audit, {}, core);
  return { core, shown: page };
}
const key = (name: string, at: Element | null = document.activeElement) =>
  (at ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));

it("the_keyboard_opens_a_call_goes_on_to_the_next_and_escape_gives_the_focus_back", async () => {
  const { shown } = open("#/audit/calls");
  await shown.find('[role="row"][data-at="0"]');
  key("j", document.body);
  await until(
    "the first row has the focus",
    () => document.activeElement?.getAttribute("data-at"),
    (at) => at === "0",
  );
  key("Enter");
  await shown.find("aside", "Call 30");
  expect(location.hash).toBe("#/audit/calls-30");
  key("j");
  await shown.find("aside", "Call 29");
  key("Escape");
  await until("the call is closed", () => document.querySelector("aside") === null);
  await until(
    "the focus is back",
    () => document.activeElement?.getAttribute("data-at"),
    (at) => at === "1",
  );
  expect(location.hash).toBe("#/audit/calls");
});

it("a_call_says_what_came_of_it_and_leads_to_its_task", async () => {
  const { shown } = open("#/audit/calls-26");
  await shown.find("aside", "order-bot called backfill_orders on warehouse");
  await shown.find("aside", "The call became a task.");
  expect(document.querySelector<HTMLAnchorElement>("aside dd a")?.hash).toMatch(/^#\/tasks\/hdl_0+26$/);
  route.open("#/audit/calls-23");
  await shown.find("aside", "refused: halted");
  expect(shown.text()).toContain("Work was halted there. The call was not sent.");
});

it("a_call_that_the_list_has_not_loaded_is_read_by_its_number", async () => {
  const { shown, core } = open("#/audit/calls-12002?agent=order-bot", { receipts: 18_204 });
  await shown.find("aside", "order-bot called backfill_orders");
  expect(core.called.map((one) => one.input)).toContainEqual(expect.objectContaining({ before: 12_003, limit: 1 }));
});

it("a_call_that_is_not_on_record_says_so", async () => {
  const { shown } = open("#/audit/calls-99999");
  await shown.find("aside .empty", "This call is not on record");
});

it("text_of_a_call_stays_text", async () => {
  const { shown } = open("#/audit/calls-30", { receiptChanges: HOSTILE_CALLS });
  await shown.find("aside", "<img src=x onerror=alert(1)>");
  expect(document.querySelectorAll("img, script, aside b, [role=grid] b"), "nothing of it is markup").toHaveLength(0);
  expect(shown.text(), "no escape sequence and no change of direction").not.toMatch(/[\u001b\u202e]/);
});

it("calls_that_were_made_meanwhile_are_counted_and_move_nothing", async () => {
  const { shown } = open("#/audit/calls", { calls: { "audit.calls": growingCalls() } });
  await shown.find(".head button", "Show 3 newer calls");
  await shown.find(".count", "4,711 calls");
});

it("a_time_and_a_task_of_the_address_are_shown_and_can_be_taken_away", async () => {
  const { shown } = open("#/audit/calls?until=2026-11-22T10:00:00Z&task=hdl_0");
  await shown.find(".filters .chip", "task hdl_0");
  await shown.press(".filters .chip:last-of-type .cross");
  await until(
    "the task is gone",
    () => location.hash,
    (hash) => hash === "#/audit/calls?until=2026-11-22T10%3A00%3A00Z",
  );
});
