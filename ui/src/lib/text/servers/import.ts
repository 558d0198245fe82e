/* Text about servers that agent programs on this machine have. What stands in their files is never part of it. */
import { listed, plural } from "$lib/format/count";

export const importText = {
  title: "Import servers",
  /** Below the form for one server. */
  offer: "Import from Claude Code, Cursor and others…",
  loading: "Looking for agent programs on this machine",
  none: {
    title: "No server to import",
    body: "No agent program on this machine has MCP servers in a file that Taskwarden knows.",
    add: "Type one instead",
  },
  failed: "The files of your agent programs could not be read",
  again: "Read them again",
  /** Above the list. */
  note: "Their files are only read. Each server runs with what you see here, and only when it is first used.",
  project: "in this project",
  disabled: "off in this program",
  folder: (path: string) => `runs in ${path}`,
  known: (name: string) => `in Taskwarden as ${name}`,
  routed: "runs through Taskwarden already",
  alsoIn: (programs: readonly string[]) => `also in ${listed(programs)}`,
  renamed: (name: string) => `will be called ${name}`,
  values: (n: number) =>
    `${plural(n, "value")} of its environment or headers ${n === 1 ? "goes" : "go"} into the vault`,
  missing: "Enter a value",
  fallback: (value: string) => `“${value}” when left empty`,
  button: (n: number) => (n === 0 ? "Import" : `Import ${plural(n, "server")}`),
  imported: (n: number) => `${plural(n, "server")} imported`,
  notImported: (n: number) => `${plural(n, "server")} not imported`,
  same: (name: string) => `was here already, as ${name}`,
  done: "Show the servers",
};
