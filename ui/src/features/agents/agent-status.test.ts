import { describe, expect, it } from "vitest";
import { anAgent } from "./agents.example";
import { finished, nameProblem, slugged } from "./agent-name";
import { agentStatus, firstCall, sortedByNeed, matching } from "./agent-status";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");

describe("agents", () => {
  it("that need somebody come first, the revoked last", () => {
    const agents = [
      anAgent("zed", { revokedAt: "2026-11-21T14:00:00.000Z" }),
      anAgent("away", { connected: false }),
      anAgent("here"),
      anAgent("asks", { waiting: 1 }),
    ];
    expect(sortedByNeed(agents).map((agent) => agent.name)).toEqual(["asks", "here", "away", "zed"]);
  });

  it("say when they were last seen, or that they never were", () => {
    expect(agentStatus(anAgent("a", { connected: false, seenAt: null }), NOW)).toMatchObject({
      word: "Not connected",
      small: "has not connected yet",
    });
    const away = { connected: false, seenAt: "2026-11-21T14:29:36.000Z" };
    expect(agentStatus(anAgent("a", away), NOW)).toMatchObject({ word: "Not connected", small: "last seen 2 min ago" });
  });

  it("say since when they are connected, with the date when that is longer than a day", () => {
    const since = (connectedSince: string | null) => agentStatus(anAgent("a", { connectedSince }), NOW).small;
    expect(since("2026-11-21T13:12:00.000Z")).toMatch(/^since \d\d:\d\d$/);
    expect(since("2026-11-18T09:12:00.000Z")).toMatch(/^since 18 Nov, \d\d:\d\d$/);
    expect(since(null), "a core of before says only when it was seen").toBe("last seen 2 min ago");
  });

  it("that are new say when they connected and when they made their first call", () => {
    const fresh = { seenAt: null, client: null, calls: 0, connected: false };
    expect(firstCall(anAgent("a", fresh))).toBe("nothing");
    expect(firstCall(anAgent("a", { ...fresh, connected: true }))).toBe("connected");
    expect(firstCall(anAgent("a", { ...fresh, seenAt: "2026-11-21T14:29:36.000Z" })), "it was here a moment ago").toBe(
      "connected",
    );
    expect(firstCall(anAgent("a", { ...fresh, connected: true, calls: 1 }))).toBe("called");
  });

  it("are found by name and by program", () => {
    const agents = [anAgent("nightly", { client: "cron 1" }), anAgent("claude-code")];
    expect(matching(agents, "cron nig").map((agent) => agent.name)).toEqual(["nightly"]);
    expect(matching(agents, " ")).toHaveLength(2);
  });

  it("have names that fit a file, and a revoked one's name is free again", () => {
    const agents = [anAgent("here"), anAgent("gone", { revokedAt: "2026-11-21T14:00:00.000Z" })];
    for (const bad of ["", ".hidden", "A", "a b", "x".repeat(41), "here"])
      expect(nameProblem(bad, agents), bad).not.toBeNull();
    for (const good of ["gone", "claude-code.2", "a"]) expect(nameProblem(good, agents), good).toBeNull();
  });

  it("get a name that the core takes while it is typed", () => {
    for (const [typed, shown, sent] of [
      ["Claude Code", "claude-code", "claude-code"],
      ["Claude ", "claude-", "claude"],
      ["Zoë’s agent", "zoe-s-agent", "zoe-s-agent"],
      ["  .hidden", "hidden", "hidden"],
      ["a  --  b", "a-b", "a-b"],
      ["日本", "", ""],
      ["x".repeat(60), "x".repeat(40), "x".repeat(40)],
    ] as const) {
      expect(slugged(typed), typed).toBe(shown);
      expect(finished(typed), typed).toBe(sent);
      if (sent !== "") expect(nameProblem(sent, []), typed).toBeNull();
    }
  });
});
