/* The screen of budgets in every state. */
import type { ApiError, BudgetDto, RuleDto } from "$lib/bindings";
import type { FakeOptions } from "$lib/fake-core/backend";
import { makeShown } from "$lib/fake-core/budgets";
import { makeChart } from "$lib/fake-core/budget-calls";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import Budgets from "./Budgets.svelte";
import * as made from "./budgets.example";

const failed: ApiError = { code: "failed", message: "the registry is full", hint: "Free some space on the disk." };
const throwing = (): never => {
  throw failed;
};
const five: FakeOptions = {};
const priced: FakeOptions = { ...five, prices: [...made.PRICES] };
const screen = (
  fake: FakeOptions = five,
  more: { hash?: string; keys?: readonly string[]; click?: readonly string[] } = {},
) => story(Budgets, {}, { hash: "#/budgets", fake, ...more });
const one = (budget: BudgetDto, more: FakeOptions = {}): FakeOptions => ({
  agents: [made.agentOf(budget)],
  budgets: [budget],
  ...more,
});
const rules: RuleDto[] = [
  {
    scope: { kind: "agent", agent: "agt_research-7" },
    resultLimit: { tokens: 20_000, at: "hold" },
    windowLimit: { tokens: 160_000, at: "ask" },
  },
  { scope: { kind: "server", server: "warehouse" }, taskLimit: { tokens: 60_000, at: "stop" } },
  { scope: { kind: "tool", server: "docs", tool: "index_folder" }, resultLimit: { tokens: 50_000, at: "warn" } },
];
const LIMITS = [".head button >> text=Limits"];
const PRICES = [".head button >> text=Prices"];
const COUNTING = ["text=Counting…"];

export default {
  title: "budgets",
  stories: {
    designed: screen(priced),
    "no prices": screen(),
    "as a table": screen(priced, { click: ["text=Table"] }),
    "a week": screen(priced, { click: ["text=7 d"] }),
    "a month": screen(priced, { click: ["text=30 d"] }),
    "a part of the chart": screen(priced, { click: [".chart"] }),
    "nothing over time": screen({
      ...five,
      calls: { "budgets.chart": ({ starts }) => makeChart(starts, STORY_NOW, []) },
    }),
    prices: screen(priced, { click: PRICES }),
    "prices, none set": screen(five, { click: PRICES }),
    "prices, to correct": screen(five, {
      click: [...PRICES, "[role=dialog] input >> nth=0"],
      keys: ["m", "a", "n", "y", "Enter"],
    }),
    "prices, cannot be read": screen({ ...five, calls: { "budgets.prices": throwing } }, { click: PRICES }),
    "how it is counted": screen(priced, { click: COUNTING }),
    none: screen({ agents: 0 }),
    "none, agents unused": screen({ agents: made.agents(3), budgets: [] }),
    one: screen(one(made.aBudget())),
    thirty: screen({ agents: made.agents(30), budgets: made.budgets(30) }),
    "ten thousand": () => screen({ agents: made.agents(10_000), budgets: made.budgets(10_000) }),
    "ten thousand, found": () =>
      screen({ agents: made.agents(10_000), budgets: made.budgets(10_000) }, { keys: ["/", "9", "9", "9", "7"] }),
    "ten thousand, no match": () =>
      screen({ agents: made.agents(10_000), budgets: made.budgets(10_000) }, { keys: ["/", "q", "q"] }),
    "size unknown": screen(one(made.UNKNOWN_SIZE)),
    "nothing seen": screen(one(made.UNSEEN)),
    overfull: screen(one(made.OVERFULL)),
    "cut by its program": screen(one(made.CUT)),
    "an estimate": screen(five, { hash: "#/budgets/agt_claude-code" }),
    "an upper bound": screen(five, { hash: "#/budgets/agt_nightly-ops" }),
    "a limit of the window": screen(one(made.LIMITED)),
    "past a limit of the window": screen(one(made.PAST_LIMIT)),
    "a limit, size unknown": screen(one(made.LIMIT_ALONE)),
    "windows beside": screen(one(made.BESIDE)),
    hostile: screen(
      one(made.HOSTILE, {
        calls: {
          "budgets.show": () => ({
            ...makeShown(made.HOSTILE, STORY_NOW),
            tools: Array.from({ length: 500 }, (_, at) => ({
              tool: `‮<b>${"w".repeat(4_000)}${at}`,
              tokens: Number.MAX_SAFE_INTEGER,
              exactness: "about" as const,
              passed: 1,
            })),
          }),
        },
      }),
    ),
    "emptying the window": screen(five, { click: ["text=Empty the window"] }),
    "the window emptied": screen(five, {
      click: ["text=Empty the window", "[role=dialog] button[data-variant=danger]"],
    }),
    "letting in what does not fit": screen(five, { click: ["[role=group] button >> text=Deliver whole…"] }),
    trimming: screen(five, { click: ["[role=group] button >> text=Trim…"] }),
    "not delivering": screen(five, { click: ["[role=group] button >> text=Do not deliver…"] }),
    "window to correct": screen(one(made.UNKNOWN_SIZE), {
      click: [...COUNTING, "#counted input"],
      keys: ["l", "o", "t", "s", "Enter"],
    }),
    limits: screen({ ...five, rules }, { click: LIMITS }),
    "limits, none set": screen(five, { click: LIMITS }),
    "limits, to correct": screen(five, {
      click: [...LIMITS, "[role=dialog] input[placeholder='no limit'] >> nth=0"],
      keys: ["m", "a", "n", "y", "Enter"],
    }),
    "limits, not saved": screen(five, {
      click: [...LIMITS, "[role=dialog] input[placeholder='no limit'] >> nth=0"],
      keys: ["2", "0", "k", "Escape"],
    }),
    "limits of a tool": screen({ ...five, rules }, { click: [...LIMITS, "[role=dialog] li:last-child button"] }),
    "nobody has access": screen({
      agents: made.agents(2).map((agent) => ({ ...agent, revokedAt: agent.createdAt })),
      budgets: [],
    }),
    "figures cannot be read": screen({
      ...five,
      calls: { "budgets.chart": throwing, "budgets.today": throwing, "budgets.waste": throwing },
    }),
    "one cannot be read": screen({
      ...five,
      calls: { "budgets.show": throwing, "budgets.choices": throwing, "budgets.waste": throwing },
    }),
    loading: screen({ connection: "connecting" }),
    error: screen({ connection: "lost" }),
    stale: screen({ ...five, connection: "stale" }),
  },
} satisfies StoryFile;
