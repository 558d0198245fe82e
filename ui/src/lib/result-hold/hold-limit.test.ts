import { describe, expect, it } from "vitest";
import type { LimitDto, RuleDto } from "$lib/bindings";
import { limitMessage, limitScope, type HeldResult } from "./hold-limit";

const tooLarge: HeldResult = {
  held: {
    at: "",
    by: "limit",
    verdict: null,
    why: "tooLarge",
    tokens: 61_402,
    limit: 20_000,
    program: null,
    free: null,
  },
  exactness: "about",
  agent: "research-7",
  server: "docs",
  tool: "index_folder",
  window: null,
};
const limit = (tokens: number, at: LimitDto["at"] = "hold"): LimitDto => ({ tokens, at });
const ofAgent: RuleDto = { scope: { kind: "agent", agent: "research-7" }, resultLimit: limit(20_000) };
const ofServer: RuleDto = { scope: { kind: "server", server: "docs" }, resultLimit: limit(20_000) };
const ofTool: RuleDto = {
  scope: { kind: "tool", server: "docs", tool: "index_folder" },
  resultLimit: limit(20_000, "ask"),
};

describe("a held result", () => {
  it("says which limit holds it: the narrowest that speaks of it", () => {
    expect(limitScope(tooLarge, [ofAgent, ofServer, ofTool])).toBe("tool");
    expect(limitScope(tooLarge, [ofAgent, ofServer, { ...ofTool, resultLimit: null }])).toBe("server");
    expect(limitScope(tooLarge, [ofAgent, { ...ofTool, scope: { kind: "tool", server: "docs", tool: "other" } }])).toBe(
      "agent",
    );
  });

  it("names nobody's limit when the rules were changed since", () => {
    expect(limitScope(tooLarge, [])).toBeNull();
    expect(limitScope(tooLarge, [ofAgent, { ...ofTool, resultLimit: limit(90_000) }])).toBeNull();
    expect(
      limitScope(tooLarge, [{ ...ofTool, resultLimit: limit(20_000, "warn") }]),
      "a limit that tells people holds nothing",
    ).toBeNull();
    expect(limitMessage(tooLarge, [])).toBe(
      "When it came, one result could have 20,000 tokens: it has ≈ 41k too many.",
    );
  });

  it("says by how much it is over, as exactly as it was counted", () => {
    expect(limitMessage(tooLarge, [ofTool])).toBe(
      "One result of the tool index_folder may have 20,000 tokens: it has ≈ 41k too many.",
    );
    expect(limitMessage({ ...tooLarge, exactness: "exact" }, [ofAgent])).toBe(
      "One result for research-7 may have 20,000 tokens: it has 41,402 too many.",
    );
    expect(limitMessage({ ...tooLarge, exactness: "atMost" }, [ofServer])).toBe(
      "One result of the server docs may have 20,000 tokens: it has ≤ 42k too many.",
    );
  });

  it("that does not fit says what its window may hold and what was free of that", () => {
    const full: HeldResult = {
      ...tooLarge,
      held: { ...tooLarge.held, why: "doesNotFit", limit: null, program: null, free: 36_792 },
      exactness: "exact",
    };
    expect(limitMessage({ ...full, window: limit(200_000, "ask") }, [])).toBe(
      "The window of research-7 may hold 200,000 tokens, and 36,792 of them were free: it has 24,610 too many.",
    );
    expect(limitMessage(full, []), "a limit of the window that is gone").toBe(
      "When it came, 36,792 tokens were free in the window of research-7, below its limit: it has 24,610 too many.",
    );
  });

  it("that a person wants to see is over nothing", () => {
    expect(
      limitMessage({ ...tooLarge, held: { ...tooLarge.held, why: "review", tokens: null, limit: null } }, [ofTool]),
    ).toBeNull();
  });
});
