import { describe, expect, it } from "vitest";
import { CoreState } from "$lib/fake-core/core-state";
import { faviconOf } from "./favicon";
import { isQuiet, mayTell, noticeOf } from "./web-notices";

const state = new CoreState({ now: 0, tasks: 6, inbox: 3 });
const rows = [...state.inbox.values()];
const settings = {
  ...state.settings,
  notifyWaiting: true,
  notifyProblem: true,
  quietFrom: null,
  quietTo: null,
  pausedUntil: null,
};
const core = { ...state.core, notifications: "none" as const };
const noon = new Date(2026, 10, 21, 12, 0).getTime();

describe("notifications of the browser", () => {
  it("nothing is told twice: where the core notifies, the browser is silent", () => {
    expect(mayTell(core, settings, noon)).toBe(true);
    expect(mayTell({ ...core, notifications: "desktop" }, settings, noon), "the desktop tells").toBe(false);
    expect(mayTell({ ...core, notifications: "off" }, settings, noon), "the file says no").toBe(false);
  });

  it("a pause and quiet hours hold them", () => {
    expect(mayTell(core, { ...settings, pausedUntil: new Date(noon + 60_000).toISOString() }, noon)).toBe(false);
    const night = { ...settings, quietFrom: "22:00", quietTo: "07:00" };
    const at = (hours: number) => isQuiet(night, new Date(2026, 10, 21, hours, 0));
    expect([21, 22, 3, 7].map(at), "over midnight").toEqual([false, true, true, false]);
  });

  it("one opens the exact item, many are one notice, and none says what was asked", () => {
    const [row] = rows;
    if (!row) throw new Error("an item");
    const asked = { ...row, kind: "form" as const, tool: "deploy", message: "What is the password?" };
    const one = noticeOf([asked], settings);
    expect(one).toEqual({ title: "deploy asks a question", hash: `#/inbox/${encodeURIComponent(row.id)}` });
    expect(noticeOf(rows, settings)?.hash, "the inbox").toBe("#/inbox");
    expect(JSON.stringify(one)).not.toContain("password");
  });

  it("what the person does not want to hear of is not told", () => {
    const [row] = rows;
    if (!row) throw new Error("an item");
    expect(noticeOf([{ ...row, kind: "lost" }], { ...settings, notifyProblem: false })).toBeNull();
    expect(noticeOf([{ ...row, kind: "form" }], { ...settings, notifyWaiting: false })).toBeNull();
  });
});

describe("the icon of the page", () => {
  it("has the count of what waits, and none when nothing does", () => {
    expect(faviconOf(0)).toBe("/mark.svg");
    expect(decodeURIComponent(faviconOf(7))).toContain(">7<");
    expect(decodeURIComponent(faviconOf(2_000))).toContain(">99+<");
  });
});
