/* Words of the frame: places, status bar, banner, sign-in. */
import { count } from "$lib/format/bytes";

const plural = (n: number, one: string, many: string) => `${count(n)} ${n === 1 ? one : many}`;

export const APP = {
  name: "Taskwarden",
  places: {
    inbox: "Inbox",
    tasks: "Tasks",
    servers: "Servers",
    agents: "Agents",
    budgets: "Budgets",
    settings: "Settings",
  },
  placesLabel: "Places",
  skip: "Skip to the content",
  search: "Search and commands",
  status: "Status",
  serversConnected: (n: number) => `${plural(n, "server", "servers")} connected`,
  serversTrouble: (n: number) => `${plural(n, "server", "servers")} in trouble`,
  serversSignIn: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} sign-in`,
  serversConnecting: (n: number) => `${count(n)} connecting`,
  noServers: "No server yet",
  working: (n: number) => `${count(n)} working`,
  inInbox: (n: number) => `${count(n)} in the inbox`,
  inInboxSaid: "in the inbox",
  openTasks: "open",
  lastChange: (when: string) => `Last change ${when}`,
  asOf: (time: string) => `As of ${time}`,
  secretsInFile: "Secrets in a file",
  secretsWhy: "This system has no keychain that works, so secrets lie in a file that only you can read.",
  noNotices: "No notifications",
  noNoticesWhy: "This system has no notification service. The window and the tray still count what needs you.",
  paused: (until: string) => `Notifications paused until ${until}`,
  connecting: "Connecting to the core…",
  connection: "Connection to the core",
  lostTitle: "The core does not answer.",
  lostAsOf: (time: string, ago: string) =>
    `What you see is as of ${time}${ago === "now" ? "" : `, ${ago}`}. Tasks continue on their servers.`,
  needsCore: "The core does not answer, so this cannot be done now.",
  noCoreYet:
    "Nobody answers at this address. The page goes on by itself when the core does. `taskwarden doctor` in a terminal says what is wrong.",
  retry: "Try now",
  lostSaid: "The connection to the core is lost.",
  backSaid: "Connected to the core again.",
  nothingWaits: "Nothing needs you.",
  newRequests: (n: number) => `${plural(n, "new item", "new items")} in the inbox.`,
  failedFirst: "Taskwarden cannot reach its core.",
  signIn: {
    title: "Sign in to this Taskwarden",
    how: "The terminal that runs `taskwarden serve` shows a one-time code. `taskwarden ui` prints a new one.",
    code: "One-time code",
    submit: "Sign in",
    again: "the core was restarted or the session is over: sign in again and you are back where you were",
    empty: "Enter the code from the terminal.",
  },
} as const;

export const COMMANDS = {
  palette: "Search and commands",
  placeholder: "Type a command, a task, a server…",
  nothing: "Nothing is called that.",
  searching: "Looking for tasks…",
  found: (n: number) => `${n} ${n === 1 ? "result" : "results"}`,
  groups: { waiting: "Waiting for you", tasks: "Tasks", servers: "Servers" },
  /** Items that came without words of the server. */
  waits: {
    form: (name: string) => `${name} asks a question`,
    url: (name: string) => `${name} asks you to open a page`,
    unsupported: (name: string) => `${name} asks for something that Taskwarden cannot do`,
    overdue: (name: string) => `${name} is later than agreed`,
    lost: (name: string) => `${name} is lost by its server`,
    unconfirmed: (name: string) => `${name} was not confirmed by its server`,
    blocked: (name: string) => `${name} needs sign-in`,
    overLimit: (name: string) => `${name} went past its limit of tokens`,
    held: (name: string) => `${name} has a result that waits for you`,
  },
  keys: "Keys",
  keysAbout: "A single letter works while no field has focus.",
  keysSearch: "Search keys",
  noKey: "No key is called that.",
  back: "Back",
} as const;
