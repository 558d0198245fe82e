/* Made-up budgets for the stories and tests: one of each state, and what a hostile server would send. */
import type { AgentFacts, BudgetDto, ComingDto, PriceDto } from "$lib/bindings";
import { CODEX, FAMILIES, makeBudgets, windowOf } from "$lib/fake-core/budgets";
import { iso } from "$lib/fake-core/random";
import { makeAgents } from "$lib/fake-core/entities";
import { STORY_NOW } from "$lib/fake-core/story";

export const agents = (count: number): AgentFacts[] =>
  makeAgents(count, STORY_NOW).map((agent) => ({ ...agent, revokedAt: null }));
export const budgets = (count: number): BudgetDto[] => makeBudgets(agents(count), null, STORY_NOW);

const [RESEARCH] = budgets(5);
/** `research-7`, the fullest of the design. */
export function aBudget(change: Partial<BudgetDto> = {}): BudgetDto {
  if (RESEARCH === undefined) throw new Error("the design has five agents");
  return { ...RESEARCH, ...change };
}
export const coming = (change: Partial<ComingDto> = {}): ComingDto => ({
  id: "hdl_7f3k9q20",
  server: "docs",
  tool: "index_folder",
  tokens: 61_402,
  exactness: "exact",
  state: "held",
  phase: null,
  percent: null,
  ...change,
});

const price = (model: string, label: string, input: string, output: string): PriceDto => ({
  model,
  label,
  input,
  output,
  currency: "USD",
  setAt: iso(STORY_NOW - 40 * 86_400_000),
  setBy: "ada",
});
/** Examples; prices are what a person sets. */
export const PRICES: readonly PriceDto[] = [
  price("claude-opus-4-7", "Anthropic Claude Opus 4.7", "5.00", "25.00"),
  price("gpt-5", "OpenAI GPT-5", "1.25", "10.00"),
  price("gemini-3-pro", "Google Gemini 3 Pro", "2.00", "12.00"),
];

/** The agent of a single budget, so that both are of one world. */
export const agentOf = (budget: BudgetDto): AgentFacts => ({
  ...(agents(1)[0] as AgentFacts),
  id: budget.agentId,
  name: budget.agent,
});

export const UNKNOWN_SIZE = aBudget({
  agent: "no-size",
  agentId: "agt_nosize",
  family: FAMILIES.unknown,
  windowTokens: null,
  windowFrom: null,
  fullInMs: null,
  now: windowOf("win_u", [24_000, 620, 8_020, 28_100, 4_900, 0], "atMost", 28_000, STORY_NOW),
  coming: [coming({ exactness: "atMost", state: "ready" })],
});
export const UNSEEN = aBudget({
  agent: "just-added",
  agentId: "agt_unseen",
  now: null,
  burnPerMinute: 0,
  fullInMs: null,
  coming: [],
});
export const OVERFULL = aBudget({
  agent: "overfull",
  agentId: "agt_over",
  now: windowOf("win_o", [11_402, 616, 10_204, 826_330, 12_212, 21_444], "exact", 379_348, STORY_NOW, {
    fullTimes: 4,
  }),
  fullInMs: null,
});
/** Its program cuts what it was passed. */
export const CUT = aBudget({
  agent: "codex",
  agentId: "agt_codex",
  program: CODEX,
  burnPerMinute: 0,
  burnTooEarly: true,
  fullInMs: null,
  now: windowOf("win_cut", [1_561, 640, 204, 4_929, 212, 0], "about", 0, STORY_NOW, {
    passed: 72_104,
    passedExactness: "exact",
  }),
  coming: [
    coming({ state: "slices", tokens: 69_387 }),
    coming({ id: "hdl_7f3k9q21", state: "working", phase: "waiting", tokens: null }),
  ],
});
export const LIMITED = aBudget({ limit: { tokens: 170_000, at: "ask" }, fullInMs: 2 * 60_000 });
export const PAST_LIMIT = aBudget({ limit: { tokens: 160_000, at: "hold" }, fullInMs: 0 });
export const LIMIT_ALONE = aBudget({ limit: { tokens: 180_000, at: "warn" }, windowTokens: null, windowFrom: null });
export const BESIDE = aBudget({
  agent: "three-talks",
  agentId: "agt_three",
  beside: [
    windowOf("win_b1", [11_402, 616, 1_204, 16_330, 212, 0], "exact", 10_118, STORY_NOW, {
      lastAt: iso(STORY_NOW - 240_000),
    }),
    windowOf("win_b2", [11_402, 616, 204, 330, 12, 0], "exact", 118, STORY_NOW, { lastAt: iso(STORY_NOW - 940_000) }),
  ],
});
const LONG = "x".repeat(100_000);
export const HOSTILE = aBudget({
  agent: "hostile",
  agentId: "agt_hostile",
  program: { ...CODEX, label: `<b>${LONG}` },
  modelLabel: `\u202E<b>${LONG}`,
  family: { id: "<b>", label: `<img src=x onerror=alert(1)> \u202E${LONG}`, exactness: "about", errorPercent: 255 },
  windowTokens: Number.MAX_SAFE_INTEGER,
  burnPerMinute: Number.MAX_SAFE_INTEGER,
  now: windowOf(
    "win_h",
    [Number.MAX_SAFE_INTEGER / 8, 1, 1, Number.MAX_SAFE_INTEGER / 2, 1, 1],
    "about",
    Number.MAX_SAFE_INTEGER,
    STORY_NOW,
  ),
  coming: Array.from({ length: 200 }, (_, at) =>
    coming({
      id: `hdl_h${at}`,
      server: `<i>${LONG}`,
      tool: `\u202E<script>${LONG}`,
      tokens: Number.MAX_SAFE_INTEGER,
      exactness: "atMost",
      state: at % 2 === 0 ? "held" : "slices",
    }),
  ),
});
