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
      "When it arrived, the limit for one result was 20,000 tokens; it is ≈ 41k over.",
    );
  });

  it("says by how much it is over, as exactly as it was counted", () => {
    expect(limitMessage(tooLarge, [ofTool])).toBe(
      "The limit for one result of the tool index_folder is 20,000 tokens; it is ≈ 41k over.",
    );
    expect(limitMessage({ ...tooLarge, exactness: "exact" }, [ofAgent])).toBe(
      "The limit for one result for research-7 is 20,000 tokens; it is 41,402 over.",
    );
    expect(limitMessage({ ...tooLarge, exactness: "atMost" }, [ofServer])).toBe(
      "The limit for one result of the server docs is 20,000 tokens; it is ≤ 42k over.",
    );
  });

  it("that does not fit says what its window may hold and what was free of that", () => {
    const full: HeldResult = {
      ...tooLarge,
      held: { ...tooLarge.held, why: "doesNotFit", limit: null, program: null, free: 36_792 },
      exactness: "exact",
    };
    expect(limitMessage({ ...full, window: limit(200_000, "ask") }, [])).toBe(
      "The window of research-7 may hold 200,000 tokens, of which 36,792 were free; it is 24,610 over.",
    );
    expect(limitMessage(full, []), "a limit of the window that is gone").toBe(
      "When it arrived, 36,792 tokens were free in the window of research-7 below its limit; it is 24,610 over.",
    );
  });

  it("that a person wants to see is over nothing", () => {
    expect(
      limitMessage({ ...tooLarge, held: { ...tooLarge.held, why: "review", tokens: null, limit: null } }, [ofTool]),
    ).toBeNull();
  });
});
