import { describe, expect, it } from "vitest";
import type { ConnectionCheck, RuleDto } from "$lib/bindings";
import { anAgent } from "../agents.example";
import { findings } from "./connection-findings";
import { callSentences, limitSentences, otherRules, ruleOfAgent } from "./rule-sentences";
import { usedSince } from "./token-use";

const NOW = Date.parse("2026-11-21T14:31:36.000Z");
const well: ConnectionCheck = {
  checkedAt: "2026-11-21T14:31:36.000Z",
  url: "http://127.0.0.1:7717/mcp",
  urlWhy: null,
  http: { tookMs: 4, why: null },
  command: { tookMs: 2, why: null },
  seenAt: "2026-11-21T14:29:36.000Z",
  seenThrough: "http",
  tokenUsed: true,
  serversUp: 3,
  servers: 3,
  serversDown: [],
  waitsMs: 300_000,
  waitsLearned: false,
};
const found = (change: Partial<ConnectionCheck>) =>
  new Map(findings({ ...well, ...change }, NOW).map((one) => [one.key, one]));

describe("a connection check", () => {
  it("says when the last request came and through which door", () => {
    expect(found({}).get("token")).toMatchObject({ tone: "success", note: "by web address" });
    expect(found({}).get("token")?.title).toContain("2 min ago");
    expect(found({ seenThrough: null }).get("token")?.note).toContain("before Taskwarden");
  });

  it("says what to do about a token that nobody used", () => {
    expect(found({ seenAt: null, tokenUsed: false }).get("token")).toMatchObject({
      tone: "attention",
      title: "It has never connected",
    });
    const unused = found({ tokenUsed: false }).get("token");
    expect(unused).toMatchObject({ tone: "attention" });
    expect(unused?.note).toContain("restart the program");
  });

  it("tells a closed address from one that does not answer", () => {
    expect(found({ http: null, url: null, urlWhy: "port 7717 is used" }).get("http")).toMatchObject({
      tone: "neutral",
      title: "No web address is open",
    });
    const silent = found({ http: { tookMs: 3_000, why: "Nothing listens there." } }).get("http");
    expect(silent).toMatchObject({ tone: "attention" });
    expect(silent?.note).toContain("Nothing listens there. Restart");
  });

  it("names servers that cannot be called, and counts the rest", () => {
    const serversDown = Array.from({ length: 9 }, (_, at) => ({ name: `s${at}`, why: at === 0 ? "sign-in" : null }));
    const row = found({ servers: 30, serversUp: 10, serversDown }).get("servers");
    expect(row).toMatchObject({ tone: "attention", title: "10 of 30 servers can be called" });
    expect(row?.note).toBe("s0: sign-in · s1 · s2 · s3 · 16 more");
    expect(found({ servers: 0, serversUp: 0 }).get("servers")?.note).toContain("Add one");
  });

  it("says nothing about a timeout that is not known", () => {
    expect(found({ waitsMs: null }).has("waits")).toBe(false);
    expect(found({}).get("waits")?.title).toContain("5 min");
  });
});

describe("rules as sentences", () => {
  const rule: RuleDto = {
    scope: { kind: "agent", agent: "agt_claude-code" },
    asked: "agentThenPeople",
    peopleAfterMs: 60_000,
    repeat: "new",
    holdResults: true,
    resultLimit: { tokens: 20_000, at: "hold" },
    windowLimit: { tokens: 100_000, at: "ask" },
  };
  const words = (sentences: readonly { text: string }[]) => sentences.map((one) => one.text);

  it("say what holds without a rule", () => {
    expect(words(callSentences(null))).toEqual([
      "Its tasks’ questions go to people",
      "A repeated call joins the open task",
    ]);
    expect(words(limitSentences(null))).toEqual(["Results that its program would cut are held and delivered in parts"]);
  });

  it("say what a rule sets", () => {
    expect(callSentences(rule)[0]?.note).toBe("and to people after 1 min without an answer");
    expect(words(callSentences(rule))).toContain("Results wait until a person has reviewed them");
    expect(words(limitSentences(rule))).toEqual([
      "A result over 20,000 tokens: it is held and delivered in parts",
      "A window over 100,000 tokens: a person is asked",
      "Results that its program would cut are held and delivered in parts",
    ]);
  });

  it("say how long a task may run, and what happens then", () => {
    const limited: RuleDto = {
      scope: { kind: "tool", server: "ci", tool: "deploy" },
      timeLimit: { allowedMs: 1_800_000, at: "ask" },
      progressLimit: { allowedMs: 90_000, at: "cancel" },
      holdCut: true,
    };
    expect(words(limitSentences(limited)).slice(0, 2)).toEqual([
      "A task that has run for 30 min: a person is asked",
      "A task without progress for 1 min 30 s: it is cancelled",
    ]);
  });

  it("of servers and tools say only what they set", () => {
    const others = otherRules([
      rule,
      { scope: { kind: "tool", server: "ci", tool: "deploy" }, repeat: "new" },
      { scope: { kind: "server", server: "ci" }, holdCut: false },
    ]);
    expect(others.map((one) => [one.title, one.sentences])).toEqual([
      ["deploy on ci", ["A repeated call is a new task"]],
      ["all tools of ci", ["Results are delivered even when its program cuts them"]],
    ]);
  });

  it("of an agent are found by its id and by its name", () => {
    const agent = anAgent("claude-code");
    expect(ruleOfAgent([rule], agent)).toBe(rule);
    expect(ruleOfAgent([{ scope: { kind: "agent", agent: "claude-code" } }], agent)).not.toBeNull();
    expect(ruleOfAgent([{ scope: { kind: "server", server: "claude-code" } }], agent)).toBeNull();
  });
});

it("a token counts as used by what came after it was made", () => {
  const seenAt = "2026-11-21T14:29:36.000Z";
  const agent = anAgent("a", { seenAt });
  expect(usedSince(agent, "2026-11-20T00:00:00.000Z")).toBe(seenAt);
  expect(usedSince(agent, "2026-11-21T14:30:00.000Z"), "that was with the token before").toBeNull();
  expect(usedSince({ ...agent, seenAt: null }, "2026-11-20T00:00:00.000Z")).toBeNull();
});
