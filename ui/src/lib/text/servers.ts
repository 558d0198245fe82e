/* Text of the servers screen. What a server says is never part of it. */
import type { LeftEntries, UsualResult } from "$lib/bindings";
import { count, listed, plural } from "$lib/format/count";
import { shortTokens } from "$lib/format/tokens";
import { leftEntries } from "./servers/left-entries";

interface OnServer {
  readonly agent: string | null;
  readonly openTasks: number;
  readonly calls: number;
}

/** What ends with a process, and whose it is. */
function ends(tasks: number, agents: readonly OnServer[]): string {
  const calls = agents.reduce((sum, one) => sum + one.calls, 0);
  if (tasks === 0 && calls === 0) return "Nothing runs on it now.";
  const what = [...(tasks > 0 ? [plural(tasks, "task")] : []), ...(calls > 0 ? [plural(calls, "running call")] : [])];
  return `It ends ${listed(what)} of ${listed(agents.map((one) => one.agent ?? "people"))}.`;
}

export const serversText = {
  title: "Servers",
  add: "Add a server",
  next: "Next server",
  previous: "Previous server",
  search: "Find a server",
  noMatch: (text: string) => `No server matches “${text}”.`,
  clearSearch: "Show all servers",
  close: "Close",
  empty: {
    title: "No server yet",
    body: "Servers you add appear here with their health, their tools, and how often they obeyed a cancel.",
  },
  loadFailed: "The servers could not be loaded",
  stale: "Not current: the core does not answer.",
  startedHere: (name: string) => `${name}, started by Taskwarden on this machine`,
  /** `place` begins with `here`. */
  runsHere: (name: string, place: string) => `${name} ${place}`,
  runsAt: (name: string, host: string) => `${name} at ${host}`,
  columns: {
    server: "Server",
    health: "Health",
    era: "Protocol",
    needs: "Needs you",
    open: "Open",
    cancels: "Obeys cancel",
  },
  here: "on this machine",
  noTasks: "no tasks of its own",
  notConnectedYet: "unknown",
  tools: (n: number) => plural(n, "tool"),
  noCancels: "not asked yet",
  /** After `obeyed`: how long the middle one took. */
  within: (time: string) => `, in ${time}`,
  cancelsTold: (stopped: number, finished: number, refused: number, open: number) =>
    listed([
      plural(stopped, "cancel") + " obeyed",
      ...(finished > 0 ? [`${count(finished)} finished anyway`] : []),
      ...(refused > 0 ? [`${count(refused)} refused`] : []),
      ...(open > 0 ? [`${count(open)} still open`] : []),
    ]),

  health: {
    up: "Connected",
    down: "Not reachable",
    ended: "Ended",
    frozen: "Frozen",
    blocked: "Needs sign-in",
    signingIn: "waiting for the browser",
    connecting: "Connecting",
    unknown: "Not tried yet",
    notAgreed: "Not allowed yet",
    pushes: "reports changes itself",
    asked: "is asked for changes",
    kept: "calls run as tasks",
    allow: "review and allow it",
    retry: (when: string) => `retry ${when}`,
    since: (time: string) => `since ${time}`,
  },

  detail: {
    address: "Address",
    questions: "Questions",
    refusedQuestions: (n: number, when: string) =>
      `${plural(n, "question")} refused, the first ${when}: too many are open. Answer or cancel some in the inbox.`,
    command: "Runs on this machine",
    allowed: (who: string, when: string) => `${who} allowed this ${when}.`,
    notAllowed: "Nobody has allowed contact yet. Nothing runs until then.",
    allow: "Allow and connect",
    health: "Health",
    speaks: "Protocol",
    calls: "Reported name",
    version: (version: string) => `version ${version}`,
    log: "Log",
    access: "Access",
    tabs: (name: string) => `Parts of ${name}`,
    copyName: "Copy the name",
    copiedName: (name: string) => `Copied ${name}`,
    more: "Change or remove",
    tasksOpen: (n: number) => (n === 0 ? "no open tasks" : `${plural(n, "open task")}`),
    protocol: (word: string) => (word.startsWith("no ") ? word : `protocol ${word}`),
    nothingRuns: "Nothing runs until somebody allows it.",
    toolsNot: "Its tools are shown while it is connected.",
    canCancel: "can cancel tasks",
    cannotCancel: "cannot cancel tasks: after a cancel request, the result is held",
    cannotList: "cannot list its tasks",
    connecting: "Connecting now.",
    unknown: "No connection was tried since the core started.",
    downWithoutRetry: "No retry until its address changes.",
    stderr: "Last error output of the program",
    tools: "Tools",
    findTool: "Find a tool",
    noTool: (text: string) => `No tool matches “${text}”.`,
    noTools: "This server lists no tools.",
    toolsFailed: "The tools could not be loaded",
    notOffered: (n: number) => `${plural(n, "tool")} not offered to agents; each says why.`,
    notOfferedTag: "not offered",
    notOfferedWhy: {
      invalidName: "Agents are not offered it: its name is not 1 to 128 of the characters A-Z a-z 0-9 _ - .",
      duplicate: "Agents are not offered it: an earlier tool has the same name.",
    },
    tryAgain: "Try again",
    schema: "Arguments",
    noSchema: "This tool takes no arguments.",
    destructive: "destructive",
    destructiveTitle: "The server marks this tool as destructive",
    readOnly: "read-only",
    usualTitle: ({ median, largest, samples }: UsualResult) =>
      `Usual result: about ${plural(shortTokens(median, "exact"), "token")} in an agent’s window, at most ${shortTokens(largest, "exact")} in the last ${count(samples)}.`,
    taskTool: "runs as a task",
    startTask: "Start a task…",
    start: "Start…",
    startNot: "Connect the server to start tasks",
    tasks: "Tasks",
    open: (n: number) => (n === 0 ? "none open" : `${count(n)} open`),
    needYou: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
    remove: "Remove…",
  },

  log: {
    title: "Log",
    label: (name: string) => `Log of ${name}`,
    find: "Find in the log",
    hits: (at: number, all: number) => (all === 0 ? "not found" : `${count(at)} of ${count(all)}`),
    previous: "Previous, Shift Enter",
    next: "Next, Enter",
    follow: "Follow",
    followTitle: "Scroll with new lines, f",
    copy: "Copy what is shown",
    copied: (n: number) => `Copied ${plural(n, "line")}`,
    notCopied: "The clipboard could not be written.",
    failed: "The log could not be read",
    empty: "Nothing is in the log yet",
    emptyHere:
      "What the program prints as errors and notes (standard error), and the log messages that it sends, appear here.",
    emptyThere:
      "This server runs elsewhere. The log messages that it sends, and what Taskwarden knows of the connection, appear here.",
    messageTitle: "A log message of the server, with the level that it gave",
    loggerTitle: "The part of the server that says it",
    levels: {
      debug: "debug",
      info: "info",
      notice: "notice",
      warning: "warning",
      error: "error",
      critical: "critical",
      alert: "alert",
      emergency: "emergency",
      unknown: "log",
    },
    earlier: (n: number) => `Show ${plural(n, "earlier line")}`,
    gone: (n: number) => `${plural(n, "earlier line is", "earlier lines are")} no longer kept`,
    noTime: "Written before Taskwarden was started; its time is not known",
    since: (n: number) => `${plural(n, "new line")}`,
    count: (n: number, since: string | null) => plural(n, "line") + (since === null ? "" : ` since ${since}`),
    kept: (size: string) => `keeps the last ${size} · secrets are masked`,
    last: (when: string) => `last line ${when}`,
    events: {
      started: (pid: number) => `Started as process ${pid}`,
      resumed: (pid: number) => `Taskwarden connected again to process ${pid}`,
      ended: "The process ended",
      endedByUs: "The process was ended by Taskwarden",
      endedWithCode: (code: number) => `The process ended with code ${code}`,
      endedBySignal: (signal: number) => `The process was ended by signal ${signal}`,
      skipped: (n: number) => `${plural(n, "line")} came too fast and were not kept`,
      connected: "Connected",
      disconnected: "The connection ended",
      asked: {
        restart: (who: string) => `${who} restarted it`,
        end: (who: string) => `${who} ended its process`,
        change: (who: string) => `${who} changed how it is reached`,
      },
      questionRefused: "Its question was refused: it named a task that is not open here",
      ofAgent: (text: string, agent: string) => `${text} (own process of ${agent})`,
    },
  },

  healthTab: {
    late: "Later than usual",
    lateOf: (late: number, open: number) =>
      late === 0 ? `none of ${plural(open, "open task")}` : `${count(late)} of ${plural(open, "open task")}`,
    failed: "The figures could not be read",
    typicalCall: "Typical call",
    typicalPoll: "Typical check",
    p95: (within: string) => `95 % within ${within}`,
    noReply: "no answer yet",
    errors: "Errors in 24 h",
    ofRequests: (failed: number, all: number, kind: "calls" | "polls") =>
      all === 0
        ? kind === "calls"
          ? "no call yet"
          : "not asked yet"
        : `${count(failed)} of ${plural(all, kind === "calls" ? "call" : "check")}`,
    obeys: "Obeys cancel",
    usuallyWithin: (within: string) => `usually within ${within}`,
    upSince: "Connected since",
    notUp: "Connection",
    times: "Reply times",
    timesOfCalls: "calls, last 6 h",
    timesOfPolls: "checks on tasks, last 6 h",
    nothingAsked: "Nothing was asked of it in the last 6 hours.",
    chart: (top: string) => `Reply times of the last 6 hours, up to ${top}; the table below has the figures`,
    half: "half are faster",
    most: "95 % are faster",
    failures: "errors",
    request: "Request",
    hour: "In 1 h",
    median: "Half within",
    within95: "95 % within",
    errorsHour: "Errors 1 h",
    errorsDay: "Errors 24 h",
    calls: "Calls",
    polls: "Checks on tasks",
    since: (when: string) => `Measured since Taskwarden was started, ${when}.`,
    lastError: "Last error",
    lastErrorAt: (request: "call" | "poll", when: string) =>
      `${request === "call" ? "a call" : "a check on a task"}, ${when}`,
    changes: "Changes",
    push: "It reports changes itself",
    poll: "It is asked for changes",
    noPush: "It has no tasks; its calls run as tasks of Taskwarden",
  },

  acts: {
    people: "people",
    unknown: "What runs on it could not be read. Try again.",
    process: (pid: number, group: readonly { pid: number; name: string }[], agent: string | null) => {
      const [own, ...others] = group;
      const named = own === undefined ? `Process ${pid}` : `Process ${pid} (${own.name})`;
      const children =
        others.length === 0
          ? ""
          : ` and ${plural(others.length, "process", "processes")} it started: ${listed(others.map((one) => `${one.pid} (${one.name})`))}`;
      return `${named}${children}${agent === null ? "" : `, for ${agent} alone`}.`;
    },
    left: (name: string, pids: readonly number[]) =>
      pids.length === 1
        ? `Process ${pids.join()} of ${name} was told to end, and still runs.`
        : `Processes ${pids.join(", ")} of ${name} were told to end, and still run.`,
    end: {
      button: "End process…",
      title: (name: string) => `End the process of ${name}?`,
      ends: ends,
      after: "It starts again with the next call. What was done so far stays; nothing is repeated.",
      keep: "Keep it running",
      run: (tasks: number) => (tasks === 0 ? "End process" : `End process and ${plural(tasks, "task")}`),
      done: (name: string) => `Ended the process of ${name}`,
    },
    restart: {
      button: "Restart…",
      title: (name: string) => `Restart ${name}?`,
      ends: ends,
      after: "It is started again at once. Nothing is repeated.",
      keep: "Keep it running",
      run: (tasks: number) => (tasks === 0 ? "Restart" : `Restart and end ${plural(tasks, "task")}`),
      done: (name: string) => `Restarted ${name}`,
    },
    reconnect: {
      button: "Reconnect…",
      title: (name: string) => `Reconnect to ${name}?`,
      ends: (tasks: number, agents: readonly OnServer[]) => {
        const calls = agents.reduce((sum, one) => sum + one.calls, 0);
        return (
          (tasks === 0 ? "It has no open tasks." : `Its ${plural(tasks, "open task")} stay on the server.`) +
          (calls === 0
            ? ""
            : ` ${plural(calls, "running call")} may lose ${calls === 1 ? "its reply" : "their replies"}.`)
        );
      },
      after: "The connection is closed and opened again.",
      keep: "Keep the connection",
      run: () => "Reconnect",
      done: (name: string) => `Reconnecting to ${name}`,
    },
  },

  change: {
    button: "Change…",
    title: (name: string) => `Change how ${name} is reached`,
    what: "What changes",
    nothing: "Nothing is changed yet.",
    sign: { "−": "before:", "+": "after:" },
    newValue: (name: string) => `${name}, with a new value`,
    ends: (n: number) =>
      `${plural(n, "task is", "tasks are")} open on it. ${n === 1 ? "It belongs" : "They belong"} to the old configuration and may be lost.`,
    keep: "Change nothing",
    run: "Run it this way",
    contact: "Connect this way",
    connected: (name: string) => `${name} is connected the new way`,
    changed: (name: string) => `${name} was changed, and is not connected yet`,
  },

  remove: {
    title: (name: string) => `Remove ${name}?`,
    nothingOpen: "It has no open tasks. Its past tasks stay in the list.",
    open: (n: number) =>
      `${plural(n, "task is", "tasks are")} still open on it. Taskwarden stops watching ${n === 1 ? "it" : "them"}, and ${n === 1 ? "its question" : "their questions"} can no longer be answered. The server may continue ${n === 1 ? "it" : "them"}.`,
    more: (n: number) => `and ${count(n)} more`,
    secrets: "Its secrets are deleted from the keychain.",
    keep: "Keep the server",
    remove: (name: string) => `Remove ${name}`,
    removed: (name: string, lost: number, left: readonly LeftEntries[]) =>
      (lost === 0 ? `Removed ${name}` : `Removed ${name}; ${plural(lost, "task")} lost`) + leftEntries(left),
    changed: (n: number) => `Now ${plural(n, "task is", "tasks are")} open. Check again before you remove it.`,
  },

  form: {
    title: "Add a server",
    kind: "Where it runs",
    here: "Runs here",
    there: "At an address",
    name: "Name",
    nameHint: "Yours to choose: a-z, 0-9, dot, dash, underscore.",
    command: "Command",
    commandHint: "As in a terminal, but without a shell.",
    folder: "Folder",
    folderHint: "Its working folder. Leave empty for your home folder.",
    url: "Address",
    urlHint: "For example https://host.example/mcp",
    env: "Environment",
    envHint:
      "Settings that the program reads as it starts. Of your own, only basics such as PATH and HOME are passed on.",
    headers: "Headers",
    headersHint:
      "Sent with every request, often to sign in. Their values are stored as secrets, in the keychain where there is one.",
    addEnv: "Add a variable",
    addSecret: "Add a secret",
    addHeader: "Add a header",
    pairName: "Name",
    pairValue: "Value",
    secretValue: "Value, stored as a secret",
    storedValue: "Stored; type to replace it",
    dropPair: (name: string) => (name === "" ? "Remove this row" : `Remove ${name}`),
    more: "Folder and environment",
    moveToEnv: (name: string) => `Move ${name} to the environment`,
    notRun: "Not run yet",
    notContacted: "Not contacted yet",
    back: "Back",
    run: (name: string) => (name === "" ? "Run and add" : `Run and add ${name}`),
    contact: (name: string) => (name === "" ? "Connect and add" : `Connect and add ${name}`),
    running: "Running it…",
    contacting: "Connecting…",
  },

  problems: {
    name: {
      missing: "Enter a name.",
      letters: "Use 1 to 40 of a-z, 0-9, dot, dash and underscore.",
      taken: "A server with this name already exists.",
    },
    command: {
      missing: "Enter a program and its arguments.",
      openQuote: (quote: string, at: number) => `The quote ${quote} at character ${at + 1} is never closed.`,
      openEscape: "The backslash at the end escapes nothing.",
      lineBreak: "Write one command on one line.",
      tooLong: "The command is too long.",
      assignment: (name: string) => `${name}=… before the program works only in a shell. Set it under Environment.`,
    },
    url: {
      missing: "Enter the whole address.",
      scheme: "The address must begin with https:// or http://.",
      broken: "This is not a valid address.",
      password: "Remove the part before the @ and add an Authorization header; its value is stored as a secret.",
    },
    pair: {
      name: "Enter a name.",
      badName: "Use letters, digits and underscores.",
      badHeader: "Use letters, digits and dashes.",
      twice: "This name is already used above.",
      value: "Enter a value.",
      reserved: "Taskwarden sets this header itself.",
      lineBreak: "A header must be one line.",
    },
  },

  consent: {
    title: "This will run on your machine",
    titleHttp: "Taskwarden will contact this address",
    program: "program",
    folder: "folder",
    home: "your home folder",
    environment: "environment",
    secrets: "secrets",
    kept: (names: string) => `${names}, stored as ${names.includes(",") ? "secrets" : "a secret"}`,
    address: "address",
    host: "host",
    rights:
      "It runs with your rights: it can read and change your files. Nothing else from your environment is passed on.",
    contacted: "Taskwarden contacts it whenever it runs. The server sees the arguments of its calls.",
    nothingYet: "Every word of the command is shown here before anything runs.",
    nothingYetHttp: "The address is shown here before anything is sent.",
  },

  warnings: {
    secretArgument: (numbers: readonly number[]) =>
      `${numbers.length === 1 ? "Argument" : "Arguments"} ${listed(numbers.map(String))} ${numbers.length === 1 ? "looks" : "look"} like a secret. Other programs can read arguments; put it in the environment as a secret if the server supports that.`,
    secretEnv: (names: readonly string[]) =>
      `${listed(names)} ${names.length === 1 ? "looks like a secret" : "look like secrets"} and would be stored as plain text.`,
    secretQuery: (names: readonly string[]) =>
      `${listed(names)} in the address ${names.length === 1 ? "looks like a secret" : "look like secrets"}. Addresses end up in logs; use a header instead if the server supports that.`,
    shellSigns: (signs: readonly string[]) =>
      `${listed(signs)} ${signs.length === 1 ? "is" : "are"} passed on as ${signs.length === 1 ? "it is" : "they are"}: no shell reads this line.`,
    moreRights: "It asks for more rights than you have.",
    deletes: "It can delete files.",
    network: "It uses the network.",
    runsFetched: "It runs code directly from the network.",
    ownScript: "It is a shell with a script; read the script.",
    hidden: "It hides what it runs.",
    fetches: (program: string, pinned: boolean) =>
      pinned
        ? `${program} fetches this package from the internet on first start.`
        : `${program} fetches the newest version of this package from the internet each time.`,
    plainHttp: (host: string, withSecrets: boolean) =>
      withSecrets
        ? `Your secret would be sent to ${host} unencrypted; use https:// if the server supports it.`
        : `Others can read what is sent to ${host}; use https:// if the server supports it.`,
    lookalike: (host: string, ascii: string) => `${host} uses look-alike characters. In plain letters: ${ascii}`,
    makeSecret: "Make it a secret",
    makeSecrets: "Make them secrets",
  },

  outcome: {
    added: (name: string) => `${name} is connected`,
    addedTools: (n: number) => (n === 0 ? "It lists no tools." : `It has ${plural(n, "tool")}.`),
    toolsFailed: (why: string) => `Its tools could not be listed: ${why}`,
    failed: (name: string) => `${name} was added, but cannot be reached`,
    tried: "Taskwarden keeps trying. What you typed is still here.",
    refused: "Nothing was added",
    startTask: "Start a task…",
    open: (name: string) => `Open ${name}`,
    removeAndRetry: "Remove it and try again",
    announced: (name: string) => `${name} is connected`,
  },
} as const;
