/* Text of the table of a server's tools. Names of tools are never part of it. */
import { count, plural } from "$lib/format/count";

export const toolTableText = {
  columns: { tool: "Tool", state: "State", calls: "Calls, 24 h", takes: "Usually takes" },
  unchanged: "unchanged",
  readOnly: "read-only",
  unknown: "–",
  /** Below the table: what its figures cover. */
  since: (when: string) => `Calls are counted since ${when}.`,
  takesTitle: (n: number) => `Half of the last ${plural(n, "call")} took at most this`,
  tooFew: "Too few calls have finished to say",
  callsSaid: (n: number) => `${count(n)} in the last 24 hours`,
} as const;
