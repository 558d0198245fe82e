/* Text of the inbox and of answering. What a server says is never part of it. */
import { count, plural } from "$lib/format/count";
import { answerSaid } from "$lib/text/events";
import { alarmText } from "$lib/text/inbox/alarm";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";
import { timeLimitText } from "$lib/text/inbox/time-limit";

const inboxCancel = "Ask to cancel";

export const inboxText = {
  title: "Inbox",
  items: (n: number) => plural(n, "item"),
  itemsWhy: "A task that asks two questions counts as two items.",
  more: (n: number) => `${count(n)} more queued`,
  moreWhy: "A server asks more questions than are shown at once. The rest appear as you answer these.",
  list: "What waits for you",
  detail: "What is asked",
  deadline: "With a deadline",
  deadlineNote: "soonest first",
  rest: "No deadline",
  restNote: "oldest first",
  ofServer: (n: number) => `${count(n)}, oldest first`,
  fold: (name: string, isFolded: boolean) => `${isFolded ? "Unfold" : "Fold"} ${name}`,
  waits: (length: string) => `waits ${length}`,
  arrived: (n: number) => `${count(n)} new above`,
  back: (n: number) => `Back to ${plural(n, "item")}`,

  hidden: (n: number, until: string | null) =>
    `${count(n)} hidden, back ${until ?? (n === 1 ? "when it changes" : "when they change")}`,
  showHidden: "Show",
  hideHidden: "Hide",
  hiddenUntil: (until: string) => `hidden, back ${until}`,
  wakeNow: "Show it now",
  answeredBy: (who: string) => `Answered by ${who}`,
  answeredByYou: "Answered by you",
  loading: "Loading the inbox",
  stale: (time: string | null) =>
    time === null ? "Not current: the core does not answer." : `Not current: as of ${time}.`,

  empty: {
    title: "Nothing needs you",
    staleTitle: "Nothing needed you when the core last answered",
    working: (n: number) =>
      n === 0
        ? "No task is working."
        : `${plural(n, "task is", "tasks are")} working. Questions, links and problems appear here.`,
    hidden: (n: number) => `${plural(n, "item is", "items are")} hidden for now.`,
    tasks: "Show tasks",
    choose: "Choose an item to see what is asked.",
  },
  lostTitle: "The inbox could not be loaded",
  gone: {
    title: "This no longer needs you",
    body: "It was answered or withdrawn, or its task ended.",
    next: "Next item",
  },
  noTask: "The rest appears when the core answers.",

  kind: {
    form: "Question",
    url: "Link",
    unsupported: "Unsupported request",
    overdue: "Later than agreed",
    lost: "Lost task",
    unconfirmed: "Not confirmed",
    blocked: "Server needs sign-in",
    held: "Result held",
    overLimit: "Above its limit",
    timeLimit: timeLimitText.kind,
    alarm: alarmText.kind,
    pauseChoice: pauseChoiceText.kind,
  },

  titleOf: {
    form: (server: string) => `${server} asks a question`,
    url: (host: string | null) => (host === null ? "Open a page" : `Open a page at ${host}`),
    unsupported: (server: string) => `${server} asks for something people cannot answer`,
    overdue: (tool: string) => `${tool} runs longer than usual`,
    overdueBy: (tool: string, elapsed: string, usual: string) => `${tool} runs ${elapsed}, usually ${usual}`,
    agreed: (tool: string) => `${tool} is past its time limit`,
    lost: (tool: string, server: string) => `${tool} was lost on ${server}`,
    unconfirmed: (tool: string) => `${tool} was never confirmed`,
    blocked: (server: string) => `${server} needs sign-in`,
    held: (tool: string) => `The result of ${tool} is held`,
    sized: (tokens: string) => `A result of ${plural(tokens, "token")} is held`,
    overLimit: (tool: string, limit: string | null) =>
      limit === null ? `${tool} exceeded its token limit` : `${tool} exceeded ${plural(limit, "token")}`,
    aTask: "A task",
  },

  shared: {
    during: (server: string, calls: number) => `${server} asks during one of ${plural(calls, "call")}`,
    oneOf: (server: string, calls: number) => `${server} · one of ${plural(calls, "call")}`,
    doesNotSay: " and does not say which",
    heading: (calls: number) => `One of these ${plural(calls, "call")} asks`,
    what: (server: string) =>
      `${server} does not say which. Your answer goes to ${server} and is not tied to any of them. Cancelling affects the call you choose, whether it asked or not.`,
    cancelsOne: (tool: string) => `${inboxCancel} ${tool}`,
    possibly: "Possibly waiting for the answer",
    loading: "Loading this call",
    unreadable: "This call could not be loaded",
    more: (n: number) => `Show ${count(n)} more`,
    choose: "Choose a call to cancel",
    cancel: inboxCancel,
    cancelAsked: (server: string, tool: string) => `${server} was asked to cancel ${tool}.`,
    /** Beside the phase, where that does not say it. */
    cancelled: {
      asked: null,
      acknowledged: "acknowledged",
      stopped: null,
      endedHere: null,
      finishedAnyway: "finished before it could stop",
      refused: "cancel refused",
    },
    unsupported: "You can decline, so that the call continues without it, or choose a call to cancel.",
  },
  paused: (server: string) => [`${server} paused `, ", which ", " started "] as const,
  startedOn: (server: string, who: string, when: string) => `On ${server}, started by ${who} ${when}`,
  you: "you",
  unknownStarter: "someone else",

  statusLine: {
    says: "Server says",
    lastHeard: (when: string) => `last heard ${when}`,
    look: (when: string) => `next check ${when}`,
    paused: "your wait does not use its time limit",
    forgets: (when: string) => `the server drops it ${when}`,
    missed: (n: number) => plural(n, "unanswered check", "unanswered checks"),
  },
  toAnswer: "to answer",
  past: (length: string, why: "agreed" | "usual" | null) =>
    `past its ${why === "agreed" ? "time limit" : "usual time"} for ${length}`,

  titleFrom: (server: string) => `The question is text from ${server}.`,
  quoteNote: (server: string) => `Only give information you trust ${server} with.`,
  quoteUnchecked: "Taskwarden has not checked it.",
  destructive: "Destructive",
  answerTo: (server: string) => `Answer to ${server}`,

  link: {
    heading: "Where the link leads",
    ascii: (ascii: string) => `This address uses look-alike characters. In plain letters: ${ascii}`,
    plain: "The connection is not encrypted.",
    here: "This is a page on this machine.",
    password: "The address contains a user name or a password.",
    unreadable: "This is not a web address, so it cannot be opened here.",
    what: (server: string) =>
      `Opens in your browser. Taskwarden does not see what you type there; it only tells ${server} that you agreed.`,
    open: (host: string) => `Open ${host}`,
    again: "Open again",
    done: "I am done there",
    opened: (when: string) => `Opened ${when}.`,
    doneWhat: (server: string) =>
      `“I am done there” tells ${server} that you agreed to the visit. ${server} finds out by itself whether you finished.`,
  },

  unsupported: {
    heading: "What this is",
    sampling: (server: string) => `${server} asks for a reply from a model. Taskwarden does not run models.`,
    roots: (server: string) => `${server} asks which folders it may use. Taskwarden does not share folders.`,
    unsupported: (server: string) => `${server} asks in a way that Taskwarden does not support.`,
    what: "You can decline, so that the task continues without it, or ask the server to cancel the task.",
  },

  overdue: {
    heading: "This run compared with earlier ones",
    now: "now",
    half: "half of the runs",
    most: "95 of 100 runs",
    samples: (n: number) => `from ${plural(n, "run")}`,
    unknown: "Its usual duration is not known yet.",
    from: (server: string) => `text from ${server}`,
    limit: (length: string) => `Its time limit ended ${length}.`,
    keep: "Keep waiting 1 h",
    stop: "Ask to cancel",
  },

  lost: {
    heading: "What is known",
    seen: (word: string, when: string) => `Last seen ${word}, ${when}. It may have finished. No result was received.`,
    early: (when: string) => `The server had agreed to keep it until ${when}.`,
    can: "What you can do",
    check: "Check again",
    checkWhat: (server: string) => `asks ${server} again now`,
    resolve: "Mark resolved…",
    resolveWord: "Mark resolved",
    resolveWhat: "closes it here; nothing is sent",
    stillLost: (server: string) => `${server} still does not know it`,
    foundAgain: (server: string) => `${server} knows the task again`,
  },

  unconfirmed: {
    said: (server: string) =>
      `The call to ${server} was sent, and its reply is lost. It may be running, or it may never have started.`,
    what: (server: string) => `Check on ${server} itself whether the work was done before you start it again.`,
  },

  blocked: {
    heading: "What is known",
    affects: (tasks: number) =>
      tasks === 0 ? "None of its tasks is open." : `${plural(tasks, "open task is", "open tasks are")} affected.`,
    said: (server: string) => `${server} requires a new sign-in. Taskwarden cannot check its tasks until then.`,
    open: (server: string) => `Show ${server}`,
  },

  held: {
    heading: "Held before its agent reads it",
    said: (agent: string, size: string) =>
      `${agent} does not have this result yet (${size}). Until you decide, it sees the task as still working.`,
  },

  sized: {
    tooLarge: "It is larger than one result may be",
    doesNotFit: "It does not fit",
    bar: (inside: string, coming: string) => `${plural(inside, "token")} in the window, ${coming} pending`,
    inside: (figure: string) => `${figure} in the window`,
    free: (figure: string) => `at most ${figure} free`,
    is: [
      "The result is ",
      (how: "exact" | "about" | "atMost", family: string) =>
        how === "exact"
          ? `, counted exactly for ${family}.`
          : how === "about"
            ? `, estimated for ${family}.`
            : `, an upper bound for ${family}.`,
    ] as const,
    size: (figure: string) => plural(figure, "token"),
    sub: (tool: string, server: string, agent: string) =>
      [tool, ` on ${server} finished; ${agent} has not seen the result`] as const,
    done: "no deadline; the task itself is done",
    how: (agent: string) => `How should ${agent} get it?`,
    slices: (size: string | null) => (size === null ? "In parts" : `In parts of up to ${plural(size, "token")}`),
    slicesNote: (n: number | null) =>
      `its first lines and a link now, then ${n === null ? "parts" : `about ${plural(n, "part", "parts")}`} on request`,
    whole: "Whole, once",
    wholeNot: "does not fit",
    fits: "fits into the free part",
    trim: "Trimmed",
    trimNote: "shortened to a valid result; the rest stays here",
    begins: "Begins with",
    from: (server: string) => `text from ${server}`,
    noText: "It contains no text.",
    noBeginning: "Its first lines could not be loaded.",
    showAll: "Show all of it here",
  },

  overLimit: {
    heading: "Cost so far",
    said: (tool: string, figure: string, limit: string) =>
      `${tool} has used ${plural(figure, "token")}. Its limit is ${limit}.`,
    goes: "It keeps working until you decide.",
    can: "What you can do",
    stop: "Ask to cancel",
    stopWhat: (server: string, agent: string) => `${server} may refuse; ${agent} is told that a person asked`,
    goOn: "Let it continue",
    goOnWhat: "you are not asked about this limit again",
    wentOn: (tool: string) => `${tool} continues.`,
  },

  history: {
    heading: "What led here",
    loading: "Loading the history",
    failed: "The history could not be loaded.",
    nothing: "Nothing is recorded yet.",
  },

  facts: {
    more: "Also asks",
    moreOf: (n: number) => plural(n, "question"),
    moreNote: "they appear as you answer these",
    askedBy: "Asked by",
    server: "Server",
    startedBy: "Started by",
    handle: "Handle",
    limit: "Time limit",
    usual: "Usually takes",
    keeps: "Server keeps it",
    cancels: "Obeys cancel",
    asked: "Asked",
    since: "In the inbox since",
    protocol: (version: string) => `protocol ${version}`,
    noTasks: "no task support",
    pushes: "reports changes itself",
    noCancels: "not asked yet",
    stopped: "paused while it waits",
    copy: "Copy the handle",
    copied: "The handle was copied.",
    task: "Show the task",
    adopted: "found on the server",
    window: "Window",
    full: (size: string, percent: string) => `${size}, ${percent} full`,
    upTo: (limit: string) => `up to ${limit}`,
    sizeUnknown: "size unknown",
    kept: "Kept out so far",
    keptTokens: (figure: string) => plural(figure, "token"),
  },

  act: {
    decline: "Decline",
    notNow: "Not now",
    remind: "Remind in 10 min",
    send: "Send answer",
    yes: "Yes",
    yesAnyway: "Yes…",
    no: "No",
    sendAnyway: "Send answer…",
    more: "More actions",
    dismiss: "Dismiss",
    dismissWhat: (server: string) => `tells ${server} that you did not decide`,
    declineWhat: (server: string) => `tells ${server} no`,
    notNowWhat: "hides it for 10 minutes; nothing is sent",
    showTask: "Show the task",
    copyHandle: "Copy the handle",
    startOver: "Start over",
    next: "Next item",
  },
  keys: {
    group: "Inbox",
    down: "Next item in the list",
    up: "Previous item in the list",
    top: "First item",
    end: "Last item",
    next: "Next item that needs you",
    answer: "Answer: focus the form",
    primary: "Run the first action",
    back: "Back to the list",
    arrivals: "Show what arrived above",
    pick: "Select or deselect",
    pickAll: "Select all items shown",
  },

  footer: {
    sending: "Sending…",
    undo: "Undo",
    leaves: (seconds: string) => `sent in ${seconds}`,
    sent: (when: string) => `Sent ${when}`,
    onItsWay: "On its way to the server",
    draftKept: "Draft kept",
    draftRestored: (when: string) => `Draft from ${when}`,
    answered: (who: string, action: string, when: string) => `${who} ${answerSaid(action)} ${when}`,
    elsewhere: (action: string, when: string) => `You ${answerSaid(action)} ${when}, elsewhere`,
    kept: "Your text stays here until you leave.",
    copyAnswer: "Copy your text",
    copiedAnswer: "Your text was copied.",
    withdrawn: "The question was withdrawn",
    refused: (server: string) => `${server} refused the answer`,
    notSent: "The answer was not sent",
    waitsForOthers: (n: number) => `sent with the answers to ${plural(n, "more question")}`,
  },

  confirm: {
    sends: "What will be sent",
    hidden: "hidden",
    nothing: "nothing",
    more: (n: number) => `and ${plural(n, "more value", "more values")}`,
    title: "Send this answer?",
    body: (tool: string, server: string) =>
      `${tool} on ${server} is marked as destructive: its effects may be permanent.`,
    bodyOfSeveral: (server: string) =>
      `At least one of the calls on ${server} that may be asking is marked as destructive: its effects may be permanent.`,
    keep: "Not yet",
    send: "Send answer",
  },
  cancel: {
    title: (tool: string) => `Ask the server to cancel ${tool}?`,
    what: (server: string) => `${server} may cancel it, refuse, or finish first; you will see which.`,
    reason: "Reason",
    optional: "Optional",
    ask: "Ask to cancel",
    keep: "Keep waiting",
    steps: "Progress of the cancel",
    asked: "Asked",
    acknowledged: "Acknowledged",
    stopped: "Stopped",
    finishedAnyway: "Finished before it could stop",
    refused: "Refused",
    stillWorking: "Still working",
    close: "Close",
  },
  resolve: {
    title: (tasks: number) => (tasks > 1 ? `Mark all ${count(tasks)} resolved?` : "Mark it resolved?"),
    what: (tasks: number) =>
      `${tasks > 1 ? "The tasks are" : "The task is"} closed here and no longer checked. Nothing is sent to the server.`,
    note: "What happened",
    keep: "Keep it open",
    resolve: "Mark resolved",
    done: "Marked resolved",
  },

  toast: {
    sending: (server: string) => `Sending your answer to ${server}…`,
    declining: (server: string) => `Declining on ${server}…`,
    dismissing: (server: string) => `Telling ${server} that you did not decide…`,
    consenting: (server: string) => `Telling ${server} that you agreed…`,
    undone: "Undone. Nothing was sent.",
    hidden: (length: string) => `Hidden for ${length}. Nothing was sent.`,
  },
  said: {
    one: (server: string) => `1 new item in the inbox, from ${server}.`,
    some: (n: number) => `${plural(n, "new item")} in the inbox.`,
  },
} as const;
