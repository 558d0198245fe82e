/* Text about agents and the rules for them. What an agent says about itself is never part of it. */
import type { LeftEntries, SettingsText } from "$lib/bindings";
import { count, plural } from "$lib/format/count";
import { leftEntries } from "./servers/left-entries";

export const agentsText = {
  title: "Agents",
  note: (n: number, connected: number) =>
    n === 0 ? "none yet" : `${count(n)}, ${connected === 0 ? "none" : count(connected)} connected`,
  add: "Connect an agent",
  close: "Close",
  back: (n: number) => `Back to ${plural(n, "agent")}`,
  loadFailed: "The agents could not be loaded",
  stale: "as of",
  goOn: "Tasks of an agent that is not connected continue. Their results wait until it connects again.",
  next: "Next agent",
  previous: "Previous agent",
  search: "Find an agent",
  noMatch: (typed: string) => `No agent matches “${typed}”.`,
  clearSearch: "Show all agents",
  empty: {
    title: "No agent is connected yet",
    body: "An agent is a program such as Claude Code or Codex that calls tools. Each gets its own token, limits and rules. This page shows what each one calls and what fills its window.",
    terminal: "In a terminal:",
    command: "taskwarden agents add NAME",
  },
  columns: {
    agent: "Agent",
    state: "State",
    window: "Window",
    inWindow: "In the window",
    passed: "Passed to it",
    waiting: "Needs you",
    open: "Open",
    calls: "Calls",
  },
  neverSeen: "has not connected yet",
  noClient: "program unknown",
  state: {
    connected: "Connected",
    away: "Not connected",
    revoked: "Revoked",
    last: (when: string) => `last seen ${when}`,
    since: (when: string) => `since ${when}`,
  },

  form: {
    title: "Connect an agent",
    name: "Name",
    nameHint: "Yours to choose, such as claude-code or nightly. Spaces become dashes.",
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
    noAddress: "No web address is open for agents, so only the command works.",
    done: "I have it",
    announced: (name: string) => `${name} was added. Its token is shown only once.`,
    lost: "The token was not copied. Revoke this agent and add it again if you need it.",
  },

  revoke: {
    ask: "Revoke…",
    title: (name: string) => `Revoke ${name}?`,
    lost: "What is lost, and what stays:",
    token: "Its token stops working at once",
    sessions: (n: number) => `${plural(n, "session ends", "sessions end")}`,
    tasks: (n: number) =>
      n === 0 ? "It has no open tasks" : `${plural(n, "open task is", "open tasks are")} asked to cancel`,
    more: (n: number) => `and ${count(n)} more`,
    rules: "Its rules and limits apply to nobody any more",
    stays: "Finished tasks, their results and the audit log stay",
    forGood: "This cannot be undone. To give it access again, connect it as a new agent.",
    reason: "Reason",
    reasonHint: "Optional; shown to the agent and kept in the audit log",
    keep: "Keep it",
    revoke: (name: string) => `Revoke ${name}`,
    done: (name: string, stopped: number, left: readonly LeftEntries[]) =>
      (stopped === 0
        ? `${name} is revoked`
        : `${name} is revoked; ${plural(stopped, "task was", "tasks were")} asked to cancel`) + leftEntries(left),
    refused: (n: number) => `${plural(n, "server", "servers")} refused to cancel:`,
    asked: (n: number) => `${plural(n, "task was", "tasks were")} asked to cancel. The list shows the outcome of each.`,
  },

  at: {
    title: "Where agents connect",
    all: "Address of all servers",
    none: "Agents connect by command only",
    oneServer: "For one server only: add /NAME.",
  },

  rules: {
    title: "Rules",
    forAgents: "Rules for what agents start here",
    note: "A tool’s rule overrides its server’s, which overrides the agent’s.",
    asked: "Questions go to",
    askedWords: {
      "": "Default: ask a person",
      people: "people",
      agent: "the agent",
      agentThenPeople: "the agent, then people",
      both: "both; the first answer counts",
    },
    after: "Ask people after",
    seconds: "seconds",
    repeat: "A repeated call",
    repeatWords: { "": "Default: join the running task", join: "joins the open task", new: "is a new task" },
    repeatNote: "Applies when the reply to the first call could not be delivered.",
    hold: "Hold results for review",
    holdNote: "The agent is told that a person reviews them first.",
    save: "Save",
    saved: "Rule saved",
    badSeconds: "Enter a number of seconds from 1 to 86,400.",
  },
} as const;
