/* Every word of the screens that has a meaning of its own here, in one sentence; by the alphabet. The help lists them,
   and `Term` explains one where it stands: there is no second text. */
export interface Term {
  readonly word: string;
  readonly means: string;
}

export const GLOSSARY = [
  { word: "≈ and ≤", means: "≈ stands before an estimate, ≤ before an upper bound; a figure without a mark is exact." },
  { word: "Access revoked", means: "The agent that started the task may no longer read or use it." },
  { word: "Agent", means: "A program with a model, such as Claude Code, that reaches its servers through Taskwarden." },
  { word: "Agent gone", means: "The agent that started the task has disconnected, so nobody waits for the result." },
  { word: "Arguments", means: "What a call gives to its tool, such as a path or a search." },
  {
    word: "Audit log",
    means: "The list of every call, decision and change, chained so that a missing or changed row is found.",
  },
  { word: "Cancel", means: "Asks the server to end a task; the server may refuse, or finish first." },
  { word: "Core", means: "The part of Taskwarden that watches tasks; it also runs without a window." },
  { word: "Expired at the server", means: "The server kept the task for a limited time, and that time is over." },
  { word: "Gateway", means: "The address at which agents reach their servers through Taskwarden." },
  {
    word: "Halt",
    means:
      "Stops work in the places that a person chose: new calls are refused, running tasks are asked to cancel, questions stand still. It ends in four steps.",
  },
  {
    word: "Handle",
    means: "Taskwarden’s own id of a task (hdl_…); it stays valid when the agent, the server or Taskwarden restarts.",
  },
  { word: "Held result", means: "A result that its agent does not get until you, or a rule, release it." },
  { word: "Hidden", means: "A task that you took out of lists and counts; it is kept, and you can show it again." },
  { word: "In parts", means: "The agent gets a preview of a long result, then the parts that it asks for." },
  {
    word: "In the window",
    means: "Tokens that the model of an agent has in front of it now, by what is known of its program.",
  },
  {
    word: "Keeper",
    means: "A small process that holds a local server while Taskwarden restarts, so that its tasks continue.",
  },
  { word: "Kept out", means: "Tokens that an agent did not have to read because the call ran as a task." },
  { word: "Later than agreed", means: "The task ran past the time limit it was started with." },
  { word: "Later than usual", means: "The task has run longer than 95 % of this tool’s earlier runs." },
  { word: "Lost by the server", means: "The server no longer knows the task, or the process that ran it ended." },
  { word: "MCP", means: "The Model Context Protocol, the language in which agents call the tools of servers." },
  { word: "No news", means: "The server has not been heard for several polls; the task may still run." },
  {
    word: "Not confirmed by the server",
    means: "A call was sent and its reply can no longer arrive; nobody knows whether it ran.",
  },
  { word: "Not watched", means: "Taskwarden no longer polls the task; it may still run on its server." },
  {
    word: "Passed",
    means: "Tokens that Taskwarden gave to an agent’s program, counted exactly; its model may see less.",
  },
  {
    word: "Poll",
    means: "A short request to the server that asks how a task is doing; servers may ask for longer pauses.",
  },
  { word: "Prompts and resources", means: "Texts and files that a server offers beside its tools." },
  {
    word: "Protocol",
    means:
      "The version of MCP tasks that a server speaks: 2026-07-28, or 2025-11-25, which was an experiment. A server without tasks still answers calls.",
  },
  { word: "Pushes changes", means: "The server reports changes by itself, so no poll is needed." },
  { word: "Registry", means: "The file in which Taskwarden keeps tasks, answers and the audit log." },
  { word: "Revoke", means: "Takes access away from an agent: to one task, or to everything." },
  {
    word: "Rule",
    means:
      "A decision made in advance, for an agent, a server or a tool: who is asked, what is held, what is the limit.",
  },
  { word: "Server", means: "A program that offers tools over MCP, on this machine or at a web address." },
  { word: "Session", means: "One connection of a program or browser, from its sign-in to its end." },
  {
    word: "Stop watching",
    means: "Taskwarden no longer polls a task; the server is not told, and the task may continue.",
  },
  { word: "Task", means: "Work on a server that outlives the call that began it." },
  {
    word: "Task notices",
    means: "What an agent reads about a task in place of its result: that it runs, how far it is, that it ended.",
  },
  {
    word: "Token",
    means: "The unit in which models count text; also the secret with which an agent proves who it is.",
  },
  { word: "Tokenizer", means: "How a model cuts text into tokens; each family of models has its own." },
  {
    word: "Tool definitions",
    means: "Names and descriptions of tools; they fill part of a window before the first call.",
  },
  { word: "Window", means: "What an agent’s model can hold at once, in tokens (its context window)." },
] as const satisfies readonly Term[];

export type Word = (typeof GLOSSARY)[number]["word"];

/** Null for a word that needs no explanation. */
export const meaningOf = (word: string): string | null => GLOSSARY.find((one) => one.word === word)?.means ?? null;
