/* Text about one opened agent: its sessions, calls, connection, window, rules and token. */
import type { AtLimitDto } from "$lib/bindings";
import { count, plural } from "$lib/format/count";

type Door = "command" | "http";

const DOORS: Readonly<Record<Door, string>> = { command: "command", http: "web address" };

export const agentDetailText = {
  tabs: {
    label: "About this agent",
    overview: "Overview",
    window: "Window",
    rules: "Limits and rules",
    token: "Token",
  },
  sessionsOf: (program: string, n: number) => (n === 0 ? program : `${program}, ${plural(n, "session")}`),
  open: (n: number) => (n === 0 ? "no open tasks" : plural(n, "open task")),
  needsYou: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
  heard: (when: string) => `last seen ${when}`,
  never: "has not connected yet",
  revoked: (when: string) =>
    `Its access was revoked ${when}. Its token is no longer valid, and its open tasks were cancelled or asked to cancel.`,

  sessions: {
    title: "Sessions",
    open: (n: number) => `${count(n)} open`,
    none: "No session is open.",
    door: (door: Door, since: string) => `${DOORS[door]}, since ${since}`,
    last: (when: string) => `last request ${when}`,
    unnamed: "Program without a name",
    more: (n: number) => `${count(n)} more`,
  },

  calls: {
    title: "Last calls",
    all: (n: number) => `Show all ${count(n)}`,
    none: "It has started no task yet.",
    failed: "The last calls could not be loaded",
    waits: (length: string) => `waits ${length}`,
  },

  check: {
    title: "Connection check",
    run: "Check connection",
    again: "Check again",
    failed: "The check could not be made",
    tokenUsed: (when: string) => `Its token is accepted: the last request came ${when}`,
    through: (door: Door) => (door === "http" ? "by web address" : "by command"),
    beforeStart: "before Taskwarden was last started",
    tokenUnused: "No request has come with its token yet",
    tokenUnusedWhy: "Paste the settings of its Token tab into its program, then restart the program.",
    neverSeen: "It has never connected",
    neverSeenWhy:
      "Paste the settings that were shown with its token into its program, then restart the program. If they are lost, make a new token.",
    http: "Its web address answers",
    httpFailed: "Its web address does not answer",
    httpFailedWhy: (why: string) => `${why} Restart Taskwarden, or choose another port with --listen.`,
    httpOff: "No web address is open",
    httpOffWhy: "Programs that start a command still connect.",
    command: "taskwarden connect reaches the core",
    commandFailed: "taskwarden connect does not reach the core",
    commandFailedWhy: (why: string) => `${why} Restart Taskwarden.`,
    took: (ms: number) => `${count(ms)} ms`,
    servers: (up: number, all: number) =>
      all === 0 ? "There is no server to call" : `${count(up)} of ${plural(all, "server")} can be called`,
    noServers: "Add one under Servers.",
    waits: (length: string) => `Its program waits ${length} for a call`,
    waitsLearned: "seen here; longer calls become tasks before that",
    waitsKnown: "as measured for this program; longer calls become tasks before that",
  },

  window: {
    title: "In the window now",
    none: "Nothing has passed through Taskwarden yet.",
    source: "Source",
    sum: "Sum",
    pending: "About to come in",
    of: (size: string, share: string) => `of ${size} · ${share}`,
    ofUnknown: "of a window of unknown size",
    figureTitle:
      "In the window: the part that its program shows its model. Passed to it: everything sent to its program.",
    budgets: "All figures in Budgets",
    unknown: "not known yet",
  },

  rules: {
    limits: "Limits",
    title: "Rules for its calls",
    others: "Rules of servers and tools",
    othersNote: "They apply to every agent and override the rules above.",
    edit: "Edit…",
    done: "Done",
    noLimits: "No token limits are set.",
    anyTool: (server: string) => `all tools of ${server}`,
    toolOf: (tool: string, server: string) => `${tool} on ${server}`,
    result: (n: string, then: string) => `A result over ${plural(n, "token")}: ${then}`,
    task: (n: string, then: string) => `A task over ${plural(n, "token")}: ${then}`,
    window: (n: string, then: string) => `A window over ${plural(n, "token")}: ${then}`,
    then: {
      warn: "people are notified",
      ask: "a person is asked",
      hold: "it is held and delivered in parts",
      stop: "the task is cancelled",
    } satisfies Record<AtLimitDto, string>,
    holdCut: "Results that its program would cut are held and delivered in parts",
    deliverCut: "Results are delivered even when its program cuts them",
    asked: {
      people: "Its tasks’ questions go to people",
      agent: "Its tasks’ questions go to the agent",
      agentThenPeople: "Its tasks’ questions go to the agent",
      both: "Its tasks’ questions go to the agent and to people; the first answer counts",
    },
    after: (length: string) => `and to people after ${length} without an answer`,
    repeat: { join: "A repeated call joins the open task", new: "A repeated call is a new task" },
    repeatNote: "when the first reply could not be delivered",
    review: "Results wait until a person has reviewed them",
    promote: (length: string) => `Calls longer than ${length} become tasks`,
    tools: "Its program is offered the four task tools",
    toolsNote: "only where it does not know tasks itself",
    noTools: "The four task tools are not offered",
  },

  token: {
    title: "Token",
    made: (when: string) => `The token was made ${when}.`,
    used: (when: string) => `Last used ${when}.`,
    unused: "No request has come with it yet.",
    kept: "It was shown once. Taskwarden keeps only a fingerprint of it, so it cannot be shown again. If it is lost or has leaked, make a new one.",
    at: "Where it connects",
    ask: "New token…",
    dialog: (name: string) => `New token for ${name}`,
    what: "The old token stops working at once. Open tasks continue and stay with this agent.",
    sessions: (n: number) =>
      n === 0 ? "No session is open now." : `${plural(n, "open session ends", "open sessions end")}:`,
    then: {
      command: "needs the new token in its settings, then a restart",
      http: "needs the new header in its settings, then a restart",
    } satisfies Record<Door, string>,
    keep: "Keep the old token",
    make: "Make a new token",
    shown: (name: string) => `${name} has a new token`,
    once: "The token is shown only once. Put it into the settings of its program, then restart the program.",
    ended: (n: number) => `${plural(n, "session")} ended.`,
    saved: (file: string) => `The file that taskwarden connect reads has it already: ${file}`,
    waiting: "Waiting for its first request with the new token…",
    arrived: (when: string) => `The new token works: its first request came ${when}`,
    done: "I have it",
  },
} as const;
