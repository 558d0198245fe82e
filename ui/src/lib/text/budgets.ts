/* Words of tokens, windows, spend and waste. What stands in a window now and what was spent are never one word. */
import type { ProgramDto, ShownPartDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import type { AtLimitDto, ExactnessDto, FamilyDto, SizeFromDto } from "$lib/bindings";
import { count, plural } from "$lib/format/count";
import type { ShownSource } from "$lib/format/tokens";

/** As the core calls them; one that it learned since is shown by its word. */
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
  views: { label: "What is shown", now: "In windows now", spent: "Spent today" },
  limits: "Limits…",
  keys: {
    next: "Next agent",
    previous: "Previous agent",
    now: "Show what stands in windows now",
    spent: "Show what was spent today",
    limits: "Limits of tokens",
  },
  loading: "Loading the budgets",
  loadFailed: "The budgets cannot be read",
  failed: (what: string) => `${what} cannot be read now`,
  last: (when: string) => `Figures as of ${when}.`,
  again: "Try again",
  untold: (when: string) => `Found by its name: read ${when}.`,
  stale: "as of",
  empty: {
    title: "No agent yet",
    unused: "No agent has filled a window yet",
    gone: "No agent has access now",
    show: "Show agents",
    body: "When an agent connects through Taskwarden, what fills its window stands here.",
    add: "Add an agent",
  },

  windows: {
    title: "What fills each window",
    marks: "no mark: counted exactly · ≈ measured error · ≤ upper bound",
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
    unknown: "The size of its window is not known, so there is no share.",
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
    sortWhy: "Others are nearer to their limit now. Rows stay where they are until you sort them.",
    search: "Find an agent",
    noMatch: (typed: string) => `No agent is called “${typed}”`,
    clear: "Show all again",
    more: (n: number) =>
      `${plural(n, "more agent is", "more agents are")} not shown: find them by name. Those nearest to their limit stand here.`,
    found: (n: number) => `${plural(n, "agent")} found`,
    soon: "About to come in",
    unseen: "Not seen here",
    unseenWhy:
      "What does not pass through Taskwarden has no figure: the system prompt, the conversation, tools of the program itself.",
    free: "Free, at most",
  },

  source: {
    title: (agent: string) => `${agent} by source`,
    columns: {
      source: "Source",
      tokens: "Tokens",
      of: (size: string) => `Of ${size}`,
      ofWindow: "Of what is seen",
      passed: "Passed",
    },
    passedWhy: "Passed is what went to the program; in the window is what the program shows its model of it.",
    fullWhy:
      "its program compacted it, or these are new conversations. The figures by source are of all that came in since then.",
    own: "of these, Taskwarden’s own",
    unseen: "Not seen here",
    noFigure: "no figure",
    sum: "In the window",
    kept: "Kept out by its tasks",
    burn: "Burn",
    limit: "Limit",
    nothing: "Nothing of it passed through here yet.",
    since: (when: string) => `since ${when}`,
  },

  pending: {
    title: "About to come in",
    note: (agent: string, free: string) => `before ${agent} reads it · at most ${free} free`,
    noteUnknown: (agent: string) => `before ${agent} reads it`,
    none: "Nothing waits to come in.",
    columns: { of: "Result of", tokens: "Tokens", state: "State" },
    unknown: "not known",
    aTask: "a task",
    held: "Held",
    heldOver: "Held: does not fit",
    slices: "Read in slices",
    working: (phase: string, percent: number | null) => (percent === null ? phase : `${phase}, ${percent} %`),
    ready: "Arrives at next read",
    more: (n: number) => `Show ${count(n)} more`,
  },

  tools: {
    title: "What each tool costs",
    note: "its definition, in every window",
    columns: { tool: "Tool", tokens: "Tokens", share: "Of the definitions" },
    none: "No tool was listed to it yet.",
    more: (n: number) => `Show ${count(n)} more`,
  },

  others: {
    title: "Other windows",
    note: "beside this one, and emptied",
    columns: { window: "Window", tokens: "Tokens", kept: "Kept out" },
    beside: (when: string) => `Open beside it, last ${when}`,
    earlier: (when: string) => `Emptied ${when}`,
    none: "There is no other one.",
    empty: "Empty the window…",
    emptyTitle: (agent: string) => `Empty the window of ${agent}?`,
    emptyWhat:
      "What stands in it counts as gone, as after a new conversation. The definitions of its tools stand in the next one again, and count as spent again. Nothing is sent to the agent.",
    emptyUnread: "Results that were ready and never read count as waste.",
    emptyDo: "Empty the window",
    keep: "Keep it",
    emptied: (agent: string) =>
      `The window of ${agent} is a new one now: only the definitions of its tools stand in it.`,
  },

  counted: {
    title: "How it is counted",
    program: "Program",
    programNote: "Says what its model sees of what is passed",
    programNone: "as it calls itself",
    model: "Model",
    modelNote: "Sets tokenizer and window",
    modelNone: "not set",
    modelIs: (name: string, size: string) => `${name}, ${size}`,
    family: "Tokenizer",
    familyNone: "as its model or program says",
    window: "Window",
    windowUnit: "tokens",
    windowNone: "as its model says",
    windowUnknown: "Not known: nothing says which model it runs.",
    from: { set: "set by a person", model: "from its model", client: "from the name of its program" } satisfies Record<
      SizeFromDto,
      string
    >,
    bad: "Give a whole number of tokens, such as 200,000 or 200k.",
    save: "Save",
    saved: (agent: string) => `${agent} is counted anew from here on.`,
    choicesFailed: "The models and tokenizers cannot be listed now.",
  },

  waste: {
    title: "Waste by server",
    note: "last 24 hours",
    columns: {
      server: "Server",
      looks: "Looks",
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
    note: "sums over time, not what stands in a window",
    whose: "Whose",
    all: "All agents",
    revoked: (name: string) => `${name}, without access`,
    bySource: (who: string) => `${who}, last 24 hours`,
    columns: { source: "Source", tokens: "Tokens", share: "Share" },
    sum: "Spent",
    kept: "Kept out by tasks",
    messages: "Messages",
    families: (n: number) => `Counted in ${count(n)} tokenizers: the sum says what was spent, not a size to compare.`,
    nothing: "Nothing was spent in this time.",
    what: "What was spent",
  },

  history: {
    title: "Over time",
    what: (span: string) => `What came in over ${span}`,
    spans: { label: "How far back", day: "24 hours", week: "7 days", month: "30 days" },
    steps: { day: "by the hour", week: "by six hours", month: "by the day" },
    late: (minutes: number, span: "week" | "month") =>
      `Sums are stored by whole hours of UTC, which begin at ${minutes} past the hour here: the first ${minutes} minutes of ${span === "week" ? "a part of a day" : "a day"} are with what was before.`,
    chart: (who: string, span: string) =>
      `Tokens that came in for ${who}, ${span}. The table beside it has the figures.`,
    table: "Figures of the chart",
    columns: { at: "From", tokens: "Came in", kept: "Kept out", messages: "Messages" },
    export: "Export CSV",
    exportFailed: "The figures could not be saved",
    most: (figure: string) => `${figure} at most`,
    nothing: "Nothing flowed in this time.",
  },

  limit: {
    title: "Limits of tokens",
    about:
      "A limit for a tool beats one for its server, and that one beats the agent’s. What stands in a window is limited for agents alone.",
    for: "For",
    kinds: { agent: "Agent", server: "Server", tool: "Tool" },
    agent: "Agent",
    server: "Server",
    tool: "Tool",
    toolHint: "Its name at the server",
    noTool: "Name the tool to set its limits.",
    set: "Limits that are set",
    none: "No limit is set yet.",
    noAgent: "There is no agent yet.",
    noServer: "There is no server yet.",
    more: (n: number) => `Show ${count(n)} more`,
    done: "Done",
    unsaved: (whose: readonly string[]) =>
      `What you typed for ${whose[0] ?? ""}${whose.length > 1 ? ` and ${count(whose.length - 1)} more` : ""} is not saved.`,
    drop: "Drop it",
    back: "Go on typing",
    edit: (what: string) => `Change the limits of ${what}`,
  },

  rule: {
    heading: "Limits of tokens",
    cut: "Hold results that the program would cut",
    cutNote: "The agent reads them in slices. A limit of one result counts in its place.",
    result: "One result",
    task: "One task",
    window: "The window",
    resultHint: "What one result may bring in",
    taskHint: "All that it says and brings",
    windowHint: "What may stand in it",
    unit: "tokens",
    none: "no limit",
    at: (what: string) => `${what}: what happens with more`,
    then: {
      warn: "tell people",
      ask: "ask a person",
      hold: "hold it, give slices",
      stop: "stop the task",
    } satisfies Record<AtLimitDto, string>,
    bad: "Give a whole number of tokens, such as 20,000 or 20k. Empty means no limit.",
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
    handle: "Handle and looks",
    kept: "Not in the window so far",
    result: "Result, as passed",
    inWindow: "Of it in the window, read whole",
    delivered: "Of it, read by the agent",
    none: "no result yet",
    noResult: "no result",
    over: (tokens: string, limit: string) => `${tokens} tokens, past its limit of ${limit}.`,
    settled: (who: string) => `${who} let it go on.`,
    cell: (cost: string, family: string, how: string) => `${cost} in or about to come in (${family}, ${how})`,
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
      ? [`The program calls itself ${label}${measured}. Until you confirm it below, limits count the larger figure.`]
      : []),
    ...(program.from === "nobody"
      ? ["The program is not known: all that is passed counts. You can name it below."]
      : []),
    ...(part === null ? [] : [`Of a result its model sees ${part}${cut}.`]),
    ...(most === null
      ? []
      : [
          program.holdsCut
            ? `Results above the ${most} tokens that ${label} surely shows its model are held and read in slices.`
            : `Longer results are passed, and ${label} cuts them.`,
        ]),
    `Only the program knows when it compacted and what its own prompt takes${program.toolsSearched ? ", and which tool definitions its model searched for" : ""}.`,
  ];
}
