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
  {
    word: "Agent gone",
    means: "The agent that started the task has been away for some minutes, so nobody waits for the result.",
  },
  {
    word: "Alarm",
    means:
      "An agent does the same again and again; people are told once for each time that it goes on. A rule can let further calls wait or cancel open tasks.",
  },
  { word: "Arguments", means: "What a call gives to its tool, such as a path or a search." },
  {
    word: "Audit log",
    means: "The list of every call, decision and change, chained so that a missing or changed row is found.",
  },
  { word: "Cancel", means: "Asks the server to end a task; the server may refuse, or finish first." },
  { word: "Cancel requested", means: "The server was asked to end the task and has not said yet that it ended." },
  {
    word: "Chain",
    means: "Each row of the audit log holds the hash of the row before it, so that a changed or missing row shows.",
  },
  {
    word: "Check",
    means: "A short request to the server that asks how a task is doing (a poll); servers may ask for longer pauses.",
  },
  {
    word: "Checkpoint",
    means: "The newest row of the audit log at one moment, signed: a log that is changed or cut later contradicts it.",
  },
  { word: "Client id", means: "The name under which Taskwarden is known to the place where you sign in to a server." },
  {
    word: "Control token",
    means: "A secret that lets a program of yours watch or end tasks, within the limits that you set for it.",
  },
  { word: "Core", means: "The part of Taskwarden that watches tasks; it also runs without a window." },
  { word: "CSV", means: "A table as text, which spreadsheets open." },
  { word: "Destructive", means: "The server says that this tool may delete or overwrite things." },
  { word: "Environment", means: "Settings that a program reads as it starts, each with a name and a value." },
  { word: "Expired at the server", means: "The server kept the task for a limited time, and that time is over." },
  { word: "Failed", means: "The task ended with an error in place of a result." },
  { word: "Finished with an error", means: "The tool ran to its end and reported a failure as its result." },
  {
    word: "Frozen",
    means: "The processes of a local server stand still and keep their memory until a person ends that.",
  },
  { word: "Gateway", means: "The address at which agents reach their servers through Taskwarden." },
  {
    word: "Half within",
    means: "The time in which the faster half of the requests had their reply; 95 % works alike.",
  },
  {
    word: "Halt",
    means:
      "Stops work in the places that a person chose: new calls are refused, running tasks are asked to cancel, questions stand still. It ends in four steps.",
  },
  {
    word: "Handle",
    means: "Taskwarden’s own id of a task (hdl_…); it stays valid when the agent, the server or Taskwarden restarts.",
  },
  {
    word: "Hash",
    means: "A fingerprint of a row, computed from its fields: when a field changes, the fingerprint no longer fits.",
  },
  { word: "Header", means: "A line that is sent with each request to a web address, such as one that holds a token." },
  { word: "Hidden", means: "A task that you took out of lists and counts; it is kept, and you can show it again." },
  { word: "In parts", means: "The agent gets a preview of a long result, then the parts that it asks for." },
  {
    word: "In progress",
    means: "The task runs, is being sent an answer, was asked to cancel, or its agent’s access was revoked.",
  },
  {
    word: "In the window",
    means: "Tokens that the model of an agent has in front of it now, by what is known of its program.",
  },
  { word: "JSON", means: "A way to write values as text, with their names, that programs read." },
  {
    word: "Keeper",
    means: "A small process that holds a local server while Taskwarden restarts, so that its tasks continue.",
  },
  { word: "Kept out", means: "Tokens that an agent did not have to read because the call ran as a task." },
  { word: "Keychain", means: "The part of your system that keeps secrets encrypted, such as passwords." },
  { word: "Late", means: "The task is past its time limit, or has run longer than 95 % of earlier runs." },
  { word: "Later than agreed", means: "The task ran past the time limit it was started with." },
  { word: "Later than usual", means: "The task has run longer than 95 % of this tool’s earlier runs." },
  { word: "Lost by the server", means: "The server no longer knows the task, or the process that ran it ended." },
  {
    word: "Lost tasks",
    means: "Tasks that the server lost before the time was over for which it had agreed to keep them.",
  },
  { word: "Mark resolved", means: "Closes a task whose end nobody knows, here only: its server is not told." },
  { word: "MCP", means: "The Model Context Protocol, the language in which agents call the tools of servers." },
  {
    word: "Needs you",
    means:
      "A question, a held result, a decision, or a task that was lost or never confirmed; it waits for a person, and may be over already.",
  },
  { word: "Never read", means: "Results that no agent read." },
  { word: "No news", means: "The server has not answered several checks; the task may still run." },
  {
    word: "Not confirmed by the server",
    means: "A call was sent and its reply is lost; nobody knows whether it ran.",
  },
  { word: "Not obeyed", means: "Tasks and calls that the server finished after it was asked to cancel them." },
  { word: "Not watched", means: "Taskwarden no longer checks the task; it may still run on its server." },
  { word: "Nothing new", means: "Checks by which the agent learned nothing that it did not know." },
  { word: "Open", means: "A task that has not ended yet." },
  {
    word: "Passed",
    means: "Tokens that Taskwarden gave to an agent’s program, counted exactly; its model may see less.",
  },
  {
    word: "Paused",
    means: "New calls of an agent wait and are not sent until a person resumes it; what runs goes on.",
  },
  { word: "Phase", means: "What a task does now, such as Working, Waiting for you or Done." },
  { word: "Port", means: "The number at which a program on a machine can be reached, such as 8080." },
  { word: "Prompts and resources", means: "Texts and files that a server offers beside its tools." },
  {
    word: "Protocol",
    means:
      "The version of MCP tasks that a server speaks: 2026-07-28, or 2025-11-25, which was an experiment. A server without tasks still answers calls.",
  },
  { word: "Raw", means: "Messages between Taskwarden and the server as they were sent, in JSON." },
  { word: "Read-only", means: "The server says that this tool changes nothing." },
  { word: "Receipt", means: "What the audit keeps of a call: its agent, tool and time, and how it was answered." },
  { word: "Registry", means: "The file in which Taskwarden keeps tasks, answers and the audit log." },
  {
    word: "Reports changes",
    means: "The server reports changes of a task itself (it pushes them), so no check is needed.",
  },
  { word: "Result held", means: "A result that its agent does not get until you, or a rule, release it." },
  { word: "Revoke", means: "Takes access away from an agent: to one task, or to everything." },
  {
    word: "Rule",
    means:
      "A decision made in advance, for an agent, a server or a tool: who is asked, what is held, what is the limit.",
  },
  { word: "Server", means: "A program that offers tools over MCP, on this machine or at a web address." },
  {
    word: "Server needs sign-in",
    means: "The server answers again after somebody signs in there; its tasks may continue unseen.",
  },
  {
    word: "Server says",
    means: "The status in the server’s own word, such as working, or input required when it asks something.",
  },
  { word: "Session", means: "One connection of a program or browser, from its sign-in to its end." },
  { word: "Stalled questions", means: "Questions that waited too long for their answer." },
  {
    word: "Stop watching",
    means: "Taskwarden no longer checks a task; the server is not told, and the task may continue.",
  },
  { word: "Task", means: "Work on a server that outlives the call that began it." },
  {
    word: "Task notices",
    means: "What an agent reads about a task in place of its result: that it runs, how far it is, that it ended.",
  },
  {
    word: "Task tools",
    means: "Four tools of Taskwarden for programs that do not know tasks: wait, read a result, list, cancel.",
  },
  {
    word: "Token",
    means: "The unit in which models count text; also the secret with which an agent proves who it is.",
  },
  {
    word: "Tokenizer",
    means: "How a model cuts text into tokens. Each family of models has its own: o200k is that of GPT-4o and later.",
  },
  { word: "Tokens wasted", means: "Tokens of everything that stands in the row, which came into windows for nothing." },
  { word: "Too soon", means: "Checks that came before the pause was over that the server asks for." },
  { word: "Tool", means: "One thing that a server can do when it is called, such as to search or to deploy." },
  {
    word: "Tool definitions",
    means: "Names and descriptions of tools; they fill part of a window before the first call.",
  },
  { word: "Waiting for you", means: "The server asked a question, and the task continues when somebody answers it." },
  { word: "Window", means: "What an agent’s model can hold at once, in tokens (its context window)." },
  { word: "Working", means: "The server says that it works on the task." },
] as const satisfies readonly Term[];

export type Word = (typeof GLOSSARY)[number]["word"];

/** Null for a word that needs no explanation. */
export const meaningOf = (word: string): string | null => GLOSSARY.find((one) => one.word === word)?.means ?? null;
