import { describe, expect, it } from "vitest";
import type { InboxRow, ReadySettings } from "$lib/bindings";
import { makeSettings } from "$lib/fake-core/programs";
import { clientOf, CLIENTS, hidden, proposedName, slug, textFor } from "./clients";
import { planOf, saidIn } from "./demo-plan";
import { follow } from "./demo-run";
import { part, planParts } from "./first-run.example";
import { doneOf, progressOf } from "./progress";

const TOKEN = "twa_6h0Lw2rXyN8cQm4TzV1sKd7PfJ9bGa3EuR5oYi0WtSx";
const settings = (saved: boolean): ReadySettings =>
  makeSettings("claude-code", TOKEN, "http://127.0.0.1:7717/mcp", saved);
const agent = (name: string, seenAt: string | null = "2026-11-21T10:00:00.000Z", revokedAt: string | null = null) => ({
  name,
  seenAt,
  revokedAt,
});

describe("connecting an agent", () => {
  it("gives each program one text, without the token where its file can be had", () => {
    for (const client of CLIENTS.filter((one) => one.key !== "vscode")) {
      const given = textFor(settings(client.transport === "stdio"), client);
      expect(given?.text.transport, client.key).toBe(client.transport);
      expect(given?.text.text.includes(TOKEN), client.key).toBe(client.transport === "http");
    }
    expect(textFor(settings(true), clientOf("claude-code"))?.text.place, "a line is harder to misplace").toBe(
      "terminal",
    );
  });

  it("shows dots for a token that is in the text", () => {
    const text = textFor(settings(false), clientOf("http"))?.text.text ?? "";
    expect(text).toContain(TOKEN);
    expect(hidden(text, TOKEN)).not.toContain("twa_");
    expect(hidden(text, TOKEN)).toContain("Bearer •");
  });

  it("proposes a name that is free, and makes a name of what is typed", () => {
    const client = clientOf("claude-code");
    expect(proposedName(client, [])).toBe("claude-code");
    expect(proposedName(client, [agent("claude-code")])).toBe("claude-code-2");
    expect(proposedName(client, [agent("claude-code"), agent("claude-code-2")])).toBe("claude-code-3");
    expect(proposedName(client, [agent("claude-code", null)]), "one that never connected is replaced").toBe(
      "claude-code",
    );
    expect(proposedName(client, [agent("claude-code", "x", "y")]), "a revoked one is no more").toBe("claude-code");
    expect(slug("  Claude Code #2!")).toBe("claude-code-2-");
    expect(slug("../ÄÖ\u202e")).toBe("");
    expect(clientOf("no such program").key).toBe("claude-code");
  });
});

describe("the plan of the demo", () => {
  it("is read from the data of the result", () => {
    const plan = planOf(planParts());
    expect(plan?.wouldMove).toBe(8);
    expect(plan?.folders.map((one) => `${one.name} ${one.count}`)).toEqual([
      "Archives 1",
      "Audio 1",
      "Documents 3",
      "Images 3",
    ]);
  });

  it("is no plan when a server says something else, and no word of it is lost", () => {
    for (const wrong of [
      null,
      1,
      [],
      {},
      { sortedBy: "size" },
      { sortedBy: "kind", wouldMove: -1, folders: [] },
      { sortedBy: "kind", wouldMove: 1, folders: {} },
    ])
      expect(planOf(planParts(wrong)), JSON.stringify(wrong)).toBeNull();
    expect(planOf([part(0, "structured", "{")])).toBeNull();
    expect(planOf([{ ...part(0, "structured", '{"sortedBy":"kind"'), cut: true }])).toBeNull();
    expect(saidIn([part(0, "text", "Nothing was planned.")])).toBe("Nothing was planned.");
  });

  it("of ten thousand folders shows a few and says how many there are besides", () => {
    const folders = Array.from({ length: 10_000 }, (_, n) => ({
      folder: `\u202e${n}`.repeat(100),
      count: 1,
      files: [n],
    }));
    const plan = planOf(planParts({ sortedBy: "month", wouldMove: 10_000, folders }));
    expect(plan?.folders.length).toBeLessThan(10);
    expect((plan?.folders.length ?? 0) + (plan?.more ?? 0)).toBe(10_000);
    expect(plan?.folders[0]?.name.length).toBeLessThan(100);
    expect(plan?.folders[0]?.name).not.toContain("\u202e");
  });
});

describe("the demo", () => {
  const row = (answeredBy: string | null) => ({ task: "hdl_a", answeredBy }) as InboxRow;
  const run = { task: "hdl_a", asked: false };
  const inbox = { place: "inbox", id: null } as const;

  it("shows its end where its question was answered, and only then", () => {
    expect(follow(run, [], inbox), "its question is not here yet").toEqual({ run, ends: false });
    const asked = follow(run, [row(null)], inbox);
    expect(asked).toEqual({ run: { task: "hdl_a", asked: true }, ends: false });
    expect(follow({ task: "hdl_a", asked: true }, [], inbox), "an answer can be taken back").toEqual({
      run,
      ends: true,
    });
    expect(follow({ task: "hdl_a", asked: true }, [row("ada")], inbox).ends).toBe(true);
  });

  it("calls nobody back who went elsewhere", () => {
    for (const here of [{ place: "servers", id: null } as const, { place: "inbox", id: "hdl_b/q" } as const])
      expect(follow({ task: "hdl_a", asked: true }, [], here)).toEqual({ run: null, ends: false });
  });
});

it("the three steps are counted by what the core knows", () => {
  expect(doneOf(progressOf(0, [], []))).toBe(0);
  expect(doneOf(progressOf(1, [], [{ name: "demo" }])), "the demo's server is not one's own").toBe(1);
  expect(doneOf(progressOf(1, [agent("a")], [{ name: "ci" }]))).toBe(3);
  expect(doneOf(progressOf(0, [agent("a", null)], [])), "added is not connected").toBe(0);
});
