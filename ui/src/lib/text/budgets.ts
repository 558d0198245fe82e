/* Text about tokens, windows, spend and waste. What a window holds now and what was spent are never called the same. */
import type { ProgramDto, ShownPartDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import type { AtLimitDto, ExactnessDto, FamilyDto, SizeFromDto } from "$lib/bindings";
import { count, plural } from "$lib/format/count";
import type { ShownSource } from "$lib/format/tokens";

/** By the core's name; a newer one is shown by that name. */
const FAMILIES: Readonly<Record<string, string>> = {
  o200k: "GPT o200k",
  cl100k: "GPT cl100k",
  claude3: "Claude 3 to 4.6",
  claude47: "Claude 4.7 and later",
  gemini: "Gemini",
  llama: "Llama",
  unknown: "unknown model",
};
export const familyLabel = (id: string): string =>
  Object.hasOwn(FAMILIES, id) ? (FAMILIES[id] ?? id) : singleLine(id, FAMILY_CAP);
const FAMILY_CAP = 40;
const AGENT_CAP = 60;

export const exactnessWords: Readonly<Record<ExactnessDto, string>> = {
  exact: "exact",
  about: "estimate",
  atMost: "upper bound",
};

/** "GPT o200k · exact", "Claude 4.7 and later · ≈ ±4 %", "unknown model · ≤". */
export function familyWords(family: FamilyDto): string {
  const how =
    family.exactness === "exact"
      ? "exact"
      : family.exactness === "atMost"
        ? "≤"
        : family.errorPercent > 0
          ? `≈\u00A0±${count(family.errorPercent)}\u00A0%`
          : "≈";
  return `${singleLine(family.label, FAMILY_CAP)} · ${how}`;
}

export const sourceWords: Readonly<Record<ShownSource, string>> = {
  tools: "Tool definitions",
  arguments: "Arguments",
  results: "Results",
  handles: "Handles and polls",
  prompts: "Prompts and resources",
};

const gaugeOf = (isLimit: boolean) => (isLimit ? "of its limit" : "of its window");

export const budgetsText = {
  title: "Budgets",
  agents: (n: number) => plural(n, "agent"),
  views: { label: "View", now: "In windows now", spent: "Spent today" },
  limits: "Limits…",
  keys: {
    next: "Next agent",
    previous: "Previous agent",
    now: "Show what windows hold now",
    spent: "Show what was spent today",
    limits: "Token limits",
  },
  loading: "Loading the budgets",
  loadFailed: "The budgets could not be loaded",
  failed: (what: string) => `${what} could not be loaded`,
  last: (when: string) => `Figures as of ${when}.`,
  again: "Try again",
  untold: (when: string) => `Found by name; figures from ${when}.`,
  stale: "as of",
  empty: {
    title: "No agent yet",
    unused: "No agent has filled a window yet",
    gone: "No agent has access now",
    show: "Show agents",
    body: "When an agent connects through Taskwarden, this page shows what fills its context window.",
    add: "Add an agent",
  },

  windows: {
    title: "What fills each window",
    marks: "no mark: exact · ≈ estimate with known error · ≤ upper bound",
    list: "Windows of agents",
    columns: {
      agent: "Agent, tokenizer",
      share: "Share of its window",
      now: "In the window",
      kept: "Kept out by tasks",
      burn: "Burn",
    },
    of: (size: string) => `of ${size}`,
    limit: (limit: string) => `limit ${limit}`,
    sizeUnknown: "size unknown",
    unknown: "The size of its window is not known.",
    set: "Set it",
    nothing: "Nothing seen yet",
    burn: (rate: string) => `${rate}/min`,
    toLimit: (length: string) => `${length} to limit`,
    full: "full",
    atLimit: "at its limit",
    fullTimes: (times: number, since: string) =>
      `full at least ${times === 1 ? "once" : `${count(times)} times`} since ${since}`,
    timesShort: (times: number) => (times === 1 ? "full, once or more" : `full, ${count(times)} times or more`),
    tooEarly: "not enough data yet",
    passed: (figure: string) => `${figure} passed to its program`,
    quiet: "quiet",
    label: (agent: string, now: string, size: string | null, limit: string | null) =>
      `${agent}: ${now} ${size === null ? "in a window of unknown size" : `of ${size}`}${limit === null ? "" : `, limit ${limit}`}`,
    sortAgain: "Sort again",
    sortWhy: "The order has changed. Rows keep their places until you sort again.",
    search: "Find an agent",
    noMatch: (typed: string) => `No agent matches “${typed}”`,
    clear: "Show all",
    more: (n: number) =>
      `${plural(n, "more agent is", "more agents are")} not shown; find them by name. The list shows those nearest to their limit.`,
    found: (n: number) => `${plural(n, "agent")} found`,
    soon: "Pending",
    unseen: "Not seen here",
    unseenWhy:
      "Taskwarden cannot count what does not pass through it: the system prompt, the conversation, the program's own tools.",
    free: "Free at most",
  },

  source: {
    title: (agent: string) => `${agent} by source`,
    columns: {
      source: "Source",
      tokens: "Tokens",
      of: (size: string) => `Of ${size}`,
      ofWindow: "Of what is counted",
      passed: "Passed",
    },
    passedWhy: "Passed: sent to the program. In the window: the part of it that the program shows its model.",
    fullWhy:
      "its program compacted it or started new conversations. The figures by source cover everything since then.",
    own: "including Taskwarden’s own",
    unseen: "Not seen here",
    noFigure: "no figure",
    sum: "In the window",
    kept: "Kept out by its tasks",
    burn: "Burn",
    limit: "Limit",
    nothing: "Nothing has passed through Taskwarden yet.",
    since: (when: string) => `since ${when}`,
  },

  pending: {
    title: "Pending results",
    note: (agent: string, free: string) => `before ${agent} reads it · at most ${free} free`,
    noteUnknown: (agent: string) => `before ${agent} reads it`,
    none: "No results are pending.",
    columns: { of: "Result of", tokens: "Tokens", state: "State" },
    unknown: "not known",
    aTask: "a task",
    held: "Held",
    heldOver: "Held: does not fit",
    slices: "Read in slices",
    working: (phase: string, percent: number | null) => (percent === null ? phase : `${phase}, ${percent} %`),
    ready: "Ready to be read",
    more: (n: number) => `Show ${count(n)} more`,
  },

  tools: {
    title: "What each tool costs",
    note: "its definition, in every window",
    columns: { tool: "Tool", tokens: "Tokens", share: "Of the definitions" },
    none: "It has not listed any tools yet.",
    more: (n: number) => `Show ${count(n)} more`,
  },

  others: {
    title: "Other windows",
    note: "open in parallel, and emptied",
    columns: { window: "Window", tokens: "Tokens", kept: "Kept out" },
    beside: (when: string) => `Open in parallel, last used ${when}`,
    earlier: (when: string) => `Emptied ${when}`,
    none: "There are no other windows.",
    empty: "Empty the window…",
    emptyTitle: (agent: string) => `Empty the window of ${agent}?`,
    emptyWhat:
      "Its content is counted as gone, as after a new conversation. The tool definitions are counted again in the new window. Nothing is sent to the agent.",
    emptyUnread: "Results that were ready and never read are counted as waste.",
    emptyDo: "Empty the window",
    keep: "Keep it",
    emptied: (agent: string) => `The window of ${agent} was emptied; it holds only the tool definitions.`,
  },

  counted: {
    title: "How it is counted",
    program: "Program",
    programNote: "Determines what its model sees of a result",
    programNone: "as it reports itself",
    model: "Model",
    modelNote: "Sets tokenizer and window",
    modelNone: "not set",
    modelIs: (name: string, size: string) => `${name}, ${size}`,
    family: "Tokenizer",
    familyNone: "from its model or program",
    window: "Window",
    windowUnit: "tokens",
    windowNone: "from its model",
    windowUnknown: "Not known: its model is not known.",
    from: { set: "set by a person", model: "from its model", client: "from the name of its program" } satisfies Record<
      SizeFromDto,
      string
    >,
    bad: "Enter a whole number of tokens, such as 200,000 or 200k.",
    save: "Save",
    saved: (agent: string) => `Saved. ${agent} is counted this way from now on.`,
    choicesFailed: "The models and tokenizers could not be loaded.",
  },

  waste: {
    title: "Waste by server",
    note: "last 24 hours",
    columns: {
      server: "Server",
      looks: "Polls",
      empty: "Nothing new",
      share: "Share",
      hasty: "Too soon",
      stalled: "Stalled questions",
      lost: "Lost tasks",
      unread: "Never read",
      disobeyed: "Not obeyed",
      tokens: "Tokens wasted",
    },
    none: "Nothing was wasted.",
    what: "Waste",
  },

  spent: {
    title: "Spent",
    note: "totals over time, not what a window holds",
    whose: "Whose",
    all: "All agents",
    revoked: (name: string) => `${name}, revoked`,
    bySource: (who: string) => `${who}, last 24 hours`,
    columns: { source: "Source", tokens: "Tokens", share: "Share" },
    sum: "Spent",
    kept: "Kept out by tasks",
    messages: "Messages",
    families: (n: number) => `Counted with ${count(n)} tokenizers: the total shows spend, not a size to compare.`,
    nothing: "Nothing was spent in this period.",
    what: "Spend",
  },

  history: {
    title: "Over time",
    what: (span: string) => `The history of ${span}`,
    spans: { label: "Period", day: "24 hours", week: "7 days", month: "30 days" },
    steps: { day: "by the hour", week: "by six hours", month: "by the day" },
    late: (minutes: number, span: "week" | "month") =>
      `Totals are stored by UTC hour, which starts at ${minutes} past the hour here: the first ${minutes} minutes of each ${span === "week" ? "part of a day" : "day"} are counted with the one before.`,
    chart: (who: string, span: string) => `Tokens received for ${who}, ${span}. The table beside it lists the figures.`,
    table: "Figures of the chart",
    columns: { at: "From", tokens: "Received", kept: "Kept out", messages: "Messages" },
    export: "Export CSV",
    exportFailed: "The figures could not be saved",
    most: (figure: string) => `${figure} at most`,
    nothing: "Nothing was received in this period.",
  },

  limit: {
    title: "Token limits",
    about: "A tool’s limit overrides its server’s, which overrides the agent’s. Only agents have a window limit.",
    for: "For",
    kinds: { agent: "Agent", server: "Server", tool: "Tool" },
    agent: "Agent",
    server: "Server",
    tool: "Tool",
    toolHint: "Its name at the server",
    noTool: "Name the tool to set its limits.",
    set: "Limits in force",
    none: "No limits are set.",
    noAgent: "There are no agents yet.",
    noServer: "There are no servers yet.",
    more: (n: number) => `Show ${count(n)} more`,
    done: "Done",
    unsaved: (whose: readonly string[]) =>
      `What you typed for ${whose[0] ?? ""}${whose.length > 1 ? ` and ${count(whose.length - 1)} more` : ""} is not saved.`,
    drop: "Discard",
    back: "Keep editing",
    edit: (what: string) => `Change the limits of ${what}`,
  },

  rule: {
    heading: "Token limits",
    cut: "Hold results that the program would cut",
    cutNote: "The agent reads them in slices. A limit for one result replaces this.",
    result: "One result",
    task: "One task",
    window: "The window",
    resultHint: "Tokens one result may add",
    taskHint: "Tokens of everything it sends and returns",
    windowHint: "Tokens it may hold",
    unit: "tokens",
    none: "no limit",
    at: (what: string) => `${what}: action above the limit`,
    then: {
      warn: "notify people",
      ask: "ask a person",
      hold: "hold it, deliver in slices",
      stop: "cancel the task",
    } satisfies Record<AtLimitDto, string>,
    bad: "Enter a whole number of tokens, such as 20,000 or 20k. Leave it empty for no limit.",
    said: {
      result: (n: string) => `results over ${n}`,
      task: (n: string) => `tasks over ${n}`,
      window: (n: string) => `windows over ${n}`,
    },
  },

  task: {
    title: "Tokens",
    note: (family: string, how: string) => `${family}, ${how}`,
    arguments: "Arguments",
    handle: "Handle and polls",
    kept: "Kept out of the window so far",
    result: "Result, as passed",
    inWindow: "In the window, if read whole",
    delivered: "Read by the agent",
    none: "no result yet",
    noResult: "no result",
    over: (tokens: string, limit: string) => `${tokens} tokens, above its limit of ${limit}.`,
    settled: (who: string) => `${who} let it continue.`,
    cell: (cost: string, family: string, how: string) => `${cost} in the window or pending (${family}, ${how})`,
    viewer: (figure: string, how: string, family: string) => `${figure} tokens, ${how}, ${family}`,
  },

  gauge: {
    list: "Windows nearest to their limit",
    label: (agent: string, percent: string, isLimit: boolean) =>
      `${singleLine(agent, AGENT_CAP)} fills ${percent} ${gaugeOf(isLimit)}`,
    of: gaugeOf,
    noSize: "size not known",
  },

  status: {
    rate: (figure: string) => `${figure} tokens/min into windows`,
    some: (n: number) => `of the ${count(n)} agents nearest to their limit`,
    counted: (families: readonly string[]) =>
      `counted in ${families.map((one) => singleLine(one, FAMILY_CAP)).join(", ")}`,
  },
} as const;

const NAME_CAP = 40;

const PARTS: Readonly<Record<ShownPartDto, string | null>> = {
  both: null,
  structuredFirst: "the structured content where there is one, otherwise the text",
  content: "the text only",
};

/** Sentences, in the order they are read. */
export function programWords(program: ProgramDto): readonly string[] {
  const label = singleLine(program.label, NAME_CAP);
  const measured = program.version === "" ? "" : `, as measured with ${singleLine(program.version, NAME_CAP)}`;
  const part = PARTS[program.shows];
  const most = program.resultTokens === null ? null : count(program.resultTokens);
  const cut =
    most === null || program.longResult === "whole"
      ? ""
      : program.longResult === "cut"
        ? `, cut somewhere above ${most} tokens`
        : `; above ${most} tokens the name of a file`;
  return [
    ...(program.from === "set" ? [`The program is ${label}${measured}.`] : []),
    ...(program.from === "client"
      ? [
          `The program identifies itself as ${label}${measured}. Until you confirm it below, limits use the larger figure.`,
        ]
      : []),
    ...(program.from === "nobody"
      ? ["The program is not known, so everything passed to it is counted. You can set it below."]
      : []),
    ...(part === null ? [] : [`Of each result its model sees ${part}${cut}.`]),
    ...(most === null
      ? []
      : [
          program.holdsCut
            ? `${label} is sure to show its model ${most} tokens of one result. Longer results are held and read in slices.`
            : `Longer results are passed on, and ${label} cuts them.`,
        ]),
    `Only the program knows when it compacts and how long its own prompt is${program.toolsSearched ? ", and which tool definitions its model searched for" : ""}.`,
  ];
}
