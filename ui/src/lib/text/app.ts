/* Text of the shell: places, status bar, banners, sign-in, palette. */
import { count, plural } from "$lib/format/count";
import { alarmText } from "$lib/text/inbox/alarm";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";
import { timeLimitText } from "$lib/text/inbox/time-limit";

/** Errors of the page itself; all others come from the core. */
export const ERRORS = {
  failed: { message: "the call failed", hint: "Try again. If it keeps failing, see the log of the core." },
  noCore: {
    message: "the core does not answer",
    hint: "Taskwarden keeps trying. Tasks continue on their servers.",
  },
  silentCore: {
    message: "the core does not answer",
    hint: "Tasks continue on their servers. Taskwarden keeps trying; if this lasts, quit Taskwarden and start it again.",
  },
  feedClosed: { message: "the core ended the connection of this page", hint: "The page connects again by itself." },
  noSnapshot: {
    message: "the core sent something this page does not understand",
    hint: "Load the page again; it may be older than the core.",
  },
  signedOut: { message: "this browser is not signed in", hint: "Run `taskwarden ui` and open the link it prints." },
  notWeb: { message: "only web addresses can be opened", hint: "Copy the address instead." },
} as const;

export const APP = {
  name: "Taskwarden",
  places: {
    inbox: "Inbox",
    tasks: "Tasks",
    servers: "Servers",
    agents: "Agents",
    budgets: "Budgets",
    audit: "Audit",
    settings: "Settings",
    start: "Get started",
    help: "Help",
    halt: "Halt",
  },
  halt: {
    begin: "Halt…",
    why: "Stop all work, or some of it",
    label: "Halt in force",
    since: (time: string) => `Halted since ${time}`,
    unreadable: "Everything is halted",
    unreadableWhy: "The halts on record cannot be read.",
    by: (who: string, reason: string) => `by ${who}${reason === "" ? "" : `: “${reason}”`}.`,
    byFile: "by the file HALT in the data folder.",
    control: (token: string) => `the control token ${token}`,
    covers: {
      calls: "New calls are refused",
      running: "running tasks are asked to cancel",
      requests: "questions are frozen",
    },
    readsPass: "Read-only calls pass again",
    nothingLeft: "Nothing is held back any more; the last step ends the halt",
    inPlaces: (places: string) => `in ${places}`,
    show: "Show the halt",
  },
  placesLabel: "Places",
  notices: "Notices",
  keyGroups: { places: "Places", everywhere: "Everywhere" },
  goTo: (place: string) => `Go to ${place}`,
  goKey: (key: string) => `g then ${key}`,
  allKeys: "All keys",
  newest: "Newest item that needs you",
  undo: "Undo the last step",
  skip: "Skip to the content",
  search: "Search and commands",
  status: "Status",
  serversConnected: (n: number) => `${plural(n, "server", "servers")} connected`,
  serversTrouble: (n: number) => `${plural(n, "server", "servers")} in trouble`,
  serversSignIn: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} sign-in`,
  serversConnecting: (n: number) => `${count(n)} connecting`,
  serversFrozen: (n: number) => `${plural(n, "server")} frozen`,
  agentsPaused: (n: number) => `${plural(n, "agent")} paused`,
  /** In a narrow window; the whole words are the tooltip. */
  shortFrozen: (n: number) => `${count(n)} frozen`,
  shortPaused: (n: number) => `${count(n)} paused`,
  noServers: "No server yet",
  working: (n: number) => `${count(n)} working`,
  inInbox: (n: number) => `${count(n)} in the inbox`,
  inInboxSaid: "in the inbox",
  openTasks: "open",
  lastChange: (when: string) => `Last change ${when}`,
  asOf: (time: string) => `As of ${time}`,
  secretsInFile: "Secrets in a file",
  secretsWhy: "This system has no working keychain, so secrets are stored in a file that only you can read.",
  noNotices: "No notifications",
  noNoticesWhy: "This system has no notification service. The window and the tray still show what needs you.",
  paused: (until: string) => `Notifications paused until ${until}`,
  connecting: "Connecting to Taskwarden…",
  connection: "Connection to the core",
  lostTitle: "The core does not answer.",
  lostAsOf: (time: string, ago: string) =>
    `Nothing heard since ${time}${ago === "now" ? "" : `, ${ago}`}. What you see is from then. Tasks continue on their servers.`,
  /** How the core is started again, by where the page is shown. */
  startCore: {
    window: "If this lasts, quit Taskwarden and start it again.",
    browser: "If it has ended, start it with `taskwarden serve`.",
  },
  panes: { inbox: "Width of the list", server: "Width of the detail", audit: "Width of the row's detail" },
  needsCore: "Not possible now: the core does not answer.",
  noCoreYet:
    "Nothing answers at this address. The page reconnects when the core is back. Run `taskwarden doctor` in a terminal to see what is wrong.",
  retry: "Try now",
  /** Text that is copied whole. */
  copyable: {
    copy: "Copy",
    copied: "Copied",
    copyOf: (what: string) => `Copy: ${what}`,
    failed: "Copying failed. Select the text and copy it yourself.",
  },
  /** Code of a place that could not be loaded. */
  loadFailed: {
    title: "This part of the page could not be loaded.",
    why: "If Taskwarden was updated since the page was opened, load the page again.",
    withoutCore: "The core does not answer. This part is loaded when it is back.",
    reload: "Load the page again",
  },
  lostSaid: "The connection to the core is lost.",
  backSaid: "Connected to the core again.",
  nothingWaits: "Nothing needs you.",
  newRequests: (n: number) => `${plural(n, "new item", "new items")} in the inbox.`,
  failedFirst: "Taskwarden cannot reach its core.",
  signIn: {
    title: "Sign in to this Taskwarden",
    how: "Run `taskwarden ui` in a terminal and open the link it prints, or type its one-time code here.",
    code: "One-time code",
    submit: "Sign in",
    again: "your session has ended; sign in again to continue where you were",
    linkUsed: "the code of this link is wrong or has expired; each link signs in once, within five minutes",
    empty: "Enter the code from the terminal.",
  },
} as const;

export const COMMANDS = {
  palette: "Search and commands",
  placeholder: "Type a command, a task, a server…",
  nothing: "No matches.",
  searching: "Searching tasks…",
  found: (n: number) => plural(n, "result"),
  groups: { waiting: "Needs you", tasks: "Tasks", servers: "Servers" },
  /** What a notification says: names, never a question. */
  waits: {
    form: (name: string) => `${name} asks a question`,
    url: (name: string) => `${name} asks you to open a page`,
    unsupported: (name: string) => `${name} asks for something Taskwarden does not support`,
    overdue: (name: string) => `${name} is late`,
    lost: (name: string) => `${name} was lost by its server`,
    unconfirmed: (name: string) => `${name} was not confirmed by its server`,
    blocked: (name: string) => `${name} needs sign-in`,
    overLimit: (name: string) => `${name} exceeded its token limit`,
    timeLimit: timeLimitText.waits,
    alarm: alarmText.waits,
    pauseChoice: pauseChoiceText.waits,
    held: (name: string) => `${name} has a result waiting for you`,
  },
  keys: "Keys",
  keysAbout: "Single-letter keys work while no field has focus.",
  keysSearch: "Search keys",
  noKey: "No matching key.",
  back: "Back",
} as const;
