/* Text of the checks of an installation (`taskwarden doctor`) and of what keeps running after quit. */
import type { Finding } from "$lib/bindings";
import { count, plural } from "$lib/format/count";

export const CHECK = {
  title: "Check this installation",
  note: "The same checks as `taskwarden doctor`. Only a test entry in the keychain is written.",
  run: "Check now",
  again: "Check again",
  running: "Checking…",
  failed: "The checks could not be run.",
  grades: { fine: "Fine", note: "Note", broken: "Broken" } satisfies Record<Finding["grade"], string>,
  summary: (broken: number, notes: number) =>
    broken > 0
      ? `${plural(broken, "problem", "problems")} found`
      : notes > 0
        ? `No problems, ${plural(notes, "note", "notes")}`
        : "No problems found",
  at: (when: string) => `checked ${when}`,
  showFine: (n: number) => `Show ${count(n)} that ${n === 1 ? "is" : "are"} fine`,
  hideFine: "Show problems only",
  cure: "What to do",
  copyAll: "Copy all",
  copyOne: (area: string) => `Copy what to do about ${area}`,
  copied: "Copied.",
  notCopied: "Copying failed. Select the text and copy it yourself.",
} as const;

export const AFTER_QUIT = {
  title: "What keeps running after quit",
  /** In the list of sections. */
  short: "After quit",
  note: "Quitting ends the core and its window. This goes on:",
  remote: "Tasks on servers at web addresses. Taskwarden checks them again when it starts.",
  none: "No local server runs now, so no process stays.",
  kept: (n: number, time: string) =>
    `${plural(n, "local server")}, held for ${time}. If Taskwarden is not back by then, ${n === 1 ? "it ends with its" : "they end with their"} tasks.`,
  process: (process: number) => `process ${process}`,
  keeper: (process: number) => `held by keeper ${process}`,
  agents: "Agents that start Taskwarden by command start a core without a window.",
  noAgents: "Agents are not served until you start Taskwarden again.",
  browser:
    "Closing this page ends nothing. The core runs until its window quits, or until it is ended in its terminal.",
  unknown: "Run the check above to see which local servers run.",
} as const;
