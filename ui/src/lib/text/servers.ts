/* Every sentence of the servers screen. Server text never stands here. */
import { count } from "$lib/format/bytes";

const many = (n: number, one: string, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;
const list = (words: readonly string[]) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;

export const serversText = {
  title: "Servers",
  add: "Add a server",
  search: "Find a server",
  noMatch: (text: string) => `No server matches “${text}”.`,
  clearSearch: "Show all servers",
  close: "Close",
  empty: {
    title: "No server yet",
    body: "Servers that you add appear here with their health, their tools and how they obey.",
  },
  loadFailed: "The servers could not be read",
  stale: "Not current: the core does not answer.",
  columns: { server: "Server", health: "Health", era: "Era", open: "Open", cancels: "Cancels obeyed" },
  here: "on this machine",
  noTasks: "no tasks",
  notConnectedYet: "unknown",
  tools: (n: number) => many(n, "tool"),
  noCancels: "none asked yet",
  obeyed: (stopped: number, asked: number) => `${count(stopped)} of ${count(asked)}`,
  inFlight: (n: number) => many(n, "task"),
  cancelsTold: (stopped: number, finished: number, refused: number, open: number) =>
    list([
      many(stopped, "cancel") + " obeyed",
      ...(finished > 0 ? [`${count(finished)} finished anyway`] : []),
      ...(refused > 0 ? [`${count(refused)} refused`] : []),
      ...(open > 0 ? [`${count(open)} still open`] : []),
    ]),

  health: {
    up: "Connected",
    down: "Not reachable",
    blocked: "Needs sign-in",
    connecting: "Connecting",
    unknown: "Not tried yet",
    notAgreed: "Not allowed yet",
    pushes: "pushes changes",
    asked: "asked for changes",
    kept: "calls kept as tasks",
    allow: "look at it and allow it",
    retry: (when: string) => `tried again ${when}`,
    since: (when: string) => `since ${when}`,
  },

  detail: {
    address: "Address",
    questions: "Questions",
    refusedQuestions: (n: number, when: string) =>
      `${many(n, "question")} refused since ${when}: too many open. Answer or cancel what waits in the inbox.`,
    command: "Runs on this machine",
    allowed: (who: string, when: string) => `${who} allowed this ${when}.`,
    notAllowed: "Nobody has allowed contact yet. Nothing runs before.",
    allow: "Allow and connect",
    allowed_: "Allowed",
    health: "Health",
    speaks: "Speaks",
    calls: "Calls itself",
    version: (version: string) => `version ${version}`,
    canCancel: "can cancel tasks",
    cannotCancel: "cannot cancel tasks: a cancel is asked and the result is held",
    cannotList: "keeps no list of its tasks",
    retryNow: "tried again",
    connecting: "Being connected now.",
    unknown: "It was not tried in this run of the core.",
    downWithoutRetry: "It is not tried again until its address changes.",
    stderr: "Last words on standard error",
    stderrNote: (name: string) => `Text from ${name}`,
    tools: "Tools",
    findTool: "Find a tool",
    noTool: (text: string) => `No tool matches “${text}”.`,
    noTools: "This server lists no tool.",
    toolsFailed: "The tools could not be read",
    tryAgain: "Try again",
    schema: "Arguments",
    noSchema: "This tool takes no arguments.",
    destructive: "destructive",
    destructiveTitle: "The server says that this tool may destroy something",
    readOnly: "only reads",
    readOnlyTitle: "The server says that this tool changes nothing",
    taskTool: "runs as a task",
    startTask: "Start a task…",
    start: "Start…",
    startNot: "Tasks can be started when the server is connected",
    tasks: "Tasks",
    open: (n: number) => (n === 0 ? "none open" : `${count(n)} open`),
    needYou: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
    showTasks: "Show its tasks",
    remove: "Remove…",
  },

  remove: {
    title: (name: string) => `Remove ${name}?`,
    nothingOpen: "No task is open on it. Its past tasks stay in the list.",
    open: (n: number) =>
      `${many(n, "task is", "tasks are")} still open on it and will be lost here: nobody watches ${n === 1 ? "it" : "them"} any more, and ${n === 1 ? "its question" : "their questions"} can no longer be answered. The server may go on with ${n === 1 ? "it" : "them"}.`,
    more: (n: number) => `and ${count(n)} more`,
    secrets: "Its secrets are deleted from the keychain.",
    keep: "Keep the server",
    remove: (name: string) => `Remove ${name}`,
    removed: (name: string, lost: number) =>
      lost === 0 ? `Removed ${name}` : `Removed ${name}; ${many(lost, "task")} lost`,
    changed: (n: number) => `Meanwhile ${many(n, "task is", "tasks are")} open. Look again before you remove it.`,
  },

  form: {
    title: "Add a server",
    kind: "Where it runs",
    here: "Runs here",
    there: "At an address",
    name: "Name",
    nameHint: "Yours to choose: a-z, 0-9, dot, dash, underscore.",
    command: "Command",
    commandHint: "As in a terminal. No shell reads it.",
    folder: "Folder",
    folderHint: "Where it runs. Empty: your home folder.",
    url: "Address",
    urlHint: "Such as https://host.example/mcp",
    env: "Environment",
    envHint: "Nothing else from your environment is passed on but the basics, such as PATH and HOME.",
    headers: "Headers",
    headersHint: "Their values are kept as secrets, in the keychain where there is one.",
    addEnv: "Add a variable",
    addSecret: "Add a secret",
    addHeader: "Add a header",
    pairName: "Name",
    pairValue: "Value",
    secretValue: "Value, kept as a secret",
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
    useName: (name: string) => `Use ${name}`,
  },

  problems: {
    name: {
      missing: "Give it a name.",
      letters: "Use 1 to 40 of a-z, 0-9, dot, dash and underscore.",
      taken: "There is a server of this name already.",
    },
    command: {
      missing: "Give the program and its arguments.",
      openQuote: (quote: string, at: number) => `The quote ${quote} at character ${at + 1} is never closed.`,
      openEscape: "A backslash at the end escapes nothing.",
      lineBreak: "One command on one line, please.",
      tooLong: "This is longer than any command may be.",
      assignment: (name: string) =>
        `${name}=… before the program is for a shell, and none reads this. Set it in the environment.`,
    },
    url: {
      missing: "Give the whole address.",
      scheme: "An address begins with https:// or http://.",
      broken: "This is no address.",
      password: "Leave out what stands before the @ and add a header Authorization: its value is kept as a secret.",
    },
    pair: {
      name: "Give it a name.",
      badName: "A name has letters, digits and underscores.",
      badHeader: "A header name has letters, digits and dashes.",
      twice: "This name stands above already.",
      value: "Give the value.",
      reserved: "Taskwarden sets this one itself.",
      lineBreak: "A header has one line.",
    },
  },

  consent: {
    title: "This will run on your machine",
    titleHttp: "This will be contacted",
    program: "program",
    folder: "folder",
    home: "your home folder",
    environment: "environment",
    secrets: "secrets",
    kept: (names: string) => `${names}, kept as ${names.includes(",") ? "secrets" : "a secret"}`,
    address: "address",
    host: "host",
    rights:
      "It runs with your rights: it can read and change your files. Nothing else from your environment is passed on.",
    contacted: "It is contacted whenever Taskwarden runs. It sees the arguments of the calls that go to it.",
    nothingYet: "Every word of the command will stand here before anything runs.",
    nothingYetHttp: "The address will stand here before anything is sent.",
    wrapping: "Argument",
  },

  warnings: {
    secretArgument: (numbers: readonly number[]) =>
      `${numbers.length === 1 ? "Argument" : "Arguments"} ${list(numbers.map(String))} ${numbers.length === 1 ? "looks" : "look"} like a secret. Other programs can read arguments; give it as a secret in the environment if the server takes one.`,
    secretEnv: (names: readonly string[]) =>
      `${list(names)} ${names.length === 1 ? "looks like a secret" : "look like secrets"} and would be stored as plain text.`,
    secretQuery: (names: readonly string[]) =>
      `${list(names)} in the address ${names.length === 1 ? "looks like a secret" : "look like secrets"}. Addresses end up in logs; add a header instead if the server takes one.`,
    shellSigns: (signs: readonly string[]) =>
      `${list(signs)} ${signs.length === 1 ? "is" : "are"} passed on as ${signs.length === 1 ? "it is" : "they are"}: no shell reads this line.`,
    moreRights: "It asks for more rights than yours.",
    deletes: "It can delete files.",
    network: "It talks to the network by itself.",
    runsFetched: "It runs code straight from the network.",
    ownScript: "It is a shell with a script of its own; read it.",
    hidden: "It hides what it runs.",
    fetches: (program: string, pinned: boolean) =>
      pinned
        ? `${program} fetches this package from the internet on first start.`
        : `${program} fetches this package from the internet, whichever version is the newest on that day.`,
    plainHttp: (host: string, withSecrets: boolean) =>
      withSecrets
        ? `Your secret would travel to ${host} unencrypted; use https:// if it has it.`
        : `Everything sent to ${host} can be read on the way; use https:// if it has it.`,
    lookalike: (host: string, ascii: string) => `${host} is ${ascii}: letters of other scripts can look alike.`,
    makeSecret: "Make it a secret",
    makeSecrets: "Make them secrets",
  },

  outcome: {
    added: (name: string) => `${name} is connected`,
    addedTools: (n: number) => (n === 0 ? "It lists no tool." : `It has ${many(n, "tool")}.`),
    failed: (name: string) => `${name} was added, but cannot be reached`,
    tried: "It is tried again by itself. What you typed is still here.",
    refused: "Nothing was added",
    startTask: "Start a task…",
    open: (name: string) => `Open ${name}`,
    removeAndRetry: "Remove it and try again",
    again: "Change it",
    announced: (name: string) => `${name} is connected`,
  },
} as const;
