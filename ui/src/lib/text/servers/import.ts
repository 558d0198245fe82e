/* Text about servers that agent programs on this machine have. What stands in their files is never part of it. */
import { count, listed, plural } from "$lib/format/count";

export const importText = {
  title: "Import servers",
  /** Below the form for one server. */
  offer: "Import existing servers…",
  loading: "Looking for agent programs on this machine",
  none: {
    title: "No server to import",
    body: "No agent program on this machine has MCP servers in a file that Taskwarden knows.",
    add: "Type one instead",
  },
  failed: "The files of your agent programs could not be read",
  again: "Read them again",
  /** Above the list. */
  note: "An import only reads these files. Taskwarden runs or contacts each imported server from now on, with what you see here.",
  find: "Find a server, program or command",
  all: (n: number) => `${plural(n, "server")} found.`,
  found: (found: number, n: number) => `${count(found)} of ${plural(n, "server")}.`,
  unseen: (n: number) =>
    `${plural(n, "chosen server is", "chosen servers are")} not in this list and will be imported too.`,
  project: "in this project",
  disabled: "off in this program",
  folder: (path: string) => `runs in ${path}`,
  known: (name: string) => `in Taskwarden as ${name}`,
  routed: "runs through Taskwarden already",
  alsoIn: (programs: readonly string[]) => `also in ${listed(programs)}`,
  renamed: (name: string) => `will be called ${name}`,
  values: (n: number) =>
    `${plural(n, "value")} of its environment or headers ${n === 1 ? "is stored as a secret" : "are stored as secrets"}`,
  missing: "Enter a value",
  fallback: (value: string) => `“${value}” when left empty`,
  button: (n: number) => (n === 0 ? "Import" : `Import ${plural(n, "server")}`),
  imported: (n: number) => `${plural(n, "server")} imported`,
  notImported: (n: number) => `${plural(n, "server")} not imported`,
  done: "Show the servers",
  drift: (what: string) => `Not as it was routed: ${what}.`,

  /** The servers of a program are reached through Taskwarden from now on. */
  route: {
    open: "Route through Taskwarden…",
    title: (program: string) => `Route ${program} through Taskwarden`,
    note: "These lines change, and nothing else. Each server keeps its name, so what you allowed before stays allowed. Values of environments, headers and secret options are hidden.",
    nothing: "Nothing is left to route.",
    button: (n: number) => `Change ${plural(n, "file")}`,
    done: "Changed.",
    restart: (program: string) => `Start ${program} again, so that it reads its file anew.`,
    reading: "Looking at what would change",
    adds: (agent: string) => `The agent ${agent} is added, with its token in a file that only you can read.`,
    lines: "Lines that change",
    line: (n: number) => `line ${n}`,
    removed: "removed",
    added: "added",
    refused: "Not changed",
    restore: "Brings the old file back without Taskwarden",
    renamed: "The file system cannot exchange two files, so the new one was renamed over the old one.",
    kept: (names: readonly string[]) => `Changed by somebody since, and left alone: ${listed(names)}`,
    leftOut: (name: string, why: string) => `${name} stays as it is: ${why}.`,
    cancel: "Change nothing",
    close: "Close",
  },
  /** And that is taken back. */
  undo: {
    open: "Undo the routing…",
    title: (program: string) => `${program} reaches its servers directly again`,
    note: "The entries are as they were before. What somebody changed since is left alone and named.",
    nothing: "None of it is routed.",
    button: (n: number) => `Undo in ${plural(n, "file")}`,
    done: "As it was before.",
    restart: (program: string) => `Start ${program} again, so that it reads its file anew.`,
  },
};
