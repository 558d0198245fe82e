/* Text about agents and the rules for them. What an agent says about itself is never part of it. */
import type { SettingsText } from "$lib/bindings";
import { count, plural } from "$lib/format/count";

export const agentsText = {
  title: "Agents",
  note: (n: number) => `${count(n)}, each with its own token`,
  add: "Add an agent",
  next: "Next agent",
  previous: "Previous agent",
  search: "Find an agent",
  noMatch: (typed: string) => `No agent matches “${typed}”.`,
  clearSearch: "Show all agents",
  empty: {
    title: "No agent yet",
    body: "An agent that reaches its servers through Taskwarden cannot lose a task. You can answer its questions and cancel its tasks.",
  },
  columns: { agent: "Agent", state: "State", window: "Window", waiting: "Needs you", open: "Open", calls: "Calls" },
  neverSeen: "has not connected yet",
  noClient: "program unknown",
  state: {
    connected: "Connected",
    away: "Not connected",
    revoked: "Revoked",
    last: (when: string) => `last seen ${when}`,
    since: (when: string) => `since ${when}`,
  },
  calls: (n: number) => plural(n, "call"),

  detail: {
    program: "Program",
    selfSaid: "as it reports itself",
    added: "Added",
    seen: "Last seen",
    tasks: "Tasks",
    open: (n: number) => (n === 0 ? "none open" : `${count(n)} open`),
    waiting: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
    budget: "What fills its window",
    showTasks: "Show its tasks",
    tools: "Task tools",
    toolsOn: "offered to programs without task support",
    toolsOff: "not offered",
    timeout: "Timeout",
    learned: (after: string) =>
      `Its program gave up on calls after ${after}. Longer calls now move to the background before that.`,
    revoked: (when: string) =>
      `Its access was revoked ${when}. Its token is no longer valid, and its open tasks were cancelled or asked to cancel.`,
  },

  form: {
    title: "Add an agent",
    name: "Name",
    nameHint: "Yours to choose: a-z, 0-9, dot, dash, underscore.",
    program: "Program",
    programHint: "Tokens of results are counted as this program passes them to its model.",
    programUnsaid: "As it reports itself",
    tools: "Offer the four task tools",
    toolsNote:
      "For programs without task support: wait for a long call, read its result, list tasks, cancel one. Under 1,500 tokens.",
    add: (name: string) => (name === "" ? "Create a token" : `Create a token for ${name}`),
    back: "Back",
    nothing: "No token created yet",
    problems: {
      missing: "Give it a name.",
      letters: "Use 1 to 40 of a-z, 0-9, dot, dash and underscore.",
      taken: "An agent with this name already exists.",
    },
  },

  ready: {
    title: (name: string) => `${name} may connect`,
    once: "The token is shown only once. Taskwarden keeps no copy.",
    token: "Token",
    settings: "Settings for its program",
    oneIsEnough: "Paste one of these, and restart the program.",
    heading: ({ transport, place, file }: SettingsText) => {
      const way = { http: "Over HTTP", stdio: "As a command" }[transport];
      return place === "terminal"
        ? `${way}, in a terminal`
        : file === null
          ? `${way}, in its settings`
          : `${way}, in ${file}`;
    },
    check: "To check it:",
    first: {
      nothing: "Waiting for its program to connect…",
      connected: (client: string | null) => `Connected: ${client ?? "its program"}. Waiting for its first call…`,
      called: (client: string | null) => `Connected: ${client ?? "its program"} made its first call.`,
    },
    copy: (what: string) => `Copy: ${what}`,
    copied: "Copied",
    notCopied: "Copying failed. Select the text and copy it yourself.",
    noAddress: "No HTTP address is open, so only the command works.",
    done: "I have it",
    announced: (name: string) => `${name} was added. Its token is shown only once.`,
    lost: "The token was not copied. Revoke this agent and add it again if you need it.",
  },

  revoke: {
    ask: "Revoke…",
    title: (name: string) => `Revoke ${name}?`,
    what: (open: number) =>
      open === 0
        ? "Its token stops working at once. It has no open tasks."
        : `Its token stops working at once. ${plural(open, "open task is", "open tasks are")} asked to cancel.`,
    forGood: "This cannot be undone. To give it access again, add it as a new agent.",
    reason: "Reason",
    reasonHint: "Optional; shown to the agent and kept in the audit log",
    keep: "Keep it",
    revoke: (name: string) => `Revoke ${name}`,
    done: (name: string, stopped: number) =>
      stopped === 0
        ? `${name} is revoked`
        : `${name} is revoked; ${plural(stopped, "task was", "tasks were")} asked to cancel`,
    refused: (n: number) => `${plural(n, "server", "servers")} refused to cancel:`,
    asked: (n: number) => `${plural(n, "task was", "tasks were")} asked to cancel. The list shows the outcome of each.`,
  },

  at: {
    title: "Where agents connect",
    none: "Agents connect by command only",
    oneServer: "To reach one server only, append / and its name.",
  },

  rules: {
    title: "Rules",
    forAgents: "Rules for what agents start here",
    note: "A tool's rule overrides its server's, which overrides the agent's.",
    asked: "Questions go to",
    askedWords: {
      "": "people (default)",
      people: "people",
      agent: "the agent",
      agentThenPeople: "the agent, then people",
      both: "both; the first answer counts",
    },
    after: "Ask people after",
    seconds: "seconds",
    repeat: "A repeated call",
    repeatWords: { "": "joins the open task (default)", join: "joins the open task", new: "is a new task" },
    repeatNote: "Applies when the reply to the first call could not be delivered.",
    hold: "Hold results for review",
    holdNote: "The agent is told that a person reviews them first.",
    save: "Save",
    saved: "Rule saved",
    badSeconds: "Enter a number of seconds from 1 to 86,400.",
  },
} as const;
