/* The words of the inbox and of answering. What a server says is never in here. */
import { count, plural } from "$lib/format/count";

const inboxCancel = "Ask to cancel";

export const inboxText = {
  title: "Inbox",
  items: (n: number) => plural(n, "item"),
  itemsWhy: "A task that asks two questions is one task and two items.",
  more: (n: number) => `${count(n)} more to come`,
  moreWhy: "A server asks more than is shown at once. The rest comes up as these are answered.",
  list: "What waits for you",
  detail: "What is asked",
  deadline: "With a deadline",
  deadlineNote: "soonest first",
  rest: "Waiting",
  restNote: "oldest first",
  ofServer: (n: number) => `${count(n)}, oldest first`,
  fold: (name: string, isFolded: boolean) => `${isFolded ? "Unfold" : "Fold"} ${name}`,
  waits: (length: string) => `waits ${length}`,
  arrived: (n: number) => `${count(n)} new above`,
  back: (n: number) => `Back to ${plural(n, "item")}`,

  hidden: (n: number, until: string) => `${count(n)} hidden, back ${until}`,
  showHidden: "Show",
  hideHidden: "Hide",
  hiddenUntil: (until: string) => `hidden, back ${until}`,
  wakeNow: "Show it again now",
  answeredBy: (who: string) => `Answered by ${who}`,
  answeredByYou: "Answered by you",
  loading: "Loading what waits for you",
  stale: (time: string | null) =>
    time === null ? "Not current: the core does not answer." : `Not current: as of ${time}.`,

  empty: {
    title: "Nothing needs you",
    staleTitle: "Nothing needed you when the core was last heard",
    working: (n: number) =>
      n === 0
        ? "No task is working."
        : `${plural(n, "task is", "tasks are")} working; questions, links and trouble appear here.`,
    hidden: (n: number) => `${plural(n, "item is", "items are")} hidden for now.`,
    tasks: "Show tasks",
    choose: "Choose an item to see what is asked.",
  },
  lostTitle: "What waits for you cannot be read",
  gone: {
    title: "This no longer waits for you",
    body: "It was answered, withdrawn or it ended meanwhile.",
    next: "Show the next one",
  },
  noTask: "The rest of it is shown as soon as the core answers.",

  kind: {
    form: "Question",
    url: "Link",
    unsupported: "Request nobody here can answer",
    overdue: "Later than agreed",
    lost: "Lost task",
    unconfirmed: "Not confirmed",
    blocked: "Server needs sign-in",
    held: "Result held",
    overLimit: "Past its limit",
  },

  titleOf: {
    form: (server: string) => `${server} asks a question`,
    url: (host: string | null) => (host === null ? "Open a page" : `Open a page at ${host}`),
    unsupported: (server: string) => `${server} asks for something people cannot give`,
    overdue: (tool: string) => `${tool} runs longer than usual`,
    overdueBy: (tool: string, elapsed: string, usual: string) => `${tool} runs ${elapsed}, usually ${usual}`,
    agreed: (tool: string) => `${tool} is past its time limit`,
    lost: (server: string) => `${server} no longer knows this task`,
    unconfirmed: (tool: string, server: string) => `${tool} was never confirmed by ${server}`,
    blocked: (server: string) => `${server} needs sign-in`,
    held: (tool: string, agent: string | null) =>
      agent === null ? `The result of ${tool} waits for you` : `The result of ${tool} waits before ${agent} gets it`,
    sized: (tokens: string) => `A result of ${tokens} tokens is held`,
    overLimit: (tool: string, limit: string | null) =>
      limit === null ? `${tool} went past its limit of tokens` : `${tool} went past ${limit} tokens`,
    aTask: "A task",
  },

  shared: {
    during: (server: string, calls: number) => `${server} asks during one of ${count(calls)} calls`,
    oneOf: (server: string, calls: number) => `${server} · one of ${count(calls)} calls`,
    doesNotSay: " and does not say which",
    heading: (calls: number) => `One of these ${count(calls)} calls asks`,
    what: (server: string) =>
      `${server} does not say which. Your answer goes to ${server} and is tied to none of them. A cancel ends the call you choose, whether it asks or not.`,
    cancelsOne: (tool: string) => `${inboxCancel} ${tool}`,
    possibly: "Possibly waiting for the answer",
    loading: "Reading this call",
    unreadable: "This call cannot be read",
    more: (n: number) => `Show ${count(n)} more`,
    choose: "Choose a call to cancel",
    cancel: inboxCancel,
    cancelAsked: (server: string, tool: string) => `${server} was asked to cancel ${tool}.`,
    /** Beside the phase, where that does not say it. */
    cancelled: {
      asked: null,
      acknowledged: "acknowledged",
      stopped: null,
      finishedAnyway: "finished before it could stop",
      refused: "cancel refused",
    },
    unsupported: "You can decline, so that the call goes on without it, or choose a call to cancel.",
  },
  paused: (server: string) => [`${server} paused `, ", which ", " started "] as const,
  startedOn: (server: string, who: string, when: string) => `On ${server}, started by ${who} ${when}`,
  you: "you",
  unknownStarter: "somebody else",

  statusLine: {
    says: "Server says ",
    unknownTask: "unknown task",
    lastHeard: (when: string) => `last heard ${when}`,
    look: (when: string) => `next look ${when}`,
    paused: "your wait does not use up its time",
    forgets: (when: string) => `the server forgets it ${when}`,
    missed: (n: number) => plural(n, "look without an answer", "looks without an answer"),
  },
  toAnswer: "to answer",
  past: (length: string, why: "agreed" | "usual" | null) =>
    `past its ${why === "agreed" ? "time limit" : "usual time"} for ${length}`,

  quoteNote: (server: string) => `Only give information you trust ${server} with.`,
  quoteUnchecked: "Taskwarden has not checked it.",
  destructive: "Destructive",
  answerTo: (server: string) => `Answer to ${server}`,

  link: {
    heading: "Where the link leads",
    ascii: (ascii: string) => `Its letters can look like others. In plain letters: ${ascii}`,
    plain: "The connection is not encrypted.",
    here: "This is a page on this machine.",
    password: "The address carries a name or a password.",
    unreadable: "This is no web address, so it cannot be opened from here.",
    what: (server: string) =>
      `Opens in your browser. Taskwarden does not see what you type there, and ${server} gets nothing from here but your consent.`,
    open: (host: string) => `Open ${host}`,
    again: "Open again",
    done: "I am done there",
    opened: (when: string) => `Opened ${when}.`,
    doneWhat: (server: string) =>
      `“I am done there” tells ${server} that you agreed to the visit. Whether you finished it, ${server} finds out by itself.`,
  },

  unsupported: {
    heading: "What this is",
    sampling: (server: string) => `${server} asks for a model’s reply. Taskwarden has no model and answers for none.`,
    roots: (server: string) => `${server} asks which folders it may use. Taskwarden names no folders by itself.`,
    unsupported: (server: string) => `${server} asks in a way that no person can answer here.`,
    what: "You can decline, so that the task goes on without it, or ask the server to cancel the task.",
  },

  overdue: {
    heading: "This run against the usual one",
    now: "now",
    half: "half of the runs",
    most: "95 of 100 runs",
    samples: (n: number) => `from ${plural(n, "run")}`,
    unknown: "How long it usually takes is not known yet.",
    messages: "Last messages",
    from: (server: string) => `text from ${server}`,
    limit: (length: string) => `Its time limit ended ${length}.`,
    keep: "Keep waiting 1 h",
    stop: "Ask to cancel",
  },

  lost: {
    heading: "What is known",
    seen: (word: string, when: string) => `Last seen ${word}, ${when}. It may have finished. No result was read.`,
    early: (when: string) => `Its time on the server was to end ${when}.`,
    can: "What you can do",
    check: "Check again",
    checkWhat: (server: string) => `asks ${server} once more, now`,
    resolve: "Mark resolved…",
    resolveWord: "Mark resolved",
    resolveWhat: "closes the handle here; nothing is sent",
    stillLost: (server: string) => `${server} still does not know it`,
    foundAgain: (server: string) => `${server} knows the task again`,
  },

  unconfirmed: {
    said: (server: string) =>
      `The call left, and the connection ended before ${server} answered. It may run there, it may never have begun, and no answer can arrive any more.`,
    what: (server: string) => `Look at ${server} itself whether the work was done before you start it again.`,
  },

  blocked: {
    heading: "What is known",
    said: (server: string) => `${server} lets nobody in without signing in anew. Its tasks are not heard until then.`,
    open: (server: string) => `Show ${server}`,
  },

  held: {
    heading: "Before its agent reads it",
    said: (agent: string, size: string) =>
      `${agent} does not have this result yet (${size}). Until you decide, it sees the task as still at work.`,
  },

  sized: {
    tooLarge: "It is more than one result may bring",
    doesNotFit: "It does not fit",
    bar: (inside: string, coming: string) => `${inside} tokens in the window, ${coming} about to come in`,
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
    size: (figure: string) => `${figure} tokens`,
    sub: (tool: string, server: string, agent: string) =>
      [tool, ` on ${server} finished; ${agent} has not seen the result`] as const,
    done: "no deadline; the task itself is done",
    how: (agent: string) => `How should ${agent} get it?`,
    slices: (slice: string | null) => (slice === null ? "In slices" : `In slices of up to ${slice} tokens`),
    slicesNote: (n: number | null) =>
      `its first lines and a link now, then ${n === null ? "slices" : `about ${plural(n, "slice")}`} as it asks`,
    whole: "Whole, once",
    wholeNot: "does not fit",
    fits: "fits what is seen to be free",
    trim: "Trimmed",
    trimNote: "cut, and still a valid result; the rest stays here",
    begins: "Begins with",
    from: (server: string) => `text from ${server}`,
    noText: "There is no text in it.",
    noBeginning: "Its beginning cannot be read now.",
    showAll: "Show all of it here",
  },

  overLimit: {
    heading: "What it cost so far",
    said: (tool: string, figure: string, limit: string) =>
      `${tool} has said and brought ${figure} tokens. Its limit asks you at ${limit}.`,
    goes: "It goes on working until you decide.",
    can: "What you can do",
    stop: "Stop it",
    stopWhat: (server: string, agent: string) => `asks ${server} to cancel it; ${agent} reads that a person stopped it`,
    goOn: "Let it go on",
    goOnWhat: "it is not asked about again for this limit",
    wentOn: (tool: string) => `${tool} goes on.`,
  },

  history: {
    heading: "What led here",
    answeredByYou: "Answered by you",
    loading: "Loading what led here",
    failed: "What led here cannot be read now.",
    nothing: "Nothing is recorded yet.",
  },

  facts: {
    more: "Asks besides",
    moreOf: (n: number) => plural(n, "question"),
    moreNote: "they come up as these are answered",
    askedBy: "Asked by",
    server: "Server",
    startedBy: "Started by",
    handle: "Handle",
    limit: "Time limit",
    usual: "Usually takes",
    keeps: "Server keeps it",
    cancels: "Cancels obeyed",
    asked: "Asked",
    modern: "modern tasks",
    experimental: "experimental tasks",
    noTasks: "no tasks of its own",
    pushes: "pushes changes",
    usualRange: (from: string, to: string) => `${from} to ${to}`,
    obeyed: (n: number, of: number) => `${count(n)} of ${count(of)}`,
    noCancels: "none asked yet",
    stopped: "stopped while it waits",
    copy: "Copy the handle",
    copied: "The handle was copied.",
    task: "Show the task",
    adopted: "found at the server",
    window: "Window",
    full: (size: string, percent: string) => `${size}, ${percent} full`,
    upTo: (limit: string) => `up to ${limit}`,
    sizeUnknown: "size not known",
    kept: "Kept out so far",
    keptTokens: (figure: string) => `${figure} tokens`,
  },

  act: {
    decline: "Decline",
    notNow: "Not now",
    remind: "Remind in 10 min",
    send: "Send answer",
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
    answer: "Answer: go into the form",
    primary: "Do the first action",
    back: "Back to the list",
    arrivals: "Show what arrived above",
  },

  footer: {
    sending: "Sending…",
    undo: "Undo",
    leaves: (seconds: string) => `leaves in ${seconds}`,
    sent: (when: string) => `Sent ${when}`,
    onItsWay: "On its way to the server",
    draftKept: "Draft kept",
    draftRestored: (when: string) => `Draft from ${when}`,
    answered: (who: string, when: string) => `Answered by ${who} ${when}`,
    elsewhere: (when: string) => `Answered by you ${when}, in another window`,
    kept: "What you wrote stays here until you leave.",
    copyAnswer: "Copy what you wrote",
    copiedAnswer: "What you wrote was copied.",
    withdrawn: "The question was withdrawn",
    refused: (server: string) => `${server} refused the answer`,
    notSent: "The answer was not sent",
    waitsForOthers: (n: number) => `leaves with the answers to ${plural(n, "more question")}`,
  },

  confirm: {
    title: "Send this answer?",
    body: (tool: string, server: string) =>
      `${tool} on ${server} is marked destructive: what it does may not be undone.`,
    bodyOfSeveral: (server: string) =>
      `At least one of the calls that may be asking on ${server} is marked destructive: what it does may not be undone.`,
    keep: "Not yet",
    send: "Send answer",
  },
  cancel: {
    title: (tool: string) => `Ask the server to cancel ${tool}?`,
    what: (server: string) => `${server} is asked to stop. It may obey, refuse or finish first; you will see which.`,
    reason: "Reason",
    optional: "Optional",
    ask: "Ask to cancel",
    keep: "Keep waiting",
    steps: "What became of it",
    asked: "Asked",
    acknowledged: "Acknowledged",
    stopped: "Stopped",
    finishedAnyway: "Finished before it could stop",
    refused: "Refused",
    stillWorking: "Still working",
    close: "Close",
  },
  resolve: {
    title: "Mark it resolved?",
    what: "The handle is closed here and no longer looked at. Nothing is sent to the server.",
    note: "What became of it",
    keep: "Keep it open",
    resolve: "Mark resolved",
    done: "Marked resolved",
  },

  toast: {
    sending: (server: string) => `Sending your answer to ${server}…`,
    declining: (server: string) => `Telling ${server} no…`,
    dismissing: (server: string) => `Telling ${server} that you did not decide…`,
    consenting: (server: string) => `Telling ${server} that you agreed…`,
    undone: "Taken back. Nothing was sent.",
    hidden: (length: string) => `Hidden for ${length}. Nothing was sent.`,
  },
  said: {
    one: (server: string) => `1 new item in the inbox, from ${server}.`,
    some: (n: number) => `${count(n)} new items in the inbox.`,
  },
} as const;
