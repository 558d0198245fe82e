// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Action } from "./action.svelte";
import { Announcer } from "./announcer.svelte";
import { sentence, Toasts } from "./toasts.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("news", () => {
  it("that_come_together_are_said_together_once", () => {
    const announcer = new Announcer();
    announcer.say("One.");
    announcer.say("Two.");
    announcer.say("One.");
    expect(announcer.polite, "not yet").toBe("");
    vi.advanceTimersByTime(700);
    expect(announcer.polite, "in one breath").toBe("One. Two.");
  });
  it("with_a_way_back_are_taken_back_newest_first", () => {
    const toasts = new Toasts(new Announcer());
    const undone: string[] = [];
    toasts.show("A", { undo: () => void undone.push("A") });
    toasts.show("B", { undo: () => void undone.push("B") });
    toasts.undo();
    toasts.undo();
    toasts.undo();
    expect(undone, "each once").toEqual(["B", "A"]);
  });
  it("go_by_themselves", () => {
    const toasts = new Toasts(new Announcer());
    toasts.show("A");
    vi.advanceTimersByTime(7_000);
    expect(toasts.list, "after six seconds").toEqual([]);
  });
  it("of_the_core_become_sentences", () =>
    expect(sentence("the task `x` is gone"), "capital and stop").toBe("The task `x` is gone."));
});

describe("an action", () => {
  it("cannot_be_begun_twice", async () => {
    const act = new Action();
    let runs = 0;
    const work = () => new Promise<number>((done) => setTimeout(() => done(++runs), 100));
    const both = Promise.all([act.run(work), act.run(work)]);
    expect(act.busy, "the button is locked").toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect([await both, act.busy], "the second press did nothing").toEqual([[1, undefined], false]);
  });
  it("that_fails_says_why", async () => {
    const act = new Action();
    await act.run(() => Promise.reject({ code: "refused", message: "no", hint: "Ask." }));
    expect([act.error?.message, act.busy], "kept for the screen").toEqual(["no", false]);
  });
});
