/* Every sentence about agents and the rules for them. What an agent says of itself never stands here. */
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
    body: "An agent that reaches its servers through Taskwarden can lose no task, and you can answer for it and stop it.",
  },
  columns: { agent: "Agent", state: "State", window: "Window", waiting: "Needs you", open: "Open", calls: "Calls" },
  neverSeen: "has not connected yet",
  noClient: "program unknown",
  state: {
    connected: "Connected",
    away: "Not connected",
    revoked: "Revoked",
    last: (when: string) => `last heard ${when}`,
    since: (when: string) => `since ${when}`,
  },
  calls: (n: number) => plural(n, "call"),

  detail: {
    program: "Program",
    selfSaid: "as it says itself",
    added: "Added",
    seen: "Last heard",
    tasks: "Tasks",
    open: (n: number) => (n === 0 ? "none open" : `${count(n)} open`),
    waiting: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
    budget: "What fills its window",
    showTasks: "Show its tasks",
    tools: "Task tools",
    toolsOn: "offered to programs that know no tasks",
    toolsOff: "not offered",
    timeout: "Timeout",
    learned: (after: string) =>
      `Its program gave calls up after ${after}. Calls that last longer now go on in the background before that.`,
    revoked: (when: string) =>
      `Its access was taken away ${when}. Its token opens nothing any more, and what it started was asked to stop.`,
  },

  form: {
    title: "Add an agent",
    name: "Name",
    nameHint: "Yours to choose: a-z, 0-9, dot, dash, underscore.",
    program: "Program",
    programHint: "Its results are counted as this program shows them to its model.",
    programUnsaid: "As it says itself",
    tools: "Offer the four task tools",
    toolsNote:
      "For programs that know no tasks: to wait for a long call, read its result, list and cancel. Under 1,500 tokens.",
    add: (name: string) => (name === "" ? "Make a token" : `Make a token for ${name}`),
    back: "Back",
    nothing: "No token made yet",
    problems: {
      missing: "Give it a name.",
      letters: "Use 1 to 40 of a-z, 0-9, dot, dash and underscore.",
      taken: "There is an agent of this name already.",
    },
  },

  ready: {
    title: (name: string) => `${name} may connect`,
    once: "This is the only time that its token is shown. Taskwarden keeps no copy.",
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
    notCopied: "It could not be copied. Select the text and copy it by hand.",
    noAddress: "No address is open for HTTP, so only the command works.",
    done: "I have it",
    announced: (name: string) => `${name} was added. Its token is shown once.`,
    lost: "The token was not copied. Revoke this agent and add it again if you need it.",
  },

  revoke: {
    ask: "Revoke…",
    title: (name: string) => `Revoke ${name}?`,
    what: (open: number) =>
      open === 0
        ? "It is cut off at once: its token opens nothing any more. Nothing of it runs."
        : `It is cut off at once: its token opens nothing any more. ${plural(open, "open task is", "open tasks are")} asked to stop.`,
    forGood: "This cannot be taken back. To let it in again, add it anew.",
    reason: "Reason",
    reasonHint: "Optional; the agent and the record see it",
    keep: "Keep it",
    revoke: (name: string) => `Revoke ${name}`,
    done: (name: string, stopped: number) =>
      stopped === 0
        ? `${name} is revoked`
        : `${name} is revoked; ${plural(stopped, "task was", "tasks were")} asked to stop`,
    refused: (n: number) => `${plural(n, "server", "servers")} refused to stop:`,
    asked: (n: number) =>
      `${plural(n, "task was", "tasks were")} asked to stop. What became of each stands in the list.`,
  },

  at: {
    title: "Where agents connect",
    none: "Agents connect by command only",
    oneServer: "One server alone is at this address with / and its name.",
  },

  rules: {
    title: "Rules",
    forAgents: "Rules for what agents start here",
    note: "A rule for a tool beats one for its server, and that one beats the agent's.",
    asked: "Questions go to",
    askedWords: {
      "": "people, as nothing else is said",
      people: "people",
      agent: "the agent",
      agentThenPeople: "the agent, then people",
      both: "both; the first answer counts",
    },
    after: "People are asked after",
    seconds: "seconds",
    repeat: "A repeated call",
    repeatWords: { "": "joins, as nothing else is said", join: "joins the open task", new: "is a new task" },
    repeatNote: "When the reply to the first could not be delivered.",
    hold: "Results wait for a person",
    holdNote: "The agent is told that a person looks first.",
    save: "Save",
    saved: "Rule saved",
    badSeconds: "Give a number of seconds from 1 to 86,400.",
  },
} as const;
