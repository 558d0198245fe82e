// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Keys } from "./keys.svelte";
import type { Binding } from "./match";
import { keyLabel } from "./key-label";

let keys = new Keys();
let ran: string[] = [];
let stop: () => void = () => undefined;

beforeEach(() => {
  keys = new Keys();
  ran = [];
  stop = keys.listen();
});
afterEach(() => {
  stop();
  document.body.replaceChildren();
});

const bind = (key: string, more: Partial<Binding> = {}): Binding => ({
  key,
  label: key,
  group: "Test",
  run: () => ran.push(key),
  ...more,
});
const add = (name: string, bindings: Binding[], exclusive = false) =>
  keys.add({ name, bindings: () => bindings, exclusive });

function press(key: string, more: KeyboardEventInit = {}, target: EventTarget = document.body): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  return event;
}

function inside(html: string, selector: string): Element {
  document.body.innerHTML = html;
  const found = document.querySelector(selector);
  if (!found) throw new Error(selector);
  return found;
}

describe("keys", () => {
  it("a_letter_runs_its_action", () => {
    add("list", [bind("j")]);
    expect(press("j").defaultPrevented, "nobody else sees it").toBe(true);
    expect(ran, "once").toEqual(["j"]);
  });
  it("two_letters_in_a_row_are_a_sequence", () => {
    add("app", [bind("g i"), bind("g t")]);
    press("g");
    press("t");
    expect(ran, "go to tasks").toEqual(["g t"]);
  });
  it("a_broken_sequence_leaves_the_last_letter_its_own_meaning", () => {
    add("app", [bind("g i"), bind("j")]);
    press("g");
    press("j");
    expect(ran, "j still moves").toEqual(["j"]);
  });
  it("a_sequence_is_not_taken_by_a_letter_of_the_screen", () => {
    add("app", [bind("g i")]);
    add("screen", [bind("i")]);
    press("g");
    press("i");
    expect(ran, "the sequence was begun").toEqual(["g i"]);
  });
  it("the_newest_scope_comes_first", () => {
    add("app", [bind("x", { run: () => ran.push("app") })]);
    add("screen", [bind("x", { run: () => ran.push("screen") })]);
    press("x");
    expect(ran, "the screen is nearer").toEqual(["screen"]);
  });
  it("under_a_dialog_nothing_answers", () => {
    add("screen", [bind("d")]);
    const close = add("dialog", [], true);
    press("d");
    expect(ran, "the dialog is exclusive").toEqual([]);
    close();
    press("d");
    expect(ran, "and gone again").toEqual(["d"]);
  });
  it("a_popover_keeps_its_presses", () => {
    add("screen", [bind("d")]);
    press("d", {}, inside('<div role="dialog"><p tabindex="0">x</p></div>', "p"));
    expect(ran, "decline is not meant here").toEqual([]);
  });
  it("letters_typed_into_a_field_stay_there", () => {
    add("screen", [bind("d"), bind("$mod+Enter"), bind("Escape")]);
    const field = inside("<input type=text>", "input");
    press("d", {}, field);
    press("Enter", { ctrlKey: true }, field);
    press("Escape", {}, field);
    expect(ran, "chords and Esc still work").toEqual(["$mod+Enter", "Escape"]);
  });
  it("a_check_box_is_no_text", () => {
    add("screen", [bind("j")]);
    press("j", {}, inside("<input type=checkbox>", "input"));
    expect(ran, "moving still works").toEqual(["j"]);
  });
  it("arrows_choose_among_radio_buttons", () => {
    add("screen", [bind("ArrowDown"), bind("ArrowUp"), bind("j")]);
    const radio = inside("<input type=radio>", "input");
    expect(press("ArrowDown", {}, radio).defaultPrevented, "the browser moves the choice").toBe(false);
    press("ArrowUp", {}, radio);
    expect(ran, "the list does not move").toEqual([]);
    press("j", {}, radio);
    press("ArrowDown", {}, inside("<input type=checkbox>", "input"));
    expect(ran, "elsewhere, and by letters, it does").toEqual(["j", "ArrowDown"]);
  });
  it("an_input_method_at_work_is_left_alone", () => {
    add("screen", [bind("j")]);
    press("j", { isComposing: true });
    expect(ran, "the letter belongs to the word").toEqual([]);
  });
  it("enter_on_a_button_is_the_buttons", () => {
    add("screen", [bind("Enter")]);
    press("Enter", {}, inside("<button>x</button>", "button"));
    expect(ran, "the button is pressed by the browser").toEqual([]);
  });
  it("an_action_that_cannot_be_done_now_does_nothing", () => {
    add("screen", [bind("u", { when: () => false })]);
    press("u");
    expect(ran, "nothing to undo").toEqual([]);
  });
  it("are_shown_as_people_read_them", () => {
    expect(
      [
        keyLabel("$mod+Enter"),
        keyLabel("g i"),
        keyLabel("?"),
        keyLabel("Shift+?"),
        keyLabel("$mod+k"),
        keyLabel("Escape"),
      ],
      "on this system",
    ).toEqual(["Ctrl ⏎", "g then i", "?", "?", "Ctrl K", "Esc"]);
  });
});
