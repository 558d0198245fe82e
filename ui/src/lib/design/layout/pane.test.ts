import { describe, expect, it } from "vitest";
import { Pane, PANES } from "./pane.svelte";

const held = new Map<string, string>();
const storage = {
  getItem: (key: string) => held.get(key) ?? null,
  setItem: (key: string, value: string) => void held.set(key, value),
};

describe("the width of a pane", () => {
  it("is remembered within its bounds, each pane for itself", () => {
    held.clear();
    const drawer = new Pane(PANES.drawer, storage);
    expect(drawer.width, "nothing stored: the design's").toBe(420);
    drawer.keep(500.4);
    expect(new Pane(PANES.drawer, storage).width).toBe(500);
    expect(new Pane(PANES.inbox, storage).width, "another pane").toBe(392);
    drawer.keep(5_000);
    expect(drawer.width).toBe(720);
  });

  it("is that of the design where what is stored means nothing", () => {
    for (const stored of ["wide", "-20", "0", "NaN"]) {
      held.set("taskwarden.server", stored);
      expect(new Pane(PANES.server, storage).width, stored).toBe(420);
    }
  });

  it("lasts as long as the page where storage is switched off", () => {
    const refuses = {
      getItem: () => {
        throw new Error("denied");
      },
      setItem: () => {
        throw new Error("denied");
      },
    };
    const pane = new Pane(PANES.inbox, refuses);
    pane.keep(480);
    expect(pane.width).toBe(480);
  });
});
