/* Words of the frame: places, status bar, banner, sign-in. */
import { count } from "$lib/model/bytes";

const plural = (n: number, one: string, many: string) => `${count(n)} ${n === 1 ? one : many}`;

export const APP = {
  name: "Taskwarden",
  places: { inbox: "Inbox", tasks: "Tasks", servers: "Servers", settings: "Settings" },
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
  needYou: (n: number) => `${count(n)} ${n === 1 ? "needs" : "need"} you`,
  lastChange: (when: string) => `Last change ${when}`,
  lastHeard: (when: string) => `Last heard ${when}`,
  secretsInFile: "Secrets in a file",
  secretsWhy: "This system has no keychain that works, so secrets lie in a file that only you can read.",
  noNotices: "No notifications",
  noNoticesWhy: "This system has no notification service. The window and the tray still count what needs you.",
  paused: (until: string) => `Notifications paused until ${until}`,
  connecting: "Connecting to the core…",
  connection: "Connection to the core",
  lostTitle: "The core does not answer.",
  lostSince: (when: string) => `What you see is from ${when}. Tasks go on at their servers meanwhile.`,
  retry: "Try now",
  lostSaid: "The connection to the core is lost.",
  backSaid: "Connected to the core again.",
  nothingWaits: "Nothing needs you.",
  newRequests: (n: number) => `${plural(n, "new item needs", "new items need")} you.`,
  failedFirst: "Taskwarden cannot reach its core.",
  signIn: {
    title: "Sign in to this Taskwarden",
    how: "The terminal that runs `taskwarden serve` shows a one-time code. `taskwarden ui` prints a new one.",
    code: "One-time code",
    submit: "Sign in",
    empty: "Enter the code from the terminal.",
  },
} as const;
