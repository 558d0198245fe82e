/* Text of the help: what the words of the screens mean, and where the rest is written. */
export interface Term {
  readonly word: string;
  readonly means: string;
}

/** Every word of the screens that has a meaning of its own here, in one sentence; by the alphabet. */
export const GLOSSARY: readonly Term[] = [
  { word: "Agent", means: "A program with a model, such as Claude Code, that reaches its servers through Taskwarden." },
  {
    word: "Answer in parts",
    means: "A long result is given to the agent as a preview and then in parts that it asks for.",
  },
  {
    word: "Audit log",
    means: "The list of every call, decision and change, chained so that a missing or changed row is found.",
  },
  {
    word: "Cancel",
    means: "Asks the server to end a task; the server may refuse, or finish first.",
  },
  {
    word: "Core",
    means: "The part of Taskwarden that watches tasks; it also runs without a window.",
  },
  {
    word: "Dialect",
    means: "Which of the two generations of MCP tasks a server speaks: 2025 (experimental) or 2026 (extension).",
  },
  {
    word: "Expired at the server",
    means: "The server kept the task for a limited time, and that time is over.",
  },
  { word: "Gateway", means: "The address at which agents reach their servers through Taskwarden." },
  {
    word: "Handle",
    means: "Taskwarden's own id of a task (hdl_…); it stays valid when agent, server or Taskwarden restart.",
  },
  {
    word: "Held result",
    means: "A result that its agent does not get until you, or a rule, release it.",
  },
  {
    word: "In the window",
    means: "Tokens that the model of an agent has in front of it now, by what is known of its program.",
  },
  {
    word: "Keeper",
    means: "A small process that holds a local server while Taskwarden restarts, so that its tasks continue.",
  },
  {
    word: "Kept out",
    means: "Tokens that a task spared its agent: what the agent would have read without a task and has not.",
  },
  { word: "Later than agreed", means: "The task ran past the time limit it was started with." },
  { word: "Later than usual", means: "The task has run longer than 95 % of this tool's earlier runs." },
  {
    word: "Lost by the server",
    means: "The server no longer knows the task, or the process that ran it ended.",
  },
  {
    word: "No news",
    means: "The server has not been heard for several polls; the task may still run.",
  },
  {
    word: "Not confirmed by the server",
    means: "A call was sent and its reply can no longer arrive; nobody knows whether it ran.",
  },
  {
    word: "Passed",
    means: "Tokens that Taskwarden gave to an agent's program, counted exactly; its model may see less.",
  },
  { word: "Poll", means: "One question to the server how a task is doing; servers may ask for longer pauses." },
  { word: "Pushes changes", means: "The server tells of changes by itself, so no poll is needed." },
  {
    word: "Revoke",
    means: "Takes access away from an agent: to one task, or to everything.",
  },
  {
    word: "Rule",
    means:
      "A decision made in advance, for an agent, a server or a tool: who is asked, what is held, what is the limit.",
  },
  { word: "Server", means: "A program that offers tools over MCP, on this machine or at a web address." },
  {
    word: "Session",
    means: "One connection of a program or browser, from its sign-in to its end.",
  },
  {
    word: "Stop watching",
    means: "Taskwarden no longer polls a task; the server is not told, and the task may continue.",
  },
  { word: "Task", means: "Work on a server that outlives the call that began it." },
  {
    word: "Token",
    means: "The unit in which models count text; also the secret with which an agent proves who it is.",
  },
  {
    word: "Window",
    means: "What an agent's model can hold at once, in tokens (its context window).",
  },
];

/** The pages of the documentation that the app brings along, by the name of their file. */
export const DOC_PAGES = {
  troubleshooting: "Troubleshooting",
  agents: "Agent programs",
  notifications: "Notifications",
  security: "Security and stored data",
} as const;

export const HELP = {
  title: "Help",
  parts: "Parts of the help",
  words: "Words",
  wordsNote: "What the words of the screens mean.",
  find: "Find a word",
  noWord: (typed: string) => `No word matches “${typed}”.`,
  keys: "Keys",
  keysNote: "Everything works by keyboard. Press ? on any screen for the keys that apply there.",
  showKeys: "Show all keys",
  check: "Something does not work?",
  checkNote: "The same checks as `taskwarden doctor`, with a cure for each problem.",
  openCheck: "Check this installation",
  docs: "Documentation",
  loadFailed: "The page could not be loaded.",
  loadFailedHow: "Open the file of this name in the folder `docs` that came with Taskwarden.",
  again: "Try again",
} as const;
