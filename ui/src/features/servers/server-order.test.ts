import { describe, expect, it } from "vitest";
import { TASK } from "$lib/text/task";
import { healthStatus, whereabouts } from "./health";
import { cancelBars, BARS_MAX, sortedByNeed, matching } from "./server-order";
import { aServer } from "./servers.example";

describe("servers in a list", () => {
  it("stand in the order of need, then of name", () => {
    const servers = [
      aServer("b"),
      aServer("a"),
      aServer("down", { health: { kind: "down", since: null, why: null, hint: null, retryAt: null } }),
      aServer("new", { agreed: false }),
      aServer("key", { health: { kind: "blocked", since: null, why: null, hint: null, retryAt: null } }),
    ];
    expect(sortedByNeed(servers).map((one) => one.name)).toEqual(["key", "new", "down", "a", "b"]);
  });

  it("are found by name, host, command and health", () => {
    const servers = [
      aServer("ci"),
      aServer("docs", { address: { kind: "http", url: "https://wh.example/mcp", secretHeaders: [] } }),
    ];
    expect(matching(servers, "WH.example").map((one) => one.name)).toEqual(["docs"]);
    expect(matching(servers, " ")).toHaveLength(2);
    expect(matching(servers, "docs up")).toHaveLength(1);
    expect(matching(servers, "nothing")).toEqual([]);
  });

  it("tell where they are", () => {
    expect(whereabouts(aServer("a"))).toBe("on this machine");
    expect(
      whereabouts(aServer("a", { address: { kind: "http", url: "http://127.0.0.1:9/mcp", secretHeaders: [] } })),
    ).toBe("on this machine, 127.0.0.1:9");
    expect(
      whereabouts(aServer("a", { address: { kind: "http", url: "https://h.example/mcp", secretHeaders: [] } })),
    ).toBe("h.example");
  });

  it("that nobody allowed say so, whatever their health", () => {
    expect(healthStatus(aServer("a", { agreed: false }), 0).word).toBe("Not allowed yet");
  });

  it("say when they are tried again", () => {
    const health = { kind: "down", since: null, why: "x", hint: "y", retryAt: "2026-11-21T12:00:30.000Z" } as const;
    expect(healthStatus(aServer("a", { health }), Date.parse("2026-11-21T12:00:08.000Z")).small).toBe("retry in 22 s");
  });
});

describe("the bars of obeyed cancels", () => {
  const cancels = (stopped: number, finishedAnyway: number, refused = 0, open = 0) =>
    cancelBars({
      asked: stopped + finishedAnyway + refused + open,
      stopped,
      finishedAnyway,
      refused,
      noReply: 0,
      medianMs: null,
    });

  it("are one for each while there are few", () => {
    expect(cancels(3, 6)).toEqual({ obeyed: 3, not: 6 });
    expect(cancels(0, 0, 0, 4), "open ones count for neither side").toEqual({ obeyed: 0, not: 0 });
  });

  it("never round away the one that was not obeyed", () => {
    expect(cancels(999, 1)).toEqual({ obeyed: BARS_MAX - 1, not: 1 });
    expect(cancels(1, 999)).toEqual({ obeyed: 1, not: BARS_MAX - 1 });
    expect(cancels(500, 500)).toEqual({ obeyed: BARS_MAX / 2, not: BARS_MAX / 2 });
    expect(cancels(100, 0)).toEqual({ obeyed: BARS_MAX, not: 0 });
  });
});

it("cancels whose end is not known yet count as open, not as disobeyed", () => {
  const said = (stopped: number, asked: number) =>
    TASK.cancel.obeyed({ asked, stopped, finishedAnyway: asked > 3 ? 1 : 0, refused: 0, noReply: 0, medianMs: null });
  expect(said(0, 1)).toBe("1 still open");
  expect(said(2, 3)).toBe("2 of 2");
  expect(said(2, 4)).toBe("2 of 3");
});
