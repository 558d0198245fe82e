/* Text of one task: its state, its history, its cancel. What a server says is never part of it. */
import type { OfferedStep, Phase, PhaseGroup, ServerDto, TakenStep } from "$lib/bindings";
import { count, listed, plural } from "$lib/format/count";

export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  waiting: "Waiting for you",
  overdue: "Later than agreed",
  unconfirmed: "Not confirmed by the server",
  blocked: "Server needs sign-in",
  running: "Working",
  answering: "Sending answer",
  cancelling: "Cancel requested",
  done: "Done",
  doneWithError: "Finished with an error",
  failed: "Failed",
  cancelled: "Cancelled",
  revoked: "Access revoked",
  unwatched: "Not watched",
  silent: "No news",
  lost: "Lost by the server",
  expired: "Expired at the server",
};

export const GROUP_WORDS: Readonly<Record<PhaseGroup, string>> = {
  needsYou: "Needs you",
  moving: "In progress",
  noNews: "No news",
  finished: "Finished",
};

/** Beside a phase, or in its place where it says too little. */
export const PHASE_FLAGS = {
  laterThanUsual: "Later than usual",
  cancelRefused: "cancel refused",
  finishedAnyway: "not stopped in time",
  held: "result held",
  willBeHeld: "result will be held",
  agentGone: "agent gone",
  agentPaused: "Waiting: paused",
  serverFrozen: "Waiting: server frozen",
  alarm: "Waiting: alarm",
  frozen: "frozen",
} as const;

export const TASK = {
  /** The word of the glossary for what makes a task stand still. */
  paused: { agentPaused: "Paused", serverFrozen: "Frozen", alarm: "Alarm", frozen: "Frozen" },
  close: "Close, Esc",
  copy: "Copy the task’s id, y",
  copied: "Copied the task’s id.",
  copiedLink: "Copied the link.",
  more: "More actions",
  resize: "Width of the task’s detail",
  expand: "Show it over the whole window, f",
  shrink: "Back beside the list, f",
  wholeKey: "Show the task over the whole window, or beside the list",
  loading: "Loading the task",
  gone: "Task not found",
  goneHow: "It may have been removed, or the link comes from another installation of Taskwarden.",
  notHere: "The core does not answer, and this task was not loaded before.",
  notHereHow: "It appears here when the core is back.",
  failed: "The task could not be loaded.",
  again: "Try again",
  untitled: "Task",
  by: {
    agent: (server: string, agent: string, at: string) => `${server}, started by ${agent} at ${at}`,
    person: (server: string, who: string, at: string) => `${server}, started by ${who} at ${at}`,
    discovered: (server: string, at: string) => `${server}, found in its list at ${at}`,
    adopted: (server: string, at: string) => `${server}, added by its id at ${at}`,
    started: (server: string, at: string) => `${server}, started at ${at}`,
  },
  you: "you",
  youFirst: "You",
  doors: { window: "in the window", browser: "in a browser", terminal: "in a terminal" },

  statusLine: {
    label: "What is known",
    says: "Server says",
    nextUnknown: "next check unknown",
    notHeard: (when: string) => `silent, last heard ${when}`,
    next: (when: string) => `next check ${when}`,
    noLook: "no more checks",
    noLookNow: "no checks meanwhile",
    pushes: "reports changes itself",
    lookDue: "checking now",
  },
  then: {
    waiting: (when: string) => `waits for you; the server drops it ${when}`,
    waitingOpen: "waits until someone answers",
    paused: "goes on when a person ends the pause",
    waitingPerhaps: "may be waiting for an answer",
    late: (when: string) => `counts as late ${when}`,
    runs: "runs until it ends",
    overdue: "continues until it ends or is cancelled",
    answering: "the answer is sent again until the server has it",
    cancelling: "Taskwarden checks until it ends",
    silent: "Taskwarden keeps checking",
    blocked: "continues unseen until you sign in to the server",
    stays: "stays here until you mark it resolved",
    kept: (when: string) => `the server drops it ${when}`,
    stored: "its result is stored here",
    none: "nothing more will happen",
    unwatched: "no longer checked; it may still run",
  },
  serverEnded: {
    ended: (who: string, at: string) => `its server was ended by ${who} at ${at}`,
    restarted: (who: string, at: string) => `its server was restarted by ${who} at ${at}`,
    changed: (who: string, at: string) => `its server was changed by ${who} at ${at}`,
  },

  tabs: {
    label: "Parts of the task",
    overview: "Overview",
    answers: "Answers",
    timeline: "Timeline",
    tokens: "Tokens",
    raw: "Raw",
  },
  tabKeys: { previous: "Previous part", next: "Next part" },

  overview: {
    asks: (server: string) => `${server} asks`,
    trust: "Only give information you trust it with.",
    lines: "Last messages",
    linesBeforeEnd: "Last messages before the end",
    linesFrom: (server: string) => `from ${server}`,
    allLines: (n: number) => `Show all ${count(n)} in the timeline`,
    follow: (since: number) => (since === 0 ? "Follow" : `Follow, ${plural(since, "line")} since`),
    calledWith: "Arguments",
  },
  failedWith: {
    server: (code: number, server: string) => `Error ${code} from ${server}`,
    here: "Reported by Taskwarden",
    at: (when: string, after: string) => `at ${when}, after ${after}`,
  },
  progress: {
    label: "Progress",
    waitsAt: (percent: string) => `At ${percent} while it waits`,
    done: (done: string) => `${done} done`,
    of: (done: string, total: string) => `${done} of ${total}`,
    left: (time: string) => `about ${time} left`,
    from: (server: string) => `from ${server}`,
    rate: "Average rate",
    perMinute: (n: string) => `${n} a minute`,
    running: "Running for",
    ran: "Ran for",
    ranBefore: "Ran before it asked",
    ranUntilLost: "Ran as far as is known",
    usually: "Usually takes",
  },

  lanes: {
    label: "Timeline",
    time: "Time",
    agent: "Agent",
    server: "Server",
    person: "Person",
    policy: "Rules",
    /** Who took no part, in the order of the lanes. */
    absent: (names: readonly ("agent" | "server" | "person" | "policy")[]) => {
      const words = { agent: "agent", server: "server", person: "person", policy: "rule" };
      const list = names.map((name) => words[name]);
      const last = list.pop() ?? "";
      return `No ${list.length === 0 ? last : `${list.join(", ")} or ${last}`} took part.`;
    },
    said: "The list below has the same events as text.",
  },
  hidden: {
    mark: "Hidden: this task is in no list and no count.",
    hide: "Hide from lists",
    unhide: "Show again",
  },
  events: { title: "What happened", none: "Nothing is recorded yet.", older: (n: number) => `Show ${count(n)} older` },
  log: {
    title: "Status log",
    none: "The server has sent no status message.",
    note: (server: string) => `Text from ${server}`,
  },

  shared: {
    flag: "possibly",
    during: (server: string, calls: number | null) =>
      calls === null
        ? `${server} asks during one of several calls`
        : `${server} asks during one of ${plural(calls, "call")}`,
    many: (server: string, n: number) => `${server} asks ${plural(n, "question")} and does not say during which calls`,
    body: "It does not say which. This task is possibly waiting for the answer.",
    bodyOfMany: "This task is possibly waiting for one of them.",
    answer: "Answer",
    ofOne: (calls: number | null) =>
      calls === null
        ? "Asked by one of several calls, possibly by this one"
        : `Asked by one of ${plural(calls, "call")}, possibly by this one`,
  },
  answers: {
    none: "This task has not asked anything.",
    more: (n: number, server: string) =>
      `And ${plural(n, "more question")} of ${server}. They appear as you answer these.`,
    kinds: {
      form: "Form",
      url: "Link",
      sampling: "Asks for a model’s reply",
      roots: "Asks for folders",
      unsupported: "Cannot be answered here",
    },
    states: { open: "Open", answered: "Answered", confirmed: "Answered", withdrawn: "Withdrawn" },
    outcomes: { accept: "Answered", decline: "Declined", dismiss: "Dismissed" },
    delivery: {
      recorded: "recorded, not sent yet",
      sent: "sent, not acknowledged yet",
      acknowledged: "the server has it",
      refused: "the server refused it",
    },
    unsure: "sent; the call ended before the server acknowledged it",
    by: (outcome: string, who: string, when: string) => `${outcome} by ${who} ${when}`,
    asked: (when: string) => `Asked ${when}`,
    secret: "sent, not shown here",
    erased: "What was answered is no longer stored.",
    notLoaded: "What was answered could not be loaded.",
    open: "Answer in the inbox",
    held: (when: string) => `sent ${when}`,
  },

  result: {
    none: "The result appears here when the task ends.",
    result: "Result",
    error: "Error",
    arguments: "Arguments",
    what: "Show",
  },

  raw: {
    about: "Messages between Taskwarden and the server, exactly as they were sent, in JSON.",
    none: "No raw messages are stored. Taskwarden stores those that ask a question, answer one, or report an error.",
    fromServer: "from the server",
    toServer: "to the server",
    show: "Show",
    hide: "Hide",
    more: "Show more",
    cut: "cut to what is stored",
    failed: "The message could not be loaded.",
  },

  related: {
    label: "Other tasks",
    parent: "Started while this was open:",
    why: {
      trace: "Their agent marked both as parts of the same work.",
      openTask: "It was the newest open task of the same agent.",
    },
    attempt: (n: number, all: number) => `Attempt ${count(n)} of ${count(all)}`,
    attemptName: (n: number) => `Attempt ${count(n)}`,
    children: (n: number) => `${plural(n, "task was", "tasks were")} started during this one`,
    more: (n: number) => `Show ${count(n)} more`,
  },

  hold: {
    waits: (agent: string) => `The result is held; ${agent} does not have it yet.`,
    willWait: (agent: string) => `Its result will be held before ${agent} gets it.`,
    since: (who: string, when: string) => `Held by ${who} ${when}`,
    aLimit: "a limit",
    size: (figure: string, family: string) => `It has ${plural(figure, "token")} (${family}).`,
    byLimit: (agent: string) => `Because of a limit, ${agent} reads it in parts.`,
    whole: (agent: string, who: string, when: string) => `Delivered whole to ${agent} by ${who} ${when}.`,
    sliced: (agent: string, who: string, when: string) => `Delivered in parts to ${agent} by ${who} ${when}.`,
    trimmed: (agent: string, who: string, when: string, tokens: string | null) =>
      `Delivered to ${agent} by ${who} ${when}, trimmed${tokens === null ? "" : ` to about ${plural(tokens, "token")}`}.`,
    withheld: (agent: string, who: string, when: string) => `Withheld from ${agent} by ${who} ${when}.`,
    acts: "Actions for the result",
    hold: "Hold the result",
    held: (agent: string) => `The result will be held for you before ${agent} gets it.`,
  },

  cancel: {
    cancel: "Cancel task",
    cancelling: "Cancelling…",
    cancelled: "Cancelled",
    anyway: "Finished first",
    refused: "Cancel refused",
    again: "Ask again",
    label: (task: string) => `Cancelling ${task}`,
    askTitle: (task: string, server: string) => `Ask ${server} to cancel ${task}?`,
    effect: "The server is asked once. It may refuse, or finish first.",
    reason: "Reason",
    reasonHint: "Optional; shown to the agent and the server, and kept in the audit log",
    send: "Cancel task",
    keep: "Keep running",
    keepWaiting: "Keep waiting",
    since: (when: string) => `asked ${when}`,
    notObeyed: "Cancel requested, not obeyed",
    /** How many were obeyed of those whose end is known. */
    obeyed: ({ asked, stopped, finishedAnyway, refused }: ServerDto["cancels"]) => {
      const decided = stopped + finishedAnyway + refused;
      return decided === 0 ? `${count(asked)} still open` : `${count(stopped)} of ${count(decided)}`;
    },
    next: {
      title: "Next steps",
      note: "each says what it affects",
      affects: (what: string) => `Affects ${what}.`,
      ask: (label: string) => `${label}?`,
      ends: (n: number, agents: readonly string[]) =>
        `${plural(n, "open task ends", "open tasks end")}${agents.length === 0 ? "" : `, of ${listed(agents)}`}.`,
      processes: (names: readonly string[]) => (names.length === 0 ? "" : ` Processes: ${names.join(", ")}.`),
      /** Buttons, by what they do; those with an ellipsis ask first. */
      take: {
        cancel: "Ask again",
        holdResult: "Hold result",
        revoke: "Revoke…",
        revokeAgent: "Revoke agent…",
        shutDown: "Shut down…",
      } satisfies Record<OfferedStep["step"], string>,
      pending: "in progress",
      others: (n: number) => `${plural(n, "other task")} with it`,
      done: {
        cancel: "Asked to cancel",
        holdResult: "Result held",
        revoke: "Revoked from its agent",
        revokeAgent: "Agent revoked",
        shutDown: "Server shut down",
      } satisfies Record<TakenStep["step"], string>,
      stopped: {
        server: "Its server said how it ended",
        nothingRan: "It never ran on its server",
        processes: "Its processes were seen to be gone",
      },
      failed: "The steps could not be loaded",
    },
    steps: {
      recorded: "Recorded, being sent to the server",
      onlyRecorded: "Recorded",
      asked: (server: string) => `Asked ${server} to cancel`,
      acknowledged: (server: string) => `${server} acknowledged`,
      noWord: (server: string) => `No reply from ${server} yet`,
      refused: (server: string) => `${server} refused to cancel it`,
      notSent: (server: string) => `It could not be sent to ${server}`,
      still: (server: string) => `Still working on ${server}`,
      stopped: (server: string) => `${server} says it stopped`,
      endedHere: (server: string) => `Cancelled here. It was not sent, so ${server} was not asked`,
      anyway: "Finished before it could stop",
      withServer: (server: string) => `The process of ${server} ended`,
      kept: "Its result is stored.",
      todo: "Cancelled, or finished first",
      obeyed: (stopped: number, asked: number) => `It obeyed ${count(stopped)} of ${count(asked)} earlier cancels.`,
      never: "This is its first cancel.",
      looks: (when: string) => `Next check ${when}.`,
      reason: (words: string) => `“${words}”`,
      goesOn: "The task continues.",
    },
    saidAsked: (server: string) => `Asked ${server} to cancel.`,
    saidStopped: (server: string) => `${server} says it stopped.`,
    saidAnyway: "Finished before it could stop.",
    saidRefused: (server: string) => `${server} refused to cancel it.`,
    saidNotSent: (server: string) => `It could not be sent to ${server}.`,
  },

  actions: {
    unwatch: "Stop watching",
    unwatched: "Stopped watching. The task may continue on its server.",
    resolve: "Mark resolved…",
    resolveTitle: "Mark it resolved?",
    resolveEffect: "It leaves the inbox and is no longer checked. The server is not told.",
    note: "Note",
    noteHint: "Optional; kept in the audit log",
    resolveDo: "Mark resolved",
    resolved: "Marked resolved.",
    back: "Back",
    poll: "Check again",
    polled: "Checked.",
    revoke: (agent: string) => `Revoke it from ${agent}…`,
    revokeTitle: (agent: string) => `Revoke this task from ${agent}?`,
    revokeEffect: (agent: string, server: string) =>
      `${agent} loses access to the task at once. ${server} is asked to cancel it.`,
    revokeDo: (agent: string) => `Revoke it from ${agent}`,
    revoked: (agent: string) => `${agent} no longer has the task.`,
    copyLink: "Copy link",
    copyId: "Copy id",
    answer: "Answer",
    runAgain: "Run again…",
    copyCommand: "Copy as command",
    copiedCommand: "Copied the command.",
    noArguments: "The arguments of this task are no longer stored, or are too large to copy.",
    notForForm: "The arguments hold a number that a form cannot keep exactly. Copy the task as a command instead.",
  },
} as const;

export const SERVER_STATUS = {
  unsaid: {
    awaiting: (server: string) => `${server} has not replied yet`,
    ownCall: (server: string) => `${server} has not replied yet`,
    gated: () => "Not sent: it waits until a person decides",
    asking: (server: string) => `${server} asks before it starts`,
    notSent: () => "Nothing of it runs",
    unanswered: (server: string) => `The reply from ${server} is lost`,
    direct: (server: string) => `${server} replied without a task`,
    refused: (server: string) => `${server} answered with an error`,
    task: (server: string) => `${server} gave no status`,
  },
  called: (when: string) => `called ${when}`,
  made: (when: string) => `created ${when}`,
  heard: (when: string) => `last heard ${when}`,
} as const;
