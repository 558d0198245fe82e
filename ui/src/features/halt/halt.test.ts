// @vitest-environment jsdom
/* The halt as a person gives it in the window, and what the page shows of it. */
import { expect, it } from "vitest";
import type { HaltedTaskDto } from "$lib/bindings";
import { fake } from "$lib/fake-core/backend";
import { haltedTasks, haltOf } from "$lib/fake-core/halt/orders";
import { show, until } from "$lib/fake-core/harness";
import { makeRows } from "$lib/fake-core/rows";
import { STORY_NOW } from "$lib/fake-core/story";
import { haltSummary } from "$lib/halt/halt-summary";
import { HALT } from "$lib/text/halt/page";
import { knownOf, report } from "./halt-facts";
import HaltDialog from "./HaltDialog.svelte";
import HaltScreen from "./HaltScreen.svelte";
import { covered } from "./scope";

const AT = STORY_NOW - 48_000;
const onclose = () => undefined;
const isOff = (button: Element | undefined) =>
  button === undefined || button.hasAttribute("disabled") || button.getAttribute("aria-disabled") === "true";
const button = (selector: string, text = "") =>
  [...document.body.querySelectorAll(selector)].find((one) => one.textContent.includes(text));

it("a_halt_needs_a_reason_and_the_word_and_is_sent_once", async () => {
  const core = fake({ tasks: 28 });
  const page = show(HaltDialog, { onclose }, core);
  await page.find("button[type=submit]");
  expect(isOff(button("button[type=submit]")), "without the word nothing is sent").toBe(true);
  await page.type(".word input", "HALT");
  await until("the button can be pressed", () => !isOff(button("button[type=submit]")));
  await page.press("button[type=submit]");
  await page.find("p", "Write a reason");
  const sent = () => core.called.filter((call) => call.name === "halts.start");
  expect(sent(), "without a reason nothing is sent").toEqual([]);
  await page.type("[data-autofocus] input", "  wrong month ");
  await page.press("button[type=submit]");
  await until("the halt is sent", sent, (calls) => calls.length > 0);
  expect(sent().map((call) => call.input)).toEqual([
    { reason: "wrong month", scope: ["calls", "running", "requests"] },
  ]);
  await page.close();
});

it("the_dialog_counts_what_the_chosen_places_have", () => {
  const state = fake({ tasks: 28 }).state;
  const servers = [...state.servers.values()];
  const agents = [...state.agents.values()];
  const [server] = servers;
  const [agent] = agents;
  if (!server || !agent) throw new Error("the made-up core has servers and agents");
  const of = (chosen: Parameters<typeof covered>[0]["chosen"]) =>
    covered({ chosen }, servers, agents, state.inbox.values(), state.totals().figures.open);
  const all = of(null);
  expect(all.open, "everything is what the status bar counts").toBe(state.totals().figures.open);
  const one = of({ servers: new Set([server.name]), agents: new Set(), tools: [] });
  expect([one.open, one.isBound]).toEqual([server.figures.open, false]);
  const both = of({ servers: new Set([server.name]), agents: new Set([agent.name]), tools: [] });
  expect([both.open, both.isBound], "a task of both would be counted twice").toEqual([
    server.figures.open + agent.figures.open,
    true,
  ]);
  const tool = (open: number | null) =>
    of({ servers: new Set(), agents: new Set(), tools: [{ server: server.name, tool: "deploy", open }] });
  expect([tool(3).open, tool(3).isBound, tool(null).open], "what is not counted yet has no figure").toEqual([
    3,
    false,
    null,
  ]);
});

it("a_single_tool_is_found_by_its_name_and_halted_alone", async () => {
  const core = fake({ tasks: 28 });
  const page = show(HaltDialog, { onclose }, core);
  await page.press("label", "Only these servers, agents and tools");
  await page.type(".find input", "index");
  const wanted = "index_folder";
  await page.press(".tools label", wanted);
  await page.find("li", wanted);
  await page.type("[data-autofocus] input", "wrong month");
  await page.type(".word input", "HALT");
  await until("the button can be pressed", () => !isOff(button("button[type=submit]")));
  await page.press("button[type=submit]");
  const sent = () => core.called.filter((call) => call.name === "halts.start");
  await until("the halt is sent", sent, (calls) => calls.length > 0);
  const server = [...core.state.servers.keys()].sort()[0];
  expect(sent()[0]?.input).toEqual({
    reason: "wrong month",
    scope: ["calls", "running", "requests"],
    tools: [{ server, tool: wanted }],
  });
  await page.close();
});

it("a_tool_of_a_server_that_cannot_list_them_is_halted_by_its_exact_name", async () => {
  const fails = () => {
    throw { code: "failed", message: "`ci-server` does not answer", hint: "Try again." };
  };
  const core = fake({ tasks: 28, calls: { "servers.tools": fails } });
  const page = show(HaltDialog, { onclose }, core);
  await page.press("label", "Only these servers, agents and tools");
  await page.find(".tools p", "cannot be listed now");
  await page.type(".find input", "deploy_prod");
  await page.press(".tools button", "Halt the tool named deploy_prod");
  await page.find("li", "Tool deploy_prod of");
  await page.close();
});

it("a_halt_by_a_control_token_names_it", () => {
  const { halt } = haltOf([], AT);
  const order = halt?.orders[0];
  if (!halt || !order) throw new Error("a halt is made");
  const byToken = { ...halt, orders: [{ ...order, by: "control:ctl_7" }] };
  expect(report(byToken)).toContain("the control token ctl_7: Everything");
  expect(haltSummary({ halt: byToken, unreadable: null })?.by).toBe("the control token ctl_7");
});

it("the_page_follows_the_halt_to_its_end_without_a_call_of_its_own", async () => {
  const core = fake({ tasks: 28 });
  const page = show(HaltScreen, {}, core);
  await page.find("section", HALT.none);
  const open = makeRows(3, 0, STORY_NOW);
  core.state.halt = haltOf(haltedTasks(open, ["notConfirmed", "confirmed", "requested"], AT), AT);
  core.state.send({ halt: core.state.halt });
  await page.find("section", "1 of 3 tasks ended. 1 not confirmed.");
  expect(isOff(button("li button", "Go on")), "two tasks may still run").toBe(true);
  await page.press("li input[type=checkbox]");
  for (const text of ["Go on", "Resume", "Resume", "End the halt"]) {
    await until(`${text} can be pressed`, () => !isOff(button("li button", text)));
    const steps = () => core.called.filter((call) => call.name === "halts.resume").length;
    const before = steps();
    await page.press("li button", text);
    await until("the step is sent", steps, (n) => n > before);
  }
  await page.find("section", HALT.none);
  expect([...new Set(core.called.map((call) => call.name))]).toEqual(["halts.resume"]);
  await page.close();
});

it("what_is_not_confirmed_is_asked_again_and_only_then_there_is_a_button", async () => {
  const core = fake({ tasks: 28 });
  core.state.halt = haltOf(haltedTasks(makeRows(3, 0, STORY_NOW), ["notConfirmed", "confirmed", "requested"], AT), AT);
  const page = show(HaltScreen, {}, core);
  await page.press(".head button", HALT.retry);
  await until("it is asked", () => core.called.some((call) => call.name === "halts.retry"));
  await until("nothing is left to ask again", () => button(".head button", HALT.retry) === undefined);
  await page.close();
});

it("a_second_attempt_that_asks_nothing_says_why_by_what_the_halt_covers_now", async () => {
  const halted = (state: HaltedTaskDto["state"]) => haltOf(haltedTasks(makeRows(1, 0, STORY_NOW), [state], AT), AT);
  const why = (state: HaltedTaskDto["state"]) => {
    const { halt } = halted(state);
    if (!halt) throw new Error("a halt is made");
    return HALT.notRetried(halt.counts);
  };
  expect([why("notConfirmed"), why("requested"), why("confirmed")]).toEqual([
    "Nothing could be asked again: a call without a task is asked only once, and what is lost cannot be asked.",
    "Nothing could be asked again: the servers that were asked may still answer.",
    "Nothing could be asked again: every task that was asked to cancel has ended.",
  ]);
  const core = fake({ tasks: 28, calls: { "halts.retry": () => ({ asked: 0 }) } });
  core.state.halt = halted("notConfirmed");
  const page = show(HaltScreen, {}, core);
  await page.press(".head button", HALT.retry);
  await until("what is halted now is read", () => core.called.some((call) => call.name === "halts.show"));
  await page.close();
});

it("what_is_known_of_a_task_is_said_and_nothing_else", () => {
  const [row] = makeRows(1, 0, STORY_NOW);
  if (!row) throw new Error("a row is made");
  const [asked] = haltedTasks([row], ["requested"], AT);
  if (!asked) throw new Error("a task is made");
  const known = (change: Partial<HaltedTaskDto>) => knownOf({ ...asked, ...change });
  expect(known({}), "more than its state").toMatch(/^Asked \d\d:\d\d:\d\d, no reply yet$/);
  expect(known({ refused: "not possible", state: "notConfirmed" })).toBe("Server refused: not possible");
  expect(known({ state: "notConfirmed" })).toMatch(/^No word since \d\d:/);
  expect(known({ state: "notConfirmed", phase: "lost" }), "its phase says more").toBe("Lost by the server");
  const ended = { state: "confirmed", phase: "done", endedAt: new Date(AT).toISOString(), held: true } as const;
  expect(known(ended)).toMatch(/^Done \d\d:\d\d:\d\d, result held$/);
});

it("a_task_with_which_contact_ended_is_not_said_to_run", async () => {
  const core = fake({ tasks: 28 });
  const shown = haltOf(haltedTasks(makeRows(3, 0, STORY_NOW), ["notConfirmed", "confirmed", "requested"], AT), AT);
  if (!shown.halt) throw new Error("a halt is made");
  const { counts } = shown.halt;
  core.state.halt = { ...shown, halt: { ...shown.halt, counts: { ...counts, beyondReach: counts.notConfirmed } } };
  const page = show(HaltScreen, {}, core);
  await page.find("small", "1 ended, 1 may still run, 1 out of reach.");
  await page.find("label", "Go on although 1 task may still run and 1 is out of reach");
  await page.close();
  expect(HALT.stages.acknowledged.tick(0, 2)).toBe("Go on although 2 tasks are out of reach");
});

it("the_report_names_who_why_and_every_listed_task", () => {
  const tasks = haltedTasks(makeRows(2, 0, STORY_NOW), ["confirmed", "notConfirmed"], AT);
  const { halt } = haltOf(tasks, AT);
  if (!halt) throw new Error("a halt is made");
  const text = report(halt);
  for (const part of ["ada", "order-bot writes the wrong month", "Confirmed: 1", ...tasks.map((task) => task.id)])
    expect(text).toContain(part);
});

it("a_halt_by_the_file_says_so_and_one_that_cannot_be_read_has_no_time", () => {
  const { halt } = haltOf([], AT);
  if (!halt) throw new Error("a halt is made");
  const [order] = halt.orders;
  if (!order) throw new Error("it has an order");
  const byFile = {
    ...halt,
    orders: [{ ...order, by: null, reason: "", scope: ["calls" as const], inForce: ["calls" as const] }],
  };
  expect(haltSummary({ halt: byFile, unreadable: null })).toEqual({
    at: halt.at,
    by: null,
    reason: "",
    effect: "New calls are refused.",
  });
  expect(haltSummary({ halt: null, unreadable: "broken" })?.at).toBeNull();
  expect(haltSummary({ halt: null, unreadable: null })).toBeNull();
});
