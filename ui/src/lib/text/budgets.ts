/* Text about tokens, windows, spend and waste. What a window holds now and what was spent are never called the same. */
import type { ProgramDto, ShownPartDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import type { AtLimitDto, ComingState, ExactnessDto, FamilyDto, LongResultDto, SizeFromDto } from "$lib/bindings";
import { count, listed, plural } from "$lib/format/count";
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
  handles: "Task notices",
  prompts: "Prompts and resources",
};

const gaugeOf = (isLimit: boolean) => (isLimit ? "of its limit" : "of its window");

export const budgetsText = {
  title: "Budgets",
  agents: (n: number) => plural(n, "agent"),
  limits: "Limits…",
  openPrices: "Prices…",
  today: "The figures of today",
  costsOnce:
    "Costs count each token once, when it comes in; programs send their window to the model again with every turn.",
  keys: {
    next: "Next agent",
    previous: "Previous agent",
    limits: "Token limits",
    prices: "Prices of models",
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
    add: "Connect an agent",
  },

  summary: {
    label: "Today in short",
    kept: (figure: string, percent: number) =>
      `Tasks kept ${plural(figure, "token")} out of your agents’ windows today (${percent}\u00A0%).`,
    noneKept: "Tasks kept no tokens out of your agents’ windows today.",
    nothing: "Nothing came into your agents’ windows today.",
    isAt: (agent: string, percent: string, isLimit: boolean) =>
      `${agent} is at ${percent}${isLimit ? " of its limit" : ""}.`,
    wasFull: (agent: string, times: number, since: string) =>
      `${agent} has filled at least ${plural(times, "window")} since ${since}.`,
    came: (figure: string) => `${figure} came in since midnight.`,
    cameInstead: (figure: string, without: string) =>
      `${figure} came in since midnight; without tasks it would have been ${without}.`,
    result: {
      held: (figure: string) => `a held result of ${figure}`,
      slices: (figure: string) => `a result of ${figure}, read in parts,`,
      ready: (figure: string) => `a result of ${figure}`,
      working: (figure: string) => `an expected result of ${figure}`,
    } satisfies Record<ComingState, (figure: string) => string>,
    next: (agent: string, result: string, share: string) =>
      `Next to fill up is ${agent}: ${result} would take it to ${share}.`,
    nextOver: (agent: string, result: string) => `Next to fill up is ${agent}: ${result} would not fit.`,
    soon: (agent: string, length: string) => `At its present rate ${agent} is full in ${length}.`,
    cost: (sums: readonly string[]) => `Today cost ${listed(sums)}`,
    without: (names: readonly string[], all: number) =>
      `, without ${listed(all > names.length ? [...names, plural(all - names.length, "more agent")] : names)}: no price is set for ${all === 1 ? "its model" : "their models"}.`,
  },

  windows: {
    title: "Windows of agents",
    marks: "No mark: counted exactly. ≈ estimate with a measured error. ≤ upper bound.",
    outside:
      "The system prompt, the conversation and the program’s own tools do not pass through Taskwarden and are not in these figures.",
    list: "Windows of agents",
    columns: {
      agent: "Agent, model",
      now: "In the window",
      passed: "Passed to program",
      kept: "Kept out today",
      cost: "Cost today",
    },
    hundred: "100 %",
    of: (size: string) => `of ${size}`,
    ofSize: (figure: string, size: string) => `${figure} of ${size}`,
    ofLimit: (figure: string, limit: string) => `${figure}, limit ${limit}`,
    limit: (limit: string) => `limit ${limit}`,
    sizeUnknown: "size unknown",
    unknown: "The size of its window is not known.",
    set: "Set it",
    modelUnset: "model not set",
    setModel: "Set its model",
    setPrice: "Set a price",
    nothing: "Nothing counted yet",
    rate: (figure: string) => `${figure}/min`,
    toLimit: (length: string) => `${length} to limit`,
    full: "Full",
    atLimit: "at its limit",
    fullTimes: (times: number, since: string) => `at least ${plural(times, "window")} since ${since}`,
    timesShort: (times: number) => `at least ${plural(times, "window")}`,
    tooEarly: "not enough data yet",
    passed: (figure: string) => `${figure} passed to its program`,
    cut: {
      whole: () => null,
      file: (figure: string) => `${figure} stay in files`,
      cut: (figure: string, program: string) => `${figure} cut by ${program}`,
    } satisfies Record<LongResultDto, (figure: string, program: string) => string | null>,
    quiet: "quiet",
    label: (agent: string, now: string, size: string | null, limit: string | null) =>
      `${agent}: ${now} ${size === null ? "in a window of unknown size" : `of ${size}`}${limit === null ? "" : `, limit ${limit}`}`,
    search: "Find an agent",
    noMatch: (typed: string) => `No agent matches “${typed}”`,
    clear: "Show all",
    more: (n: number) =>
      `${plural(n, "more agent is", "more agents are")} not listed; find them by name. Sums include them.`,
    found: (n: number) => `${plural(n, "agent")} found`,
    soon: "About to come in",
    warn: "Your warning",
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
      "its program shortened it or started new conversations. The figures by source cover everything since then.",
    own: "including Taskwarden’s own",
    sum: "In the window",
    kept: "Kept out by its tasks",
    rate: "Rate",
    limit: "Limit",
    nothing: "Nothing has passed through Taskwarden yet.",
    since: (when: string) => `since ${when}`,
  },

  pending: {
    title: "About to come in",
    note: "before an agent reads it",
    none: "No result is on its way to an agent.",
    unknown: "not known",
    unmeasured: "No result of this tool was counted yet.",
    aTask: "a task",
    fromTo: (server: string, agent: string) => `${server} to ${agent}`,
    why: {
      held: "Waits for your decision",
      slices: "The agent reads the parts it asks for",
      ready: "Comes in with its next read",
      working: "At most, as usual for this tool",
    } satisfies Record<ComingState, string>,
    held: "Done, result held",
    heldOver: "Done, does not fit",
    slices: "Read in parts",
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
    note: "open in parallel or emptied",
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
    titleOf: (agent: string) => `How ${agent} is counted`,
    open: "Counting…",
    program: "Program",
    programNote: "Determines what its model sees of a result",
    programNone: "as it reports itself",
    model: "Model",
    modelNote: "Sets the window, and how tokens are counted",
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
    choicesFailed: "The models could not be loaded.",
  },

  waste: {
    title: "Waste by server",
    note: "last 24 hours",
    columns: {
      server: "Server",
      looks: "Checks",
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

  history: {
    title: "Tokens over time",
    what: (span: string) => `The history of ${span}`,
    whose: "Whose tokens",
    all: "All agents",
    revoked: (name: string) => `${name}, revoked`,
    today: "today",
    spans: { label: "Period", day: "24 h", week: "7 d", month: "30 d" },
    steps: { day: "Tokens per hour", week: "Tokens per six hours", month: "Tokens per day" },
    late: (minutes: number) =>
      `Hours are stored in UTC, and begin ${plural(minutes, "minute")} past the hour here: the first ${plural(minutes, "minute counts", "minutes of a day count")} with the day before.`,
    chart: (who: string, span: string) => `Tokens of ${singleLine(who, AGENT_CAP)}, ${span}`,
    walk: "Use the arrow keys to read each bar.",
    spoken: (came: string, kept: string) => `${came} came in, ${kept} kept out`,
    table: (who: string, span: string) => `Tokens of ${singleLine(who, AGENT_CAP)}, ${span}, as a table`,
    columns: { at: "When", tokens: "Came in", kept: "Kept out", messages: "Messages" },
    came: "Came into windows",
    kept: "Kept out by tasks",
    unmeasured: "Not measured",
    unknown: "not known",
    gap: "Not measured: Taskwarden did not run.",
    partly: (counted: number, hours: number) => `Measured in ${count(counted)} of ${plural(hours, "hour")}.`,
    asTable: "Table",
    export: "CSV",
    exportFailed: "The figures could not be saved",
    sums: (came: string, kept: string) => `In this period ${came} came in and ${plural(kept, "was", "were")} kept out.`,
    nothing: "Nothing came in during this period.",
  },

  prices: {
    title: "Prices of models",
    about:
      "For a million tokens, as your contract says. Taskwarden knows no price by itself, so none goes out of date unnoticed.",
    set: "Prices that are set",
    none: "No price is set. Costs appear once the model of an agent has one.",
    columns: { model: "Model", input: "Read", output: "Written", since: "Set on", acts: "Change or remove" },
    amount: (amount: string, currency: string) => `${singleLine(amount, 20)} ${singleLine(currency, 3)}`,
    setBy: (when: string, who: string) => `${when} by ${who}`,
    change: "Change",
    changeOf: (model: string) => `Change the price of ${model}`,
    remove: "Remove",
    removeOf: (model: string) => `Remove the price of ${model}`,
    removed: (model: string) => `The price of ${model} was removed.`,
    model: "Model",
    inUse: (model: string) => `${model}, used by an agent`,
    input: "It reads",
    inputHint: "Tool definitions, results and task notices",
    output: "It writes",
    outputHint: "Names and arguments of calls",
    currency: "Currency",
    currencyHint: "Three letters; sums of two currencies are never added",
    unit: (currency: string) => `${singleLine(currency, 3)} per million`,
    badAmount: "Enter digits with a point, such as 3 or 0.075.",
    badCurrency: "Enter three letters, such as USD or EUR.",
    add: "Set the price",
    save: "Save the price",
    saved: (model: string) => `The price of ${model} was saved.`,
    done: "Done",
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
    cutNote: "The agent reads them in parts. A limit for one result replaces this.",
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
      hold: "hold it and offer it in parts",
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
    handle: "Task notices",
    kept: "Kept out of the window so far",
    result: "Result, as passed",
    inWindow: "In the window, if read whole",
    delivered: "Read by the agent",
    none: "no result yet",
    noResult: "no result",
    over: (tokens: string, limit: string) => `${plural(tokens, "token")}, above its limit of ${limit}.`,
    settled: (who: string) => `${who} let it continue.`,
    cell: (cost: string, family: string, how: string) => `${cost} in the window or pending (${family}, ${how})`,
    viewer: (figure: string, how: string, family: string) => `${plural(figure, "token")}, ${how}, ${family}`,
  },

  gauge: {
    list: "Windows nearest to their limit",
    label: (agent: string, percent: string, isLimit: boolean) =>
      `${singleLine(agent, AGENT_CAP)} fills ${percent} ${gaugeOf(isLimit)}`,
    of: gaugeOf,
    noSize: "size not known",
  },

  status: {
    rate: (figure: string) => `${plural(figure, "token")}/min into windows`,
    some: (n: number) => `of the ${plural(n, "agent")} nearest to their limit`,
    /** After the rate, which has no room for it. */
    what: "Tokens that come into the windows of agents in a minute",
    counted: (families: readonly string[]) =>
      `counted in ${families.map((one) => singleLine(one, FAMILY_CAP)).join(", ")}`,
  },
} as const;

const NAME_CAP = 40;

const PARTS: Readonly<Record<ShownPartDto, string | null>> = {
  both: null,
  structuredFirst: "the structured result where there is one, otherwise the text",
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
        ? `, cut somewhere above ${plural(most, "token")}`
        : `; above ${plural(most, "token")} the name of a file`;
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
            ? `${label} is sure to show its model ${plural(most, "token")} of one result. Longer results are held and read in parts.`
            : `Longer results are passed on, and ${label} cuts them.`,
        ]),
    `Only the program knows when it shortens its conversation and how long its own prompt is${program.toolsSearched ? ", and which tool definitions its model searched for" : ""}.`,
  ];
}
