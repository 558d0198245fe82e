/* Text of the halt: its dialog, its page and its report. What stands on every screen is in app.ts. */
import type { HaltedTaskCounts, HaltEffectDto, HaltedTaskStateDto, RecoveryStageDto } from "$lib/bindings";
import { count, plural } from "$lib/format/count";

export const HALT = {
  title: "Halt",
  begin: "Halt…",
  widen: "Widen the halt…",
  copy: "Copy report",
  copied: "The report is copied.",
  retry: "Ask again",
  retried: (n: number) => `Asked ${plural(n, "task")} again to cancel.`,
  /** Why a second attempt asked nothing: the words of `taskwarden halt --retry`. */
  notRetried: ({ notConfirmed, requested, acknowledged }: HaltedTaskCounts) =>
    `Nothing could be asked again: ${
      notConfirmed > 0
        ? "a call without a task is asked only once, and what is lost cannot be asked"
        : requested + acknowledged > 0
          ? "the servers that were asked may still answer"
          : "every task that was asked to cancel has ended"
    }.`,
  /** While nothing is halted. */
  none: "Nothing is halted",
  noneWhy:
    "A halt stops work at once: new calls are refused, running tasks are asked to cancel, and questions stand still. You choose what it covers, and let work begin again step by step.",
  otherWays:
    "It also works while this window does not answer: by a command in a terminal, or by creating a file of this name:",
  command: 'taskwarden halt --reason "…"',
  effects: {
    calls: "New calls",
    running: "Running tasks",
    requests: "Waiting questions",
  } satisfies Record<HaltEffectDto, string>,
  states: {
    requested: "Requested",
    acknowledged: "Acknowledged",
    confirmed: "Confirmed",
    notConfirmed: "Not confirmed",
    open: "Not asked",
  } satisfies Record<HaltedTaskStateDto, string>,
  stateMeans: {
    requested: "Asked to cancel; the server has not replied yet.",
    acknowledged: "The server received the cancel; the task may still run.",
    confirmed: "The server reported the end of the task, or a person ended its process.",
    notConfirmed: "Nobody knows whether it ended: refused, not reached, or no word for 30 seconds.",
    open: "This halt does not cancel it.",
  } satisfies Record<HaltedTaskStateDto, string>,
  dialog: {
    about: "Nothing that is cancelled starts again by itself. You let work begin again in four steps.",
    what: "What to halt",
    calls: (agents: number) =>
      agents === 0
        ? "Refused before they are sent."
        : `Refused before they are sent; ${plural(agents, "agent")} connected.`,
    running: (open: string) =>
      `${open}. Each that has not ended by then is asked to cancel; results that still arrive are held.`,
    requests: (questions: number) =>
      questions === 0
        ? "None now; new ones wait."
        : `${plural(questions, "question")} frozen with their deadlines. Time limits of the servers themselves go on.`,
    chooseWhat: "choose at least one",
    where: "Where",
    everywhere: "Everywhere",
    some: "Only these servers, agents and tools",
    servers: "Servers",
    agents: "Agents",
    find: "Find a server or agent",
    noPlace: "No match.",
    open: (n: number) => `${count(n)} open`,
    tasks: (n: number) => plural(n, "open task"),
    uncounted: "Open tasks",
    atMost: (n: number) => `at most ${plural(n, "open task")}`,
    chooseWhere: "choose at least one server, agent or tool",
    moreNamed: (n: number) => `${count(n)} more: type a part of the name to find them.`,
    tool: {
      title: "Tools",
      chosen: "Chosen tools",
      server: "Server of the tool",
      find: "Find a tool",
      of: (server: string) => `Tools of ${server}`,
      remove: (name: string) => `Leave out ${name}`,
      none: "This server lists no tools.",
      noServers: "There are no servers yet.",
      failed: "Its tools cannot be listed now.",
      byNameHow: "Type the exact name of the tool to halt it anyway.",
      byName: (name: string) => `Halt the tool named ${name}`,
      again: "Try again",
    },
    reason: "Reason",
    reasonHint: "Everybody whose work is refused reads it, agents too.",
    needsReason: "write a reason",
    word: "HALT",
    confirm: "Type HALT to confirm",
    keep: "Do not halt",
    go: "Halt",
    going: "Halting…",
    lost: "The core does not answer, so this window cannot halt. Create this file, and calls are refused as soon as the core looks:",
    done: "Halted.",
  },
  /** What one order covers. */
  places: {
    everything: "Everything",
    server: (name: string) => `Server ${name}`,
    agent: (name: string) => `Agent ${name}`,
    tool: (tool: string, server: string) => `Tool ${tool} of ${server}`,
  },
  byFile: "the file HALT",
  byControl: (token: string) => `the control token ${token}`,
  byFileNote: "The file HALT in the data folder halted calls. Any program of yours can create it, an agent too.",
  inForce: {
    calls: "refused",
    running: "asked to cancel",
    requests: "frozen",
  } satisfies Record<HaltEffectDto, string>,
  /** Of an order of which nothing is in force. */
  isOver: "over",
  /** This order does it no more; what it did stays done. */
  lifted: {
    calls: "let through again",
    running: "no longer asked to cancel",
    requests: "no longer frozen",
  } satisfies Record<HaltEffectDto, string>,
  unreadable: "Everything is halted, because the halts on record cannot be read.",
  unreadableHow: "To let all calls through, take the last step. It replaces the record.",
  stopped: (ended: number, all: number) =>
    ended === all ? `All ${plural(all, "task")} have ended.` : `${count(ended)} of ${plural(all, "task")} ended.`,
  oneEnded: "Its 1 task has ended.",
  notConfirmed: (n: number) => `${count(n)} not confirmed.`,
  tally: "Tasks by what is known",
  columns: { state: "State", task: "Task", agent: "Agent", known: "What is known" },
  people: "people",
  noTasks: "No open task is covered.",
  noTasksCalls: "This halt refuses new calls. Tasks that already run go on.",
  more: (n: number) =>
    `${plural(n, "more task is", "more tasks are")} counted above and not listed; those that may still run stand first.`,
  /** What is known of one task. */
  known: {
    ended: (phase: string, at: string) => `${phase} ${at}`,
    held: "result held",
    asked: (at: string) => `Asked ${at}, no reply yet`,
    acknowledged: (at: string) => `Received ${at}, not ended`,
    refused: (why: string) => `Server refused: ${why}`,
    noWord: (at: string) => `No word since ${at}`,
    notEnded: (phase: string, at: string) => `Acknowledged ${at}, not ended: ${phase}`,
  },
  covered: "What is halted",
  at: (when: string, by: string) => `${when} by ${by}`,
  back: "Let work begin again",
  backNote: "Each step is recorded before it takes effect. Cancelled tasks do not start again.",
  stages: {
    acknowledged: {
      title: "Know what ended",
      note: (ended: number, open: number, lost: number) =>
        `${count(ended)} ended, ${count(open)} may still run${lost === 0 ? "" : `, ${count(lost)} out of reach`}.`,
      tick: (open: number, lost: number) => {
        const runs = `${plural(open, "task")} may still run`;
        if (lost === 0) return `Go on although ${runs}`;
        if (open === 0) return `Go on although ${plural(lost, "task is", "tasks are")} out of reach`;
        return `Go on although ${runs} and ${plural(lost, "is", "are")} out of reach`;
      },
      button: "Go on",
    },
    requests: {
      title: "Let people answer again",
      note: "Questions get back the time they had left.",
      button: "Resume",
    },
    readOnly: {
      title: "Let reads through",
      note: "Only tools that their server marks read-only, and that you marked as seen.",
      button: "Resume",
    },
    calls: { title: "Let all calls through", note: "The halt is over.", button: "End the halt" },
  } satisfies Record<RecoveryStageDto, unknown>,
  stageDone: (when: string, by: string) => `${when}, ${by}`,
  reached: {
    acknowledged: "You have seen what stopped.",
    requests: "Questions can be answered again.",
    readOnly: "Read-only calls pass again.",
    calls: "The halt is over.",
  } satisfies Record<RecoveryStageDto, string>,
  confirmedTools: (n: number) => `${plural(n, "tool")} pass${n === 1 ? "es" : ""} now:`,
  told: "What agents are told",
  /** As `gateway/model_text/refused.rs` words it, with the person and the reason of this halt. */
  toldNext:
    "This call was not sent, and nothing ran. Do not repeat it: the user decides in Taskwarden when work goes on.",
  toldFrom: "Taskwarden, in place of a result",
  toldTasks: "Reading the state of a task still works.",
} as const;
