/* Text about tools that changed since a person last looked. Names and lines of tools are never part of it. */
import { count, plural } from "$lib/format/count";

type Change = "added" | "removed" | "changed";

const CHANGES: Readonly<Record<Change, string>> = { added: "Added", removed: "Removed", changed: "Changed" };

export const toolChangesText = {
  heading: "What changed",
  title: (n: number) => `${plural(n, "tool")} changed`,
  since: (who: string, when: string) => `since ${who} looked ${when}`,
  sinceListed: (when: string) => `since the tools were first listed ${when}`,
  you: "you",
  /** "2 changed, 1 added, 1 removed". */
  counts: (changed: number, added: number, removed: number) =>
    [
      changed > 0 ? `${count(changed)} changed` : null,
      added > 0 ? `${count(added)} added` : null,
      removed > 0 ? `${count(removed)} removed` : null,
    ]
      .filter((part) => part !== null)
      .join(", "),
  notBlocked: "Calls go on as before.",
  markSeen: "Mark as seen",
  changes: CHANGES,
  lines: (added: number, removed: number) => `${plural(added, "line")} added, ${count(removed)} removed`,
  sign: { same: "same", removed: "removed", added: "added" },
  skipped: (n: string) => plural(n, "line is the same", "lines are the same"),
  tooLong: "Its definition is too long to be compared line by line.",
  same: "It is the same again.",
  failed: "What changed could not be loaded",
  leftOut: (n: number) => `${plural(n, "tool")} beyond the limit ${n === 1 ? "is" : "are"} not compared.`,
  more: (n: number) => `Show ${count(n)} more`,
  changed: (n: number) => `${plural(n, "tool")} changed`,
} as const;
