/* Made-up windows, spend and waste. The first five agents are those of the design. */
import type {
  AgentFacts,
  BudgetChoices,
  BudgetDto,
  BudgetShown,
  ComingDto,
  ExactnessDto,
  FamilyDto,
  ProgramDto,
  SourceDto,
  SourcePart,
  TaskRow,
  TokensDto,
  WasteDto,
  WindowDto,
} from "$lib/bindings";
import { chance, iso, pick } from "./random";
import {
  comingOf,
  EARLIER_AGE_MS,
  EARLIER_PART,
  earlierFigures,
  KEPT_OUT_PER_TOKEN,
  spentBetween,
  WINDOW_AGE_MS,
} from "./tokens/history";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
export const SOURCES: readonly SourceDto[] = ["tools", "ownTools", "arguments", "results", "handles", "prompts"];

export const FAMILIES = {
  o200k: { id: "o200k", label: "GPT o200k", exactness: "exact", errorPercent: 0 },
  claude47: { id: "claude47", label: "Claude 4.7 and later", exactness: "about", errorPercent: 4 },
  llama: { id: "llama", label: "Llama", exactness: "about", errorPercent: 6 },
  gemini: { id: "gemini", label: "Gemini", exactness: "about", errorPercent: 7 },
  unknown: { id: "unknown", label: "unknown model", exactness: "atMost", errorPercent: 0 },
} as const satisfies Record<string, FamilyDto>;

const LABELS: Readonly<Record<string, string>> = {
  "claude-opus-4-7": "Anthropic Claude Opus 4.7",
  "claude-sonnet-4-5": "Anthropic Claude Sonnet 4.5",
  "gpt-5": "OpenAI GPT-5",
  "gpt-5.2": "OpenAI GPT-5.2",
  "gemini-3-pro": "Google Gemini 3 Pro",
  "llama-3.1-70b": "Meta Llama 3.1 70B",
};
export const labelOf = (model: string): string => LABELS[model] ?? model;

export const CHOICES: BudgetChoices = {
  families: Object.values(FAMILIES),
  models: [
    {
      name: "claude-opus-4-7",
      label: "Anthropic Claude Opus 4.7",
      family: "claude47",
      windowTokens: 200_000,
      source: "maker's list of models",
    },
    {
      name: "gpt-5.2",
      label: "OpenAI GPT-5.2",
      family: "o200k",
      windowTokens: 400_000,
      source: "maker's list of models",
    },
    {
      name: "gemini-3-pro",
      label: "Google Gemini 3 Pro",
      family: "gemini",
      windowTokens: 1_048_576,
      source: "maker's list of models",
    },
  ],
  programs: [
    { id: "claude-code", label: "Claude Code" },
    { id: "codex", label: "Codex" },
    { id: "gemini-cli", label: "Gemini CLI" },
    { id: "opencode", label: "opencode" },
  ],
};

export function parts(figures: readonly number[], exactness: ExactnessDto): SourcePart[] {
  return SOURCES.map((source, at) => ({ source, tokens: figures[at] ?? 0, exactness, passed: figures[at] ?? 0 }));
}

/** A program that nobody named. */
export const NO_PROGRAM: ProgramDto = {
  id: "other",
  label: "another program",
  from: "nobody",
  version: "",
  shows: "both",
  longResult: "whole",
  resultTokens: null,
  toolsPercent: 100,
  toolsSearched: false,
  holdsCut: false,
};
export const CODEX: ProgramDto = {
  id: "codex",
  label: "Codex",
  from: "set",
  version: "0.169.0",
  shows: "structuredFirst",
  longResult: "cut",
  resultTokens: 5_000,
  toolsPercent: 102,
  toolsSearched: false,
  holdsCut: true,
};
export const CLAUDE: ProgramDto = {
  id: "claude-code",
  label: "Claude Code",
  from: "client",
  version: "2.1.197",
  shows: "structuredFirst",
  longResult: "file",
  resultTokens: 25_000,
  toolsPercent: 72,
  toolsSearched: true,
  holdsCut: true,
};

/** As a program names itself when it connects. */
export function programOf(client: string | null): ProgramDto {
  const [id = "", version = ""] = client?.split(" ") ?? [];
  if (id === CLAUDE.id) return { ...CLAUDE, version };
  const known = CHOICES.programs.find((one) => one.id === id);
  return known === undefined ? NO_PROGRAM : { ...NO_PROGRAM, ...known, from: "client", version };
}

export function windowOf(
  id: string,
  figures: readonly number[],
  exactness: ExactnessDto,
  keptOut: number,
  now: number,
  more: Partial<WindowDto> = {},
): WindowDto {
  return {
    id,
    beganAt: iso(now - WINDOW_AGE_MS),
    lastAt: iso(now - 4_000),
    endedAt: null,
    tokens: figures.reduce((sum, one) => sum + one, 0),
    exactness,
    sources: parts(figures, exactness),
    passed: figures.reduce((sum, one) => sum + one, 0),
    passedExactness: exactness,
    fullTimes: 0,
    keptOut,
    keptOutExactness: exactness,
    ...more,
  };
}

/** The one after an emptied one: as at the core, what stands there again are definitions of tools. */
export function windowAfter(emptied: WindowDto, now: number): WindowDto {
  const again = SOURCES.map((source) =>
    source === "tools" || source === "ownTools"
      ? (emptied.sources.find((part) => part.source === source)?.tokens ?? 0)
      : 0,
  );
  return windowOf(`${emptied.id}_after`, again, emptied.exactness, 0, now, { beganAt: iso(now), lastAt: iso(now) });
}

interface Design {
  readonly family: keyof typeof FAMILIES;
  readonly model: string | null;
  readonly size: number | null;
  readonly figures: readonly number[];
  readonly burn: number;
  readonly coming: readonly Partial<ComingDto>[];
}
const DESIGN: readonly Design[] = [
  {
    family: "claude47",
    model: "claude-opus-4-7",
    size: 200_000,
    figures: [17_400, 640, 14_100, 68_300, 3_000, 15_060],
    burn: 1_350,
    coming: [{ tokens: 8_200, state: "ready", tool: "review_pull_request", server: "github" }],
  },
  {
    family: "o200k",
    model: "gpt-5",
    size: 200_000,
    figures: [11_402, 616, 10_204, 116_330, 3_212, 21_444],
    burn: 3_020,
    coming: [
      { tokens: 61_402, state: "held", tool: "index_folder", server: "docs" },
      { tokens: 9_000, state: "working", tool: "summarise_papers", server: "docs", percent: 8, exactness: "atMost" },
      { tokens: 1_204, state: "ready", tool: "list_papers", server: "docs" },
    ],
  },
  {
    family: "unknown",
    model: null,
    size: 200_000,
    figures: [24_000, 620, 8_020, 28_100, 4_900, 5_360],
    burn: 900,
    coming: [{ tokens: 6_100, state: "slices", tool: "export_ledger", server: "warehouse" }],
  },
  {
    family: "llama",
    model: "llama-3.1-70b",
    size: 128_000,
    figures: [13_800, 610, 6_400, 14_300, 2_650, 4_117],
    burn: 410,
    coming: [],
  },
  {
    family: "gemini",
    model: "gemini-3-pro",
    size: 1_048_576,
    figures: [22_000, 640, 9_100, 51_000, 6_000, 7_500],
    burn: 310,
    coming: [{ tokens: null, state: "working", tool: "backfill_orders", server: "warehouse", percent: null }],
  },
];

/** Those with access, the nearest to their limit first; the core gives fifty. Without rows their results to come are
    those of the design. */
export function makeBudgets(agents: readonly AgentFacts[], rows: readonly TaskRow[] | null, now: number): BudgetDto[] {
  let next = 0;
  const made = agents
    .filter((agent) => agent.revokedAt === null)
    .map((agent, at): BudgetDto => {
      const roll = chance(at + 11);
      const design = DESIGN[at] ?? pick(DESIGN, roll());
      const part = DESIGN[at] === undefined ? 0.15 + roll() * 0.8 : 1;
      const family = FAMILIES[design.family];
      const figures = design.figures.map((one) => Math.round(one * part));
      const tokens = figures.reduce((sum, one) => sum + one, 0);
      const burn = Math.round(design.burn * part);
      const program = programOf(agent.client);
      return {
        agent: agent.name,
        agentId: agent.id,
        family,
        program,
        windowTokens: design.size,
        windowFrom: design.size === null ? null : at % 3 === 0 ? "client" : "set",
        model: design.model,
        modelLabel: design.model === null ? null : labelOf(design.model),
        now: windowOf(
          `win_${agent.id.slice(4)}`,
          figures,
          family.exactness,
          Math.round(tokens * KEPT_OUT_PER_TOKEN),
          now,
        ),
        beside: [],
        burnPerMinute: burn,
        burnTooEarly: false,
        fullInMs: design.size === null ? null : Math.round((Math.max(0, design.size - tokens) / burn) * MINUTE),
        coming:
          rows === null
            ? design.coming.map((one) => ({
                id: `hdl_7f3k9q2${next++}`,
                server: "docs",
                tool: null,
                tokens: null,
                exactness: family.exactness,
                state: "working",
                phase: (one.state ?? "working") === "working" ? "running" : null,
                percent: null,
                ...one,
              }))
            : comingOf(agent, program, rows),
        limit: null,
      };
    });
  const used = (budget: BudgetDto) =>
    budget.windowTokens === null || budget.now === null ? -1 : budget.now.tokens / budget.windowTokens;
  return made.sort((one, other) => used(other) - used(one));
}

/** In UTC, as stories have it. */
const midnight = (now: number) => Math.floor(now / DAY) * DAY;

export function makeShown(budget: BudgetDto, now: number): BudgetShown {
  const { exactness } = budget.family;
  const roll = chance(budget.agent.length);
  const names = [
    "deploy_prod",
    "index_folder",
    "review_pull_request",
    "export_ledger",
    "render_site",
    "sync_labels",
    "check_links",
    "recall_memories",
    "compact_memories",
    "run_migrations",
    "nightly_import",
    "list_papers",
  ];
  let left = budget.now?.sources.find((part) => part.source === "tools")?.tokens ?? 0;
  const tools = names.map((tool, at) => {
    const tokens = at === names.length - 1 ? left : Math.floor(left * (0.2 + roll() * 0.15));
    left -= tokens;
    return { tool, tokens, exactness, passed: tokens };
  });
  return {
    budget,
    tools: budget.now === null ? [] : tools.sort((one, other) => other.tokens - one.tokens),
    earlier:
      budget.now === null
        ? []
        : [
            windowOf(
              "win_before",
              budget.now.sources.map((part) => Math.round(part.tokens * EARLIER_PART)),
              exactness,
              earlierFigures(budget.now).keptOut,
              now,
              {
                beganAt: iso(now - EARLIER_AGE_MS),
                lastAt: iso(now - WINDOW_AGE_MS - 40 * MINUTE),
                endedAt: iso(now - WINDOW_AGE_MS),
              },
            ),
          ],
    spentToday: parts(
      SOURCES.map((_, at) => {
        const tokens = budget.now?.sources[at]?.tokens ?? 0;
        return tokens + Math.round(tokens * EARLIER_PART);
      }),
      exactness,
    ),
    keptOutToday: spentBetween([budget], midnight(now), now, now).keptOut,
    keptOutExactness: exactness,
    waste: makeWaste().slice(0, 2),
  };
}

export function makeWaste(): WasteDto[] {
  const one = (server: string, looks: number, empty: number, more: Partial<WasteDto>): WasteDto => ({
    serverId: `srv_${server}`,
    server,
    looks,
    empty,
    hasty: 0,
    stalled: 0,
    lost: 0,
    unread: 0,
    disobeyed: 0,
    tokens: 0,
    exactness: "exact",
    advice: null,
    ...more,
  });
  return [
    one("warehouse", 1_912, 1_604, {
      hasty: 611,
      stalled: 2,
      lost: 1,
      unread: 3,
      disobeyed: 4,
      tokens: 37_800,
      exactness: "about",
      advice: "Let the agent wait with `tasks_wait` instead of polling again and again.",
    }),
    one("memory-box", 590, 188, {
      unread: 1,
      tokens: 3_340,
      advice: "The agent starts work whose results it never reads.",
    }),
    one("docs", 844, 96, {
      tokens: 1_902,
      advice: "Let the agent wait with `tasks_wait` instead of polling again and again.",
    }),
    // It was removed and added again since.
    one("docs", 12, 9, { serverId: "srv_docs_before", lost: 1, tokens: 1_400 }),
    one("ci-server", 211, 4, {
      stalled: 1,
      tokens: 1_080,
      exactness: "about",
      advice: "Answer sooner, or let the agent answer by a rule.",
    }),
  ];
}

/** What a made task costs; nothing for those that no agent started. */
export function makeTokens(row: Pick<TaskRow, "agent" | "resultBytes">, at: number): TokensDto | null {
  if (row.agent === null) return null;
  const result = row.resultBytes === null ? null : Math.ceil(row.resultBytes / 4);
  const family = at % 3 === 0 ? FAMILIES.o200k : FAMILIES.claude47;
  return {
    handle: 240 + (at % 9) * 130,
    keptOut: (at * 791) % 4_000,
    result,
    inWindow: result,
    inWindowExactness: family.exactness,
    // Some results are not read yet.
    delivered: at % 4 === 1 ? 0 : (result ?? 0),
    arguments: 40 + (at % 7) * 31,
    family: family.id,
    exactness: family.exactness,
  };
}
